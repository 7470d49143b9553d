"""The writer: inputs are never touched, strangers never replaced, an output is the old one or the new one, whole."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import shutil
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from coco_files import tree, write
from file_systems import MOUNTABLE, mounted
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from killing import run_killed, start_killed

from evosplit import EvoSplitError, LabelCounts, Split, split
from evosplit.report.html import report_page
from evosplit_plugins.coco import apply_split
from evosplit_plugins.staging import RECORD, Plan, paths, plan, recovery, settle

NAMES = ("train", "val", "test")
FOLDERS = {
    "coco": dict(zip(NAMES, NAMES, strict=True)),
    "roboflow": {"train": "train", "val": "valid", "test": "test"},
}


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Leave out what only a failing machine could tell: a killed process loses nothing that it has written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="module", params=["here", *MOUNTABLE])
def disk(request, tmp_path_factory):
    """Give a folder on the file system of the tests, and on such others as there are."""
    folder = tmp_path_factory.mktemp("disk")
    if request.param == "here":
        yield folder
    else:
        with mounted(request.param, folder) as place:
            yield place


@pytest.fixture
def tmp_path(disk):
    """Give an empty folder on the file system of the test."""
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def step(request):
    """Give the distance between points at which a run is killed: all of them here, some on slower file systems."""
    return 1 if "here" in request.node.callspec.params.values() else 4


def files(folder):
    """Return what `tree` does, without folders; of the record only which files it lists."""
    found = {place: content for place, content in tree(folder).items() if content != "folder"}
    for place in found:
        if place.endswith(RECORD):
            found[place] = sorted(name for run in json.loads(found[place])["runs"] for name in run["files"])
    return found


# A data set and the places where its split may be written


def annotations(names):
    """Make a COCO file of images with these names."""
    return {
        "images": [{"id": number, "file_name": name} for number, name in enumerate(names)],
        "annotations": [{"id": n, "image_id": n, "category_id": 1 + n % 2} for n in range(len(names))],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    }


def divided(n_images, seed):
    """Divide that many images at random."""
    assignment = np.random.default_rng(seed).permutation(np.arange(n_images) % len(NAMES))
    sizes = tuple(int(size) for size in np.bincount(assignment, minlength=len(NAMES)))
    return Split(names=NAMES, placement=assignment, sample_ids=np.arange(n_images), target_sizes=sizes)


def build(base, names, place):
    """Make the data set, a stranger's files, and what is special about the place; returns output and image folder."""
    write(base / "data" / "instances.json", annotations(names))
    for number, name in enumerate(names):
        write(base / "data" / "images" / name, f"picture {number}")
    write(base / "out" / "notes.txt", "mine")
    write(base / "data" / "notes.txt", "mine too")
    images = base / "data" / "images"
    if place == "link":
        (base / "link").symlink_to(base / "data")
        return base / "link", images
    if place == "link to the images":
        (base / "link").symlink_to(images)
        return base / "link", images
    if place == "links inside":
        for folder in ("train", "images"):
            (base / "out" / folder).symlink_to(images)
        return base / "out", images
    if place == "images by a link":
        (base / "link").symlink_to(images)
        return base / "data", base / "link"
    if place == "linked files":
        for folder in ("train", "images"):
            for name in names:
                (base / "out" / folder / name).parent.mkdir(parents=True, exist_ok=True)
                (base / "out" / folder / name).hardlink_to(images / name)
        return base / "out", images
    return {
        "beside": base / "out",
        "around": base / "data",
        "the images": images,
        "inside": images / "deeper",
    }[place], images


def expected(layout, mode, names, made):
    """Name what an output holds, slowly and obviously."""
    found = {RECORD, "split.json"}
    for subset in NAMES:
        folder = FOLDERS[layout][subset]
        found.add(
            {
                "coco": f"annotations/instances_{subset}.json",
                "roboflow": f"{folder}/_annotations.coco.json",
            }[layout]
        )
        if mode != "none":
            found |= {f"{folder}/{names[row]}" for row in made.indices(subset)}
    return found


