"""What a plan replaces, and what it refuses to."""

from __future__ import annotations

import errno
from pathlib import Path, PurePosixPath

import pytest
from coco_files import tree, write
from file_systems import no_privileges
from staged import fill, made_with

from evosplit import EvoSplitError
from evosplit_plugins.staging import RECORD, Plan, paths, plan


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


def test_a_folder_that_cannot_be_made_is_written_to(tmp_path):
    """Not read: nothing is there that could be."""
    above = tmp_path / "above"
    above.mkdir()
    mode = above.stat().st_mode
    above.chmod(0o500)
    if above.stat().st_mode == mode:
        return  # a file system without permissions
    refusal = pytest.raises(EvoSplitError, match=r"cannot write to .*out: Permission denied; .*; choose a directory")
    with no_privileges(), refusal, Plan(above / "out", writer="test").stage():
        pytest.fail("it went on")
    above.chmod(mode)
    assert set(tree(tmp_path)) == {"above"}


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
