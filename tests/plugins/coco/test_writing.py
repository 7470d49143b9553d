"""Nothing is lost, half-written, overwritten or misplaced."""

from __future__ import annotations

import json
import os

import pytest
from coco_files import QUICK, RATIOS, captions, changed, instances, tree, write

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import apply_split
from evosplit_plugins.staging import RECORD, check_space


def test_nothing_is_overwritten_unless_asked(tmp_path):
    """An earlier output stops everything; with `overwrite` it is replaced, and strangers stay."""
    path = write(tmp_path / "a.json", instances())
    write(tmp_path / "out" / "notes.txt", "mine")
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    before = tree(tmp_path)
    with pytest.raises(EvoSplitError, match=r"instances_test\.json and 1 more already exist; pass overwrite=True"):
        evosplit_coco(path, tmp_path / "out", RATIOS, seed=1, **QUICK)
    assert tree(tmp_path) == before
    evosplit_coco(path, tmp_path / "out", RATIOS, overwrite=True, seed=1, **QUICK)
    after = tree(tmp_path)
    assert after.keys() == before.keys()
    changed = {place for place in after if after[place] != before[place]}
    assert changed == {f"out/{place}" for place in (RECORD, "split.json")} | {
        f"out/annotations/instances_{name}.json" for name in RATIOS
    }


