"""An output is the old one or the new one, whole; no input is touched, and what fails is taken back."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from coco_files import tree, write
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from killing import run_killed
from staged import files, fill

from evosplit import EvoSplitError, Split
from evosplit_plugins.coco import apply_split
from evosplit_plugins.staging import RECORD, Plan, paths

NAMES = ("train", "val", "test")


FOLDERS = {
    "coco": dict(zip(NAMES, NAMES, strict=True)),
    "roboflow": {"train": "train", "val": "valid", "test": "test"},
}


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
                linked = base / "out" / folder / name
                linked.parent.mkdir(parents=True, exist_ok=True)
                if not linked.exists():  # as it does where a name in another case is the same
                    linked.hardlink_to(images / name)
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
