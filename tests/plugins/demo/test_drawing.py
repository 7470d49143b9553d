"""The demo data: valid COCO, the same for the same seed, and as awkward to split as real data."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict

import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO

from evosplit import EvoSplitError
from evosplit_plugins.demo import LABELS, draw_demo
from evosplit_plugins.yolo import read_counts


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Draw the set once, as `make demo` does."""
    return draw_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def content(demo):
    """Give the COCO file, parsed."""
    return json.loads(demo.annotations.read_text())


@pytest.fixture(scope="module")
def labels_of(content):
    """Give the labels of each image id, repeats kept."""
    found = {image["id"]: [] for image in content["images"]}
    for annotation in content["annotations"]:
        found[annotation["image_id"]].append(LABELS[annotation["category_id"] - 1])
    return found


def pixels(demo, image):
    """Open a picture as an array."""
    with Image.open(demo.images / image["file_name"]) as picture:
        return np.asarray(picture, dtype=float)


def test_pycocotools_loads_it(demo):
    """Every annotation has a mask whose area and box are those that the file states."""
    coco = COCO(demo.annotations)
    assert len(coco.getImgIds()) == demo.n_images == 300
    assert len(coco.getAnnIds()) == demo.n_annotations
    for annotation in coco.dataset["annotations"]:
        area = int(coco.annToMask(annotation).sum())
        assert area == pytest.approx(annotation["area"], rel=0.15, abs=12)
        x, y, w, h = annotation["bbox"]
        assert x >= 0
        assert y >= 0
        assert x + w <= 320
        assert y + h <= 240
        assert annotation["area"] <= (w + 1) * (h + 1)
        assert all(len(polygon) >= 6 for polygon in annotation["segmentation"])


def test_every_record_has_its_picture(demo, content):
    """The folder holds exactly the pictures of the file, in its size, and none is a flat colour."""
    assert {path.name for path in demo.images.iterdir()} == {image["file_name"] for image in content["images"]}
    for image in content["images"]:
        found = pixels(demo, image)
        assert found.shape == (image["height"], image["width"], 3)
        assert found.std() > 10


def test_annotated_things_are_visible(demo, content):
    """A thing looks different from the ground: most masks differ from the ring of pixels around them."""
    coco = COCO(demo.annotations)
    differs = 0
    for annotation in content["annotations"][:200]:
        image = pixels(demo, coco.loadImgs(annotation["image_id"])[0])
        mask = coco.annToMask(annotation).astype(bool)
        x, y, w, h = (int(v) for v in annotation["bbox"])
        around = np.zeros_like(mask)
        around[max(y - 4, 0) : y + h + 4, max(x - 4, 0) : x + w + 4] = True
        differs += np.abs(image[mask].mean(axis=0) - image[around & ~mask].mean(axis=0)).max() > 12
    assert differs >= 180


def test_labels_have_a_long_tail(labels_of):
    """The commonest label has 20 times the instances of the rarest, and each can reach three subsets."""
    instances = Counter(label for labels in labels_of.values() for label in labels)
    images = Counter(label for labels in labels_of.values() for label in set(labels))
    assert set(images) == set(LABELS)
    assert max(instances.values()) >= 20 * min(instances.values())
    assert min(images.values()) >= 3


def test_labels_repeat_and_some_pictures_are_empty(labels_of):
    """Counts differ from presence, and a few pictures have no label."""
    repeated = sum(len(labels) > len(set(labels)) for labels in labels_of.values())
    assert repeated > 100
    assert 3 <= sum(not labels for labels in labels_of.values()) <= 40


def test_labels_occur_together(labels_of):
    """A cat is likelier where a house is; rockets and boats never meet."""
    with_house = [set(labels) for labels in labels_of.values() if "house" in labels]
    without = [set(labels) for labels in labels_of.values() if "house" not in labels]
    assert np.mean(["cat" in labels for labels in with_house]) > 2 * np.mean(["cat" in labels for labels in without])
    assert not any({"rocket", "boat"} <= set(labels) for labels in labels_of.values())


def test_clips_hold_frames_that_resemble_each_other(demo, content, labels_of):
    """Frames of a clip show the same things at other places; pictures of other clips look different."""
    clips = defaultdict(list)
    for image in content["images"]:
        clips[image["clip"]].append(image)
        assert image["file_name"].startswith(image["clip"])
    films = [frames for frames in clips.values() if len(frames) > 1]
    assert len(films) >= 8
    inside, across = [], []
    for frames, others in zip(films, films[1:] + films[:1], strict=True):
        assert [frame["frame"] for frame in frames] == list(range(len(frames)))
        assert len({tuple(labels_of[frame["id"]]) for frame in frames}) == 1
        first = pixels(demo, frames[0])
        inside.append(np.abs(first - pixels(demo, frames[1])).mean())
        across.append(np.abs(first - pixels(demo, others[0])).mean())
    assert max(inside) < 15 < np.median(across)


