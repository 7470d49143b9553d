"""Images are linked or copied to where the annotations say, and nowhere else."""

from __future__ import annotations

import pytest
from coco_files import QUICK, RATIOS, changed, instances, tree, write
from file_systems import no_privileges

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_coco


@pytest.mark.parametrize("mode", ["symlink", "hardlink", "copy"])
@pytest.mark.parametrize(("layout", "folder"), [("coco", "val"), ("roboflow", "valid")])
def test_images_are_put_where_the_annotations_say(tmp_path, pictures, mode, layout, folder):
    """Each image is linked or copied into the folder of its subset, and is the same picture."""
    path = write(tmp_path / "a.json", instances())
    split = evosplit_coco(path, tmp_path / "out", RATIOS, layout=layout, images=mode, image_root=pictures, **QUICK)
    for own in split.ids("val"):
        source, place = pictures / f"{own:06d}.jpg", tmp_path / "out" / folder / f"{own:06d}.jpg"
        assert place.read_bytes() == source.read_bytes()
        assert place.is_symlink() == (mode == "symlink")
        assert place.samefile(source) == (mode != "copy")
    assert len(list((tmp_path / "out").rglob("*.jpg"))) == 30


def test_images_of_folds_are_placed_once(tmp_path, pictures):
    """Folds and their complements share one folder of images."""
    path = write(tmp_path / "a.json", instances())
    evosplit_coco(path, tmp_path / "out", folds=3, train_files=True, images="symlink", image_root=pictures, **QUICK)
    assert len(list((tmp_path / "out" / "images").iterdir())) == 30


def test_each_input_may_have_its_own_image_folder(tmp_path):
    """With one image folder for each input, equal names are told apart by it, and clash if they meet."""
    second = instances(first_id=500)
    for image in second["images"]:
        image["file_name"] = f"{image['id']}.png"
    for folder, made in (("one", instances()), ("two", second)):
        write(tmp_path / f"{folder}.json", made)
        for image in made["images"]:
            write(tmp_path / folder / image["file_name"], folder)
    inputs = [tmp_path / "one.json", tmp_path / "two.json"]
    roots = [tmp_path / "one", tmp_path / "two"]
    evosplit_coco(inputs, tmp_path / "out", RATIOS, images="copy", image_root=roots, **QUICK)
    assert {path.read_text() for path in (tmp_path / "out").rglob("*.png")} == {"two"}
    with pytest.raises(EvoSplitError, match="image_root= gives 3 folders for 2 files"):
        evosplit_coco(inputs, tmp_path / "o", RATIOS, images="copy", image_root=[*roots, tmp_path], **QUICK)
    second["images"][0]["file_name"] = "000001.jpg"
    write(inputs[1], second)
    write(tmp_path / "two" / "000001.jpg", "two")
    with pytest.raises(EvoSplitError, match=r"would both become images/000001\.jpg"):
        evosplit_coco(inputs, tmp_path / "o", folds=2, images="copy", image_root=roots, **QUICK)
    assert not (tmp_path / "o").exists()


def test_lvis_finds_its_images_by_url(tmp_path):
    """Without file_name the end of coco_url is the name, as LVIS has it."""
    made = instances()
    for image in made["images"]:
        name = image.pop("file_name")
        image["coco_url"] = f"http://images.example.org/val2017/{name}"
        write(tmp_path / "root" / "val2017" / name, "x")
    path = write(tmp_path / "a.json", made)
    evosplit_coco(path, tmp_path / "out", RATIOS, images="hardlink", image_root=tmp_path / "root", **QUICK)
    assert len(list((tmp_path / "out").glob("*/val2017/*.jpg"))) == 30


@pytest.mark.parametrize(
    "name",
    [
        "../a.jpg",
        "x/../../a.jpg",
        "/etc/passwd",
        "..",
        "",
        ".",
        "a/",
        "C:\\a.jpg",
        "..\\a.jpg",
        "\\\\host\\a",
        "a\nb",
        "a\0b",
        7,
    ],
)
@pytest.mark.parametrize("layout", ["coco", "yolo"])
def test_names_that_leave_the_folder_are_refused(tmp_path, pictures, name, layout):
    """No file name makes a link or a copy outside the output directory; it is refused and named."""
    write(tmp_path / "a.jpg", "outside")
    path = write(tmp_path / "a.json", changed(images={2: {"file_name": name}}))
    before = tree(tmp_path)
    images = {"images": "copy", "image_root": pictures}
    with pytest.raises(EvoSplitError, match=r"a\.json images\[2\] has file_name"):
        evosplit_coco(path, tmp_path / "out", RATIOS, layout=layout, **images, **QUICK)
    assert tree(tmp_path) == before


def test_missing_images_are_counted_before_anything_is_written(tmp_path, pictures):
    """Images that are not on disk are refused with their number and names, and so is a missing folder."""
    path = write(tmp_path / "a.json", instances())
    for own in (3, 4, 5, 6):
        (pictures / f"{own:06d}.jpg").unlink()
    with pytest.raises(EvoSplitError, match=r"4 images are not in .*: 000003\.jpg.* and 1 more; correct image_root="):
        evosplit_coco(path, tmp_path / "out", RATIOS, images="copy", image_root=pictures, **QUICK)
    with pytest.raises(EvoSplitError, match="is not a directory"):
        evosplit_coco(path, tmp_path / "out", RATIOS, images="copy", image_root=tmp_path / "none", **QUICK)
    assert not (tmp_path / "out").exists()


def test_images_that_may_not_be_looked_at_are_not_called_missing(tmp_path, pictures):
    """The folder is named that has to be made readable."""
    path = write(tmp_path / "a.json", instances())
    (mode, _) = pictures.stat().st_mode, pictures.chmod(0o600)
    with no_privileges(), pytest.raises(EvoSplitError, match=r"cannot look at .*\.jpg: Permission denied; make its"):
        evosplit_coco(path, tmp_path / "out", RATIOS, images="copy", image_root=pictures, **QUICK)
    pictures.chmod(mode)
    assert not (tmp_path / "out").exists()