ASKED = {
    "layouts": st.tuples(*[st.sampled_from(sorted(FOLDERS))] * 2),
    "modes": st.tuples(*[st.sampled_from(["none", "symlink", "hardlink", "copy"])] * 2),
    "overwrite": st.tuples(st.booleans(), st.booleans()),
    "place": st.sampled_from(
        [
            "beside",
            "around",
            "the images",
            "inside",
            "link",
            "link to the images",
            "links inside",
            "images by a link",
            "linked files",
        ]
    ),
    "names": st.sampled_from(
        [
            ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg", "f.jpg"],
            ["a.jpg", "A.jpg", "deep/a.jpg", "deep/er/b.jpg", "train/c.jpg"],
            ["a.jpg", "b.jpg", "c.jpg", "_annotations.coco.json"],
            ["split.json", "instances_train.json", "images/x.jpg", "train.txt"],
        ]
    ),
    "killed": st.tuples(*[st.none() | st.integers(0, 60)] * 2),
}


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(**ASKED)
def test_inputs_stay_and_outputs_are_whole(tmp_path_factory, **asked):
    """Whatever is asked for, and killed when, no file that was there changes; the output is the old or the new one."""
    check_whole(tmp_path_factory.getbasetemp(), **asked)


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(**ASKED)
def test_inputs_stay_and_outputs_are_whole_on_any_disk(disk, **asked):
    """The same holds on each file system."""
    check_whole(disk, **asked)


def check_whole(disk, layouts, modes, overwrite, place, names, killed):
    """Write twice, and look at every file after each time."""
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        base = Path(folder).resolve()
        out, images = build(base, names, place)
        spelled = paths.folded if paths.ignores_case(base) else str
        precious = files(base)
        for turn in (0, 1):
            before = files(base)
            layout, mode = layouts[turn], modes[turn]
            made = divided(len(names), seed=turn)

            def work(layout=layout, mode=mode, made=made, turn=turn, dry_run=False):
                apply_split(
                    base / "data" / "instances.json",
                    made,
                    out,
                    layout=layout,
                    images=mode,
                    image_root=None if mode == "none" else images,
                    overwrite=overwrite[turn],
                    dry_run=dry_run,
                )

            refused = None
            if killed[turn] is not None:
                run_killed(work, killed[turn])
                try:
                    work(dry_run=True)
                except EvoSplitError as error:
                    refused = str(error)
            else:
                try:
                    work()
                except EvoSplitError as error:
                    refused = str(error)
            after = files(base)
            assert not [path for path in after if ".evosplit-" in path]
            assert {path: after.get(path) for path in precious} == precious
            new = {path for path in after if path not in precious}
            whole = {
                spelled((out.resolve() / path).relative_to(base).as_posix())
                for path in expected(layout, mode, names, made)
            }
            event("the old one" if after == before else "the new one")
            if after != before:
                assert {spelled(path) for path in new} == whole
            elif killed[turn] is None:
                assert refused is not None


# Every single point at which a process may be killed


@cache
def made_with(seed):
    """Make a split and the page of its report."""
    made = split(LabelCounts([[1], [0], [1], [0]]), {"train": 2, "val": 2}, method="random", seed=seed)
    return made, report_page(made.report())


def fill(base, seed, *, overwrite=True, more=()):
    """Write an output of several files, with a manifest and a page that lie elsewhere."""
    manifest, page = base / "split.json", base / "reports" / "page.html"
    names = [PurePosixPath(name) for name in ("a", f"only{seed}/b", "deep/er/c", *more)]
    links = {mode: PurePosixPath(f"pictures{seed}", mode) for mode in ("symlink", "hardlink", "copy")}
    plan = Plan(
        base / "out",
        writer="test",
        files=[*names, *links.values()],
        manifests=[manifest],
        reports=[page],
        inputs=[base / "source"],
        overwrite=overwrite,
    )
    made, text = made_with(seed)
    with plan.stage() as stage:
        for name in names:
            with stage.open(name) as writes:
                writes(f"{name} {seed}".encode())
        for mode, place in links.items():
            stage.put(mode, base / "source", place)
        made.save(stage.path(manifest))
        stage.path(page).write_text(text)
        stage.commit()