def test_near_duplicates_differ_a_little(demo, content, labels_of):
    """A near-duplicate has the labels and nearly the pixels of the picture it names, but its own clip."""
    by_id = {image["id"]: image for image in content["images"]}
    copies = [image for image in content["images"] if "near_duplicate_of" in image]
    assert len(copies) == 9
    for copy in copies:
        original = by_id[copy["near_duplicate_of"]]
        assert labels_of[copy["id"]] == labels_of[original["id"]]
        assert copy["clip"] != original["clip"]
        assert 0 < np.abs(pixels(demo, copy) - pixels(demo, original)).mean() < 15


def test_seed_decides(tmp_path):
    """The same seed writes the same bytes, another seed other ones."""
    first, second, other = (
        draw_demo(tmp_path / name, n_images=12, seed=seed) for name, seed in (("a", 5), ("b", 5), ("c", 6))
    )

    def files(demo):
        return {p.name: p.read_bytes() for p in demo.root.rglob("[!.]*") if p.is_file()}

    assert files(first) == files(second)
    assert files(first) != files(other)


@pytest.mark.parametrize("n_images", [1, 2, 17, 60])
def test_number_of_images_is_exact(tmp_path, n_images):
    """As many pictures as asked for, whatever the clips."""
    assert len(list(draw_demo(tmp_path, n_images=n_images).images.iterdir())) == n_images


def test_progress_reaches_one(tmp_path):
    """Progress rises to exactly 1."""
    seen = []
    draw_demo(tmp_path, n_images=5, on_progress=lambda done, message: seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_nothing_is_replaced_unasked(tmp_path):
    """A second run refuses, and with overwrite=True leaves files of other names alone."""
    first = draw_demo(tmp_path, n_images=3)
    mine = first.images / "mine.jpg"
    mine.write_text("keep me")
    with pytest.raises(EvoSplitError, match=r"instances.json.* already exist; pass overwrite=True"):
        draw_demo(tmp_path, n_images=3)
    draw_demo(tmp_path, n_images=3, seed=1, overwrite=True)
    assert mine.read_text() == "keep me"
    assert len(list(first.images.iterdir())) == 4
    assert json.loads(first.annotations.read_text())["info"]["seed"] == 1


def test_an_interrupt_leaves_no_file(tmp_path):
    """Stopped half-way, the directory is as empty as before."""

    def interrupt(done, message):
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        draw_demo(tmp_path, n_images=6, on_progress=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_images": 0}, "n_images=0 pictures cannot be drawn; ask for at least 1"),
        ({"seed": -1}, "seed=-1 is negative"),
    ],
)
def test_bad_numbers(tmp_path, options, message):
    """A wrong number is named with what would be right, and nothing is written."""
    with pytest.raises(EvoSplitError, match=message):
        draw_demo(tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


def test_a_file_is_no_directory(tmp_path):
    """Drawing into a file is refused, and the file stays."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(EvoSplitError, match=r"notes.txt is a file; name a directory"):
        draw_demo(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_without_pillow(tmp_path, monkeypatch):
    """Without Pillow the error names the install line."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(EvoSplitError, match=r'pip install "evosplit-plugins\[demo\]"'):
        draw_demo(tmp_path)


def test_as_yolo(tmp_path):
    """The same pictures with the labels of YOLO: as many of each class, and none for an empty picture."""
    coco, yolo = draw_demo(tmp_path / "coco", n_images=20), draw_demo(tmp_path / "yolo", n_images=20, format="yolo")
    content = json.loads(coco.annotations.read_text())
    counts = read_counts(yolo.annotations)
    assert counts.labels == LABELS
    drawn = Counter(annotation["category_id"] - 1 for annotation in content["annotations"])
    assert counts.totals.tolist() == [drawn[j] for j in range(len(LABELS))]
    assert counts.ids.tolist() == sorted(f"images/{image['file_name']}" for image in content["images"])
    for image in content["images"]:
        assert (coco.images / image["file_name"]).read_bytes() == (yolo.images / image["file_name"]).read_bytes()
