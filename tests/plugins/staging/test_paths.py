"""Paths on file systems of any kind: what is there, what is the same, and what has to be moved."""

from __future__ import annotations

import os
import shutil

import pytest
from coco_files import tree, write

from evosplit import EvoSplitError
from evosplit_plugins.staging import check_space, paths


def test_the_case_of_names_is_told_from_the_file_system(tmp_path):
    """Whether Name is name is looked up in a folder, above it if it is empty or does not exist yet."""
    for folder in (tmp_path, tmp_path / "0", tmp_path / "0" / "not" / "yet"):
        (tmp_path / "probe").mkdir()
        assert paths.ignores_case(folder) == (tmp_path / "PROBE").exists()
        (tmp_path / "probe").rmdir()
        (tmp_path / "0").mkdir(exist_ok=True)


def test_what_is_there(tmp_path):
    """A file has a state that changes with it, a link one of its own, and what is missing has none."""
    write(tmp_path / "deep" / "a", "one")
    (tmp_path / "link").symlink_to("deep/a")
    (tmp_path / "to nothing").symlink_to("nothing")
    seen = {place: paths.View(tmp_path).state(place) for place in ("deep/a", "link", "to nothing", "b", "no/such/c")}
    assert seen["b"] == seen["no/such/c"] == ()
    assert len({seen[place] for place in ("deep/a", "link", "to nothing")}) == 3
    write(tmp_path / "deep" / "a", "two")  # as long as before
    os.utime(tmp_path / "deep" / "a", ns=(1, 1))
    assert paths.View(tmp_path).state("deep/a") != seen["deep/a"]
    assert paths.View(tmp_path).state("link") == seen["link"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("deep", "deep is a directory, where a file would be written"),
        ("link/a", "link is a symbolic link, which is not followed"),
        ("deep/a/b", "deep/a is in the way: a folder of that name is needed"),
    ],
)
def test_what_is_in_the_way(tmp_path, place, message):
    """A folder in the place of a file is refused, and a link or a file in the place of a folder."""
    write(tmp_path / "deep" / "a", "one")
    (tmp_path / "link").symlink_to("deep")
    with pytest.raises(EvoSplitError, match=message):
        paths.View(tmp_path).state(place)


def test_links_above_are_followed(tmp_path):
    """A path is known by the folder that it lies in, whichever link leads there; a link itself stays one."""
    write(tmp_path / "deep" / "a", "one")
    (tmp_path / "link").symlink_to("deep")
    (tmp_path / "deep" / "b").symlink_to("a")
    known = {}
    for _ in range(2):
        assert paths.entry_of(tmp_path / "link" / "a", known) == tmp_path / "deep" / "a"
        assert paths.entry_of(tmp_path / "link" / "b", known) == tmp_path / "deep" / "b"
    assert paths.entry_of(tmp_path / "link") == tmp_path / "link"


def test_what_has_to_be_moved(tmp_path):
    """Folders that do not exist yet are moved whole, and files one by one into those that do: all arrive."""
    new, out = tmp_path / "new", tmp_path / "out"
    places = ["a", "there/b", "there/deep/c", "there/new/d", "other/e", "other/deep/f"]
    for place in places:
        write(new / place, place)
    (new / "other" / "deep" / "link").symlink_to("nowhere")
    write(out / "there" / "deep" / "mine", "mine")
    files, folders = paths.files_below(new)
    assert sorted(files) == sorted([*places, "other/deep/link"])
    assert sorted(folders) == ["other", "other/deep", "there", "there/deep", "there/new"]
    before = {place: what for place, what in tree(new).items() if place in files}
    tops = paths.tops(out, files)
    assert sorted(tops) == ["a", "other", "there/b", "there/deep/c", "there/new"]
    for top in tops:
        (new / top).rename(out / top)
    found = tree(out)
    assert {place: found[place] for place in files} == before
    assert found["there/deep/mine"] == b"mine"


def test_space_is_looked_up_where_there_is_a_folder(tmp_path):
    """Of a directory that does not exist yet the disk is asked that it will be on."""
    free = shutil.disk_usage(tmp_path).free
    check_space(tmp_path / "not" / "yet", free // 2)
    with pytest.raises(EvoSplitError, match=r"needs [\d,]+\.\d MB, but .*yet has [\d,]+\.\d MB free; choose"):
        check_space(tmp_path / "not" / "yet", 2 * free + 10**9)


def test_a_new_file_replaces_nothing(tmp_path):
    """What is there stays, and odd bytes of a name come back as they were."""
    odd = os.fsdecode(b"\xff")
    paths.write_new(tmp_path / "a", odd)
    assert (tmp_path / "a").read_bytes() == b"\xff"
    with pytest.raises(FileExistsError):
        paths.write_new(tmp_path / "a", "")