@pytest.mark.parametrize("existing", [False, True])
def test_killed_at_any_point_the_next_run_puts_all_in_order(tmp_path, step, existing):
    """All files of a plan, in three folders, are the old ones or the new ones, wherever the process was killed."""
    write(tmp_path / "source", "picture")
    write(tmp_path / "out" / "notes", "mine")
    made, page = made_with(1)
    outcomes = []
    if existing:
        fill(tmp_path, seed=0)
    old = files(tmp_path)
    for at in range(0, 1000, step):
        ended = run_killed(lambda: fill(tmp_path, seed=1), at)
        Plan(tmp_path / "out", reports=[tmp_path / "reports" / "x"], manifests=[tmp_path / "x"]).check()
        now = files(tmp_path)
        outcomes.append("old" if now == old else "new")
        if now != old:
            assert now.keys() == ({*old} - {place for place in old if "0/" in place}) | {
                "split.json",
                "reports/page.html",
                *(f"out/{name}" for name in (RECORD, "a", "only1/b", "deep/er/c")),
                *(f"out/pictures1/{mode}" for mode in ("symlink", "hardlink", "copy")),
            }
            assert (now["out/a"], now["out/notes"], now["source"]) == (b"a 1", b"mine", b"picture")
            assert json.loads(now["split.json"]) == made.to_manifest()
            assert now["reports/page.html"] == page.encode()
            assert not (tmp_path / "out" / "only0").exists()
            if existing:
                fill(tmp_path, seed=0)
            else:
                remove(tmp_path, old)
        if ended:
            break
    assert outcomes == sorted(outcomes, reverse=True)
    assert outcomes.count("old") > 30 // step
    assert outcomes.count("new") > 5 // step


def remove(base, kept):
    """Remove every file but some, and the folders that are empty then."""
    for path in sorted(base.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):
                path.rmdir()
        elif path.relative_to(base).as_posix() not in kept:
            path.unlink()


def test_a_killed_recovery_is_recovered_from(tmp_path, step):
    """Killed while it puts things in order, the next run does it."""
    write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    old = files(tmp_path)
    made_with(1)
    recover = Plan(tmp_path / "out").check
    points = 0
    for at in range(0, 200, 3 * step):
        if run_killed(lambda: fill(tmp_path, seed=1), at):
            break
        for again in itertools.count():
            if run_killed(recover, again):
                break
        recover()
        now = files(tmp_path)
        assert not [path for path in now if ".evosplit-" in path]
        if now != old:
            assert now["out/a"] == b"a 1"
            fill(tmp_path, seed=0)
        points += again
    assert points > 50 // step


def test_a_failure_while_moving_takes_everything_back(tmp_path, monkeypatch):
    """When a move fails, those before it are undone, and nothing is left behind."""
    write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    old = files(tmp_path)
    rename = Path.rename
    for last in range(18):
        left = [last]

        def fail(path, target, left=left):
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.EIO, "Input/output error")
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fail)
        with pytest.raises(EvoSplitError, match="Input/output error; nothing was changed"):
            fill(tmp_path, seed=1)
        assert files(tmp_path) == old
    monkeypatch.undo()
    fill(tmp_path, seed=1)


# What is replaced, and what is not


def test_an_earlier_output_is_replaced_whole(tmp_path):
    """Nothing of the earlier run is left, its folders neither; other files and another writer's output stay."""
    write(tmp_path / "source", "picture")
    write(tmp_path / "out" / "only0" / "notes", "mine")
    with Plan(tmp_path / "out", writer="other", files=[PurePosixPath("theirs/x")]).stage() as stage:
        stage.path(PurePosixPath("theirs/x")).write_text("theirs")
        stage.commit()
    fill(tmp_path, seed=0, more=["gone/d"])
    assert (tmp_path / "out" / "gone" / "d").exists()
    fill(tmp_path, seed=1)
    found = tree(tmp_path / "out")
    assert {place for place in found if "0" in place or "gone" in place} == {"only0", "only0/notes"}
    assert found["theirs/x"] == b"theirs"
    assert "pictures1/copy" in found