def test_what_evosplit_did_not_write_is_never_replaced(tmp_path):
    """A file that no earlier run wrote is refused, `overwrite` or not."""
    path = write(tmp_path / "a.json", instances())
    write(tmp_path / "out" / "annotations" / "instances_val.json", "precious")
    before = tree(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(EvoSplitError, match=r"instances_val\.json exists, but was not written by EvoSplit"):
            evosplit_coco(path, tmp_path / "out", RATIOS, overwrite=overwrite, **QUICK)
        assert tree(tmp_path) == before


@pytest.mark.parametrize("link", ["same", "hard", "soft"])
def test_an_input_is_never_overwritten(tmp_path, link):
    """An output that is an input, by path or by link, is refused even with `overwrite`."""
    target = tmp_path / "out" / "annotations" / "instances_val.json"
    path = write(target if link == "same" else tmp_path / "a.json", instances())
    target.parent.mkdir(parents=True, exist_ok=True)
    if link == "hard":
        target.hardlink_to(path)
    elif link == "soft":
        target.symlink_to(path)
    before = tree(tmp_path)
    with pytest.raises(EvoSplitError, match=r"is (linked to )?the input .*\.json; choose another output"):
        evosplit_coco(path, tmp_path / "out", RATIOS, overwrite=True, **QUICK)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(("layout", "folder"), [("coco", "annotations"), ("coco", "val"), ("roboflow", "valid")])
def test_links_in_the_way_are_not_followed(tmp_path, pictures, layout, folder):
    """A symbolic link where a folder of the output belongs is refused, not written through."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / folder).symlink_to(tmp_path / "elsewhere")
    path = write(tmp_path / "a.json", instances())
    with pytest.raises(EvoSplitError, match="is a symbolic link, which is not followed"):
        evosplit_coco(
            path,
            tmp_path / "out",
            RATIOS,
            layout=layout,
            images="copy",
            image_root=pictures,
            overwrite=True,
            **QUICK,
        )
    assert tree(tmp_path / "elsewhere") == {}


@pytest.mark.parametrize("mode", ["symlink", "hardlink", "copy"])
@pytest.mark.parametrize(("layout", "folder"), [("coco", "train"), ("roboflow", "train")])
def test_pictures_are_never_replaced_by_themselves(tmp_path, mode, layout, folder):
    """An output around the pictures of the input is refused, `overwrite` or not, splitting as well as replaying."""
    path = write(tmp_path / "data" / "a.json", instances())
    for image in instances()["images"]:
        write(tmp_path / "data" / folder / image["file_name"], f"picture {image['id']}")
    split = evosplit_coco(path, tmp_path / "elsewhere", RATIOS, **QUICK)
    before = tree(tmp_path)
    how = {"layout": layout, "images": mode, "image_root": tmp_path / "data" / folder}
    for overwrite in (False, True):
        with pytest.raises(EvoSplitError, match=r"\.jpg is the input .*\.jpg; choose another output"):
            evosplit_coco(path, tmp_path / "data", RATIOS, **how, overwrite=overwrite, **QUICK)
        with pytest.raises(EvoSplitError, match=r"\.jpg is the input .*\.jpg; choose another output"):
            apply_split(path, split, tmp_path / "data", **how, overwrite=overwrite)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("mode", ["symlink", "hardlink", "copy"])
@pytest.mark.parametrize("layout", ["coco", "roboflow"])
def test_overwriting_leaves_no_picture_of_the_earlier_split(tmp_path, pictures, layout, mode):
    """After a second split each picture is there once, in its new subset; a third one takes them all away."""
    path = write(tmp_path / "a.json", instances())
    how = {"layout": layout, "images": mode, "image_root": pictures, "overwrite": True}
    evosplit_coco(path, tmp_path / "out", RATIOS, **how, seed=0, **QUICK)
    evosplit_coco(path, tmp_path / "out", RATIOS, **how, seed=1, **QUICK)
    evosplit_coco(path, tmp_path / "fresh", RATIOS, **how, seed=1, **QUICK)
    found, fresh = tree(tmp_path / "out"), tree(tmp_path / "fresh")
    del found[RECORD], fresh[RECORD]
    assert found == fresh
    evosplit_coco(path, tmp_path / "out", RATIOS, layout=layout, overwrite=True, **QUICK)
    assert not list((tmp_path / "out").rglob("*.jpg"))
    assert len(list(pictures.iterdir())) == 30


def test_captions_join_a_split_and_are_replaced_alone(tmp_path):
    """Replaying into the split's own directory adds to it; once more, only what it added is replaced."""
    path = write(tmp_path / "a.json", instances())
    out, others = tmp_path / "out", write(tmp_path / "c.json", captions())
    evosplit_coco(path, out, RATIOS, **QUICK)
    apply_split(others, out / "split.json", out)
    before = tree(out)
    with pytest.raises(EvoSplitError, match=r"captions_train\.json.* already exist"):
        apply_split(others, out / "split.json", out)
    apply_split(others, out / "split.json", out, overwrite=True)
    apply_split(path, out / "split.json", out, overwrite=True)
    after = tree(out)
    assert {**before, RECORD: b""} == {**after, RECORD: b""}
    evosplit_coco(path, out, RATIOS, overwrite=True, seed=1, **QUICK)
    assert not list(out.rglob("captions_*"))


def test_a_split_is_not_written_over_the_split_it_reads(tmp_path, pictures):
    """An output of an earlier run that is now an input is neither replaced nor removed."""
    path, out = write(tmp_path / "a.json", instances()), tmp_path / "out"
    evosplit_coco(path, out, folds=3, images="copy", image_root=pictures, **QUICK)
    before = tree(tmp_path)
    (tmp_path / "link").symlink_to(out / "images")
    for root in (out / "images", tmp_path / "link"):
        with pytest.raises(EvoSplitError, match=r"jpg is the input .*jpg; choose another output"):
            evosplit_coco(path, out, RATIOS, images="copy", image_root=root, overwrite=True, **QUICK)
    (tmp_path / "link").unlink()
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["_annotations.coco.json", "_Annotations.COCO.json"])
def test_an_image_with_the_name_of_a_file_is_refused(tmp_path, pictures, name):
    """An image that would become the annotation file is refused before the search."""
    path = write(tmp_path / "a.json", changed(images={2: {"file_name": name}}))
    write(pictures / name, "picture")
    before = tree(tmp_path)
    with pytest.raises(EvoSplitError, match=r"the path of the file train/_annotations\.coco\.json; rename it"):
        evosplit_coco(path, tmp_path / "out", RATIOS, layout="roboflow", images="copy", image_root=pictures, **QUICK)
    assert tree(tmp_path) == before