def test_the_output_of_another_adapter_is_named(tmp_path):
    """What another adapter wrote is not replaced, and the message says whose it is."""
    with Plan(tmp_path / "out", writer="other", files=[PurePosixPath("x")]).stage() as stage:
        stage.path(PurePosixPath("x")).write_text("theirs")
        stage.commit()
    refusal = pytest.raises(EvoSplitError, match=r"out holds an output of the other adapter \(.*x\), which test does")
    with refusal, Plan(tmp_path / "out", writer="test", files=[PurePosixPath("x")], overwrite=True).stage():
        pass
    assert (tmp_path / "out" / "x").read_text() == "theirs"


@pytest.mark.parametrize("name", ["a b", "-a", "ü 😀", "new\nline", "a\\b", "%s", "'\"", " a ", "[a]*", "con."])
def test_an_earlier_output_is_replaced_whatever_its_names(tmp_path, name):
    """A name that the file system takes is written, recorded and replaced."""
    write(tmp_path / "source", "picture")
    try:
        write(tmp_path / name, "")
    except OSError:
        return  # this one does not
    for seed in (0, 1):
        fill(tmp_path, seed=seed, more=[f"{name}/{name}"])
        assert (tmp_path / "out" / name / name).read_text() == f"{name}/{name} {seed}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda out, source: (out / "a").write_text("mine now"), "a was changed since EvoSplit wrote it"),
        (lambda out, source: os.utime(out / "a", ns=(1, 1)), "a was changed since EvoSplit wrote it"),
        (lambda out, source: source.unlink(), "copy is a copy of .*source, which is gone or has changed"),
        (lambda out, source: relinked(out / "pictures0" / "symlink", out), "was put in place of a link of EvoSplit"),
        (lambda out, source: relinked(out / "a", out), "a was put in place of a file of EvoSplit"),
        (lambda out, source: replaced(out / "pictures0" / "hardlink"), "hardlink is the last link to its picture"),
        (lambda out, source: write(out / RECORD, '{"format": "x", "runs": []}'), "is not a valid record"),
        (lambda out, source: recorded(out, "../source"), r"is not a valid record .* \(it names '../so"),
        (lambda out, source: recorded(out, str(source)), "is not a valid record of what EvoSplit wrote there"),
    ],
    ids=["content", "time", "source gone", "link", "link for a file", "last link", "record", "above", "absolute"],
)
def test_what_changed_since_is_not_taken_away(tmp_path, change, message):
    """A file of the earlier run that is the user's by now stops everything."""
    source = write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    change(tmp_path / "out", source)
    before = files(tmp_path)
    with pytest.raises(EvoSplitError, match=message):
        fill(tmp_path, seed=1)
    assert files(tmp_path) == before


def relinked(path, target):
    """Put a link in place of something."""
    path.unlink()
    path.symlink_to(target)


def replaced(path):
    """Put a file in place of something."""
    path.unlink()
    path.write_text("mine")


def recorded(out, place):
    """Add a file to the record."""
    record = json.loads((out / RECORD).read_text())
    record["runs"][0]["files"][place] = {"size": 7, "mtime_ns": (out / place).stat().st_mtime_ns}
    write(out / RECORD, record)


def test_single_files_are_replaced_by_their_like_only(tmp_path):
    """A report replaces a report and a manifest a manifest, unchanged ones; whatever else is there stays."""
    made, page = made_with(0)
    report, manifest = tmp_path / "page.html", tmp_path / "split.json"
    report.write_text(page)
    made.save(manifest)
    Plan(None, reports=[report], manifests=[manifest]).check()
    for wrong in (Plan(None, reports=[manifest]), Plan(None, manifests=[report])):
        with pytest.raises(EvoSplitError, match="exists, but was not written by EvoSplit, or was changed since"):
            wrong.check()
    report.write_text(page.replace("EvoSplit", "My"))
    manifest.write_text(manifest.read_text().replace('"ids": [0', '"ids": [7'))
    for wrong in (Plan(None, reports=[report]), Plan(None, manifests=[manifest])):
        with pytest.raises(EvoSplitError, match="or was changed since"):
            wrong.check()
    with pytest.raises(EvoSplitError, match=r"page\.html is the input .*page\.html; choose another output"):
        Plan(None, reports=[report], inputs=[tmp_path / "." / "page.html"]).check()


def test_a_manifest_of_other_data_is_not_replaced(tmp_path):
    """The split of something else would be lost; a later one of the same data takes the place of the first."""
    path = tmp_path / "split.json"
    one, other = ({"adapter": "test", "inputs": [name], "reading": {}} for name in ("one", "other"))
    replace(made_with(0)[0], source=one).save(path)
    Plan(None, manifests=[path], source={**one, "reading": {"more": 1}}).check()
    with pytest.raises(EvoSplitError, match=r"split\.json holds a split of one \(test\), which would be lost; choose"):
        Plan(None, manifests=[path], source=other).check()


@pytest.mark.parametrize("kind", ["reports", "manifests"])
@pytest.mark.parametrize("what", ["folder", "link to a folder", "link to nothing", "link to a file"])
def test_what_is_no_file_is_not_replaced(tmp_path, kind, what):
    """A page or a manifest takes the place of a file alone, and never follows a link."""
    made, page = made_with(0)
    (tmp_path / "folder").mkdir()
    (tmp_path / "page.html").write_text(page)
    made.save(tmp_path / "split.json")
    like = {"reports": "page.html", "manifests": "split.json"}[kind]
    target = {"link to a folder": "folder", "link to nothing": "nothing", "link to a file": like}.get(what)
    path = tmp_path / "folder" if target is None else tmp_path / "link"
    if target is not None:
        path.symlink_to(tmp_path / target)
    before = tree(tmp_path)
    with pytest.raises(EvoSplitError, match=r"is a directory, where a file would be|exists, but was not written"):
        Plan(None, **{kind: [path]}).check()
    assert tree(tmp_path) == before