def test_a_link_at_the_place_of_a_file_is_refused(tmp_path):
    """A symbolic link where a file belongs is the user's: neither it nor what it points to is touched."""
    write(tmp_path / "precious.txt", "precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "split.json").symlink_to(tmp_path / "precious.txt")
    path = write(tmp_path / "a.json", instances())
    before = tree(tmp_path)
    with pytest.raises(EvoSplitError, match=r"split\.json exists, but was not written by EvoSplit"):
        evosplit_coco(path, tmp_path / "out", RATIOS, overwrite=True, **QUICK)
    assert tree(tmp_path) == before


def test_an_output_that_is_no_directory_is_refused(tmp_path):
    """A file in place of the output directory, or of a folder in it, is refused."""
    path = write(tmp_path / "a.json", instances())
    with pytest.raises(EvoSplitError, match="is not a directory"):
        evosplit_coco(path, path, RATIOS, overwrite=True, **QUICK)
    write(tmp_path / "out" / "annotations", "a file")
    with pytest.raises(EvoSplitError, match="is in the way"):
        evosplit_coco(path, tmp_path / "out", RATIOS, overwrite=True, **QUICK)
    (tmp_path / "other" / "split.json").mkdir(parents=True)
    with pytest.raises(EvoSplitError, match="is a directory, where a file would be written"):
        evosplit_coco(path, tmp_path / "other", RATIOS, overwrite=True, **QUICK)


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_while_writing_leaves_everything_as_it_was(tmp_path, pictures, existing, stop):
    """Whenever it comes between the first byte and the last image, an interrupt leaves no trace."""
    path = write(tmp_path / "a.json", instances())
    if existing:
        evosplit_coco(path, tmp_path / "out", RATIOS, seed=1, **QUICK)
    before = tree(tmp_path)
    steps = 0
    while True:
        calls = 0

        def interrupt(done, message, steps=steps):
            nonlocal calls
            if message in ("writing", "placing images"):
                if calls == steps:
                    raise stop
                calls += 1

        try:
            evosplit_coco(
                path,
                tmp_path / "out",
                RATIOS,
                images="copy",
                image_root=pictures,
                overwrite=existing,
                on_progress=interrupt,
                **QUICK,
            )
        except stop:
            assert tree(tmp_path) == before
            steps += 7
        else:
            break
    assert steps > 21
    assert json.loads((tmp_path / "out" / "split.json").read_text())["names"] == list(RATIOS)


def test_a_directory_that_cannot_be_written_is_refused(tmp_path):
    """An output below a file, or without permission, gives a sentence and no traceback."""
    path = write(tmp_path / "a.json", instances())
    with pytest.raises(EvoSplitError, match=r"Not a directory|not a directory"):
        evosplit_coco(path, path / "out", RATIOS, **QUICK)


def test_a_disk_that_is_too_small_is_refused_at_once(tmp_path):
    """What cannot fit is not begun; the error says how much is needed and how much there is."""
    with pytest.raises(EvoSplitError, match=r"the output needs 1,000,000,000,000.0 MB, but .* MB free"):
        check_space(tmp_path / "not" / "yet", 10**18)


def test_an_input_that_changes_meanwhile_is_noticed(tmp_path):
    """If the input changes between reading and writing, nothing is written."""
    path = write(tmp_path / "a.json", instances())

    def change(done, message):
        if message == "reading a.json" and done >= 0.2:
            os.utime(path, ns=(1, 1))

    with pytest.raises(EvoSplitError, match="changed while it was read"):
        evosplit_coco(path, tmp_path / "out", RATIOS, on_progress=change, **QUICK)
    assert not (tmp_path / "out").exists()


def test_files_get_the_usual_permissions(tmp_path):
    """Outputs are readable as any other new file, not only for their owner."""
    path = write(tmp_path / "a.json", instances())
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    mode = path.stat().st_mode
    assert {file.stat().st_mode for file in (tmp_path / "out").rglob("*") if file.is_file()} == {mode}


def test_a_dry_run_writes_nothing(tmp_path, pictures):
    """A dry run makes the split and the checks, and leaves no trace."""
    path = write(tmp_path / "a.json", instances())
    before = tree(tmp_path)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, images="copy", image_root=pictures, dry_run=True, **QUICK)
    assert split.sizes == (18, 6, 6)
    assert tree(tmp_path) == before