def test_a_failure_names_the_folder_in_which_it_was(tmp_path, monkeypatch):
    """Not the output directory, if it is that of the page that cannot be written to."""
    mkdir = Path.mkdir

    def fail(path, *arguments, **options):
        if path.name.startswith(".evosplit-file-"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        mkdir(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", fail)
    with (
        pytest.raises(EvoSplitError, match=rf"^cannot write to {tmp_path}/pages: Permission denied; nothing"),
        Plan(tmp_path / "out", writer="test", reports=[tmp_path / "pages" / "page.html"]).stage(),
    ):
        pytest.fail("it went on")
    assert not tree(tmp_path)


@pytest.mark.parametrize("names", [("x", "x"), ("x", "x/y"), ("x/y", RECORD), ("Straße", "STRASSE"), ("é", "e\u0301")])
def test_two_outputs_are_never_one_file(tmp_path, monkeypatch, names):
    """Neither by name, nor as file and folder, nor where the file system does not tell their names apart."""
    places = [PurePosixPath(name) for name in names]
    if names[0].isalpha() and names[0] != names[1] and names[0] != "x":
        if not paths.ignores_case(tmp_path):
            Plan(tmp_path / "out", files=places).check()
    elif names[1] == RECORD:
        places.append(PurePosixPath(RECORD))
    monkeypatch.setattr(plan, "ignores_case", lambda folder: True)
    with pytest.raises(EvoSplitError, match=r"would be (the same|a) file.*; give one of them another name"):
        Plan(tmp_path / "out", files=places).check()


def test_the_case_of_names_is_told_from_the_file_system(tmp_path):
    """Whether Name is name is looked up in a folder, above it if it is empty or does not exist yet."""
    for folder in (tmp_path, tmp_path / "0", tmp_path / "0" / "not" / "yet"):
        (tmp_path / "probe").mkdir()
        assert paths.ignores_case(folder) == (tmp_path / "PROBE").exists()
        (tmp_path / "probe").rmdir()
        (tmp_path / "0").mkdir(exist_ok=True)


def test_names_that_differ_in_case_on_an_empty_disk(disk):
    """An empty disk, whose own name another file system knows, is told at the latest by what is written on it."""
    assert not list(disk.iterdir())
    (disk / "probe").touch()
    ignored = (disk / "PROBE").exists()
    (disk / "probe").unlink()
    refusal = pytest.raises(EvoSplitError, match="two outputs would be the same file") if ignored else nullcontext()
    with refusal, Plan(disk, writer="test", files=["a", "A"]).stage():
        pass
    assert not list(disk.iterdir())
    write(disk / "notes", "mine")
    refusal = pytest.raises(EvoSplitError, match="NOTES exists, but was not written") if ignored else nullcontext()
    with refusal:
        Plan(disk, files=["NOTES"]).check()
    (disk / "notes").unlink()


@pytest.mark.parametrize("mode", ["symlink", "hardlink", "copy"])
def test_pictures_that_were_not_listed_are_never_one_file(tmp_path, mode):
    """What is put into a folder that only the split decides on is not replaced by another picture either."""
    source = write(tmp_path / "source", "picture")
    names = ("train/a.jpg", "train/A.jpg") if paths.ignores_case(tmp_path) else ("train/a.jpg", "train/a.jpg")
    with (
        pytest.raises(EvoSplitError, match=rf"same file, .*{names[0]}.*; give one of them another name"),
        Plan(tmp_path / "out", writer="test").stage() as stage,
    ):
        [stage.put(mode, source, name) for name in names]
    assert set(tree(tmp_path)) == {"source"}


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSYS, "if no links can be made there, use images='copy'"),
        (errno.EPERM, "choose a directory that you may write to, or images='copy'"),
        (errno.EXDEV, "use images='symlink' or images='copy'"),
        (errno.EROFS, "choose a directory that you may write to"),
    ],
)
def test_a_disk_that_cannot_says_what_to_do(tmp_path, monkeypatch, code, remedy):
    """Where links cannot be made, the remedy is to copy."""

    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    source = write(tmp_path / "source", "picture")
    monkeypatch.setattr(os, "link", fail)
    with (
        pytest.raises(EvoSplitError, match=rf"{os.strerror(code)}; nothing was changed; .*{remedy}"),
        Plan(tmp_path / "out", writer="test").stage() as stage,
    ):
        stage.put("hardlink", source, "a")
    assert set(tree(tmp_path)) == {"source"}


def test_a_picture_that_cannot_be_read_is_named(tmp_path):
    """It is the picture that fails, not the disk."""
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(EvoSplitError, match=rf"^cannot read {tmp_path}/folder: Is a directory; nothing was"),
        Plan(tmp_path / "out", writer="test").stage() as stage,
    ):
        stage.put("copy", tmp_path / "folder", "a")
    assert set(tree(tmp_path)) == {"folder"}


def test_an_output_in_another_case_replaces_the_earlier_one(tmp_path):
    """Where Name is name, the file of an earlier run is known by either; elsewhere it is another file."""
    for name in ("Deep/Name", "deep/name"):
        with Plan(tmp_path / "out", writer="test", files=[name], overwrite=True).stage() as stage:
            stage.path(PurePosixPath(name)).write_text(name)
            stage.commit()
    assert {place: content for place, content in files(tmp_path / "out").items() if place != RECORD} == {
        "deep/name": b"deep/name"
    }


def test_nothing_is_open_in_a_folder_that_is_removed(tmp_path, monkeypatch):
    """NFS and FUSE would keep the file, and with it the folder, which would look like a run that is still writing."""
    removed = []

    def watch(folder, **options):
        opened = [str(each.readlink()) for each in Path("/proc/self/fd").glob("*") if each.is_symlink()]
        removed.append([path for path in opened if path.startswith(f"{folder}/")])
        rmtree(folder, **options)

    rmtree = shutil.rmtree
    write(tmp_path / "source", "picture")
    monkeypatch.setattr(shutil, "rmtree", watch)
    fill(tmp_path, seed=0)
    run_killed(lambda: fill(tmp_path, seed=1), 30)
    fill(tmp_path, seed=1)
    assert len(removed) > 5
    assert not any(removed)


def test_two_runs_do_not_write_at_once(tmp_path):
    """While a run writes into a directory, another is refused and leaves it alone."""
    writing = Plan(tmp_path / "out", writer="test", files=[PurePosixPath("a")])
    with writing.stage() as stage:
        with pytest.raises(EvoSplitError, match="another run is writing to"):
            writing.check()
        stage.path(PurePosixPath("a")).write_text("a")
        stage.commit()
    assert set(tree(tmp_path / "out")) == {"a", RECORD}


@pytest.mark.parametrize("moment", ["open", "flock"])
def test_a_run_that_is_taken_for_a_killed_one_gives_up(tmp_path, monkeypatch, moment):
    """Between making its folder and holding it, a run looks like one that was killed: it then writes nothing."""

    def meanwhile(change, *arguments):
        run_killed(lambda: settle(tmp_path / "out"), 1000)  # as another process that is about to write there
        return change(*arguments)

    where = {"open": os, "flock": recovery.fcntl}[moment]
    change = getattr(where, moment)
    locks = {"open": lambda path, *_: str(path).endswith("lock"), "flock": lambda *_: True}[moment]
    once = iter([True])

    def changed(*arguments, **options):
        if locks(*arguments) and next(once, False):
            return meanwhile(change, *arguments)
        return change(*arguments, **options)

    monkeypatch.setattr(where, moment, changed)
    with (
        pytest.raises(EvoSplitError, match="another run is writing to"),
        Plan(tmp_path / "out", writer="test", files=["a"]).stage(),
    ):
        pytest.fail("it went on")
    assert next(once, None) is None
    settle(tmp_path / "out")  # where a folder stays as long as a file in it is open
    assert set(tree(tmp_path)) <= {"out"}


def test_many_runs_at_once_leave_one_of_them(tmp_path):
    """Runs that are started at once, some of them killed, leave the files of one of them and nothing else."""
    write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    for seed in (1, 2, 3):
        made_with(seed)

    def work(seed):
        for _ in range(6):
            with contextlib.suppress(EvoSplitError):
                fill(tmp_path, seed=seed)

    processes = [start_killed(partial(work, seed), at) for seed, at in ((1, 10_000), (2, 50), (3, 100))]
    assert all(os.waitpid(process, 0) for process in processes)
    Plan(tmp_path / "out", reports=[tmp_path / "reports" / "x"], manifests=[tmp_path / "x"]).check()
    found = files(tmp_path)
    seed = int(found["out/a"][-1:])
    assert found["out/deep/er/c"] == f"deep/er/c {seed}".encode()
    assert json.loads(found["split.json"]) == made_with(seed)[0].to_manifest()
    assert {place for place in found if "pictures" in place or "only" in place} == {
        f"out/only{seed}/b",
        *(f"out/pictures{seed}/{mode}" for mode in ("symlink", "hardlink", "copy")),
    }
    assert not [place for place in tree(tmp_path) if ".evosplit-" in place]


def test_folders_of_others_are_let_be(tmp_path):
    """A folder that merely looks like one of ours is neither emptied nor removed."""
    write(tmp_path / ".evosplit-file-00000000" / "thesis", "years of work")
    write(tmp_path / ".evosplit-notes" / "new", "mine")
    before = tree(tmp_path)
    Plan(tmp_path, files=[PurePosixPath("a")]).check()
    assert tree(tmp_path) == before


def test_what_appears_meanwhile_stays(tmp_path):
    """A file that turns up between the check and the move is not replaced."""
    write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    writing = Plan(tmp_path / "out", writer="test", files=[PurePosixPath("new")], overwrite=True)
    with writing.stage() as stage:
        stage.path(PurePosixPath("new")).write_text("ours")
        write(tmp_path / "out" / "new", "theirs")
        with pytest.raises(EvoSplitError, match="new exists, but was not written by EvoSplit"):
            stage.commit()
    assert (tmp_path / "out" / "new").read_text() == "theirs"
    assert (tmp_path / "out" / "a").read_text() == "a 0"
