"""Groups, locks and strata at the COCO door: what is read from the files reaches the split and is kept."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coco_files import NAMES, command, elements, instances, panoptic, tree, write
from hypothesis import given, settings
from hypothesis import strategies as st

from evosplit import EvoSplitError, EvoSplitWarning, Split
from evosplit_plugins import evosplit_coco
from evosplit_plugins.cli import main
from evosplit_plugins.coco import apply_split, read_coco
from evosplit_plugins.coco.conditions import group_values, image_values
from evosplit_plugins.coco.reading import read_file

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
QUICK = {"effort": "fast"}


def videos(n_images: int = 90, seed: int = 0, first_id: int = 1) -> dict[str, Any]:
    """Make a file whose images are frames of videos of two to five frames, from sites and with weather."""
    rng = np.random.default_rng(seed)
    made = instances(n_images, seed, first_id)
    video, left = -1, 0
    for number, image in enumerate(made["images"]):
        if not left:
            video, left = video + 1, int(rng.integers(2, 6))
        left -= 1
        image["video_id"] = video
        image["file_name"] = f"clips/v{video:03d}_frame{number:04d}.jpg"
        image["meta"] = {"site": {"name": "north" if video % 3 else "south"}, "altitude": round(float(rng.random()), 4)}
        image["weather"] = ("sun", "rain", "fog")[number % 3]
    for number, annotation in enumerate(made["annotations"]):
        annotation["area"] = (100.5, 32**2, 9215.9, 96**2, 1e6)[number % 5]
    return made


def subset_of_each(split: Split) -> dict[Any, str]:
    """Map the ids of the images to the names of their subsets."""
    return {own: split.names[j] for own, j in zip(split.sample_ids.tolist(), split.assignment.tolist(), strict=True)}


def part(made: dict[str, Any], chosen: list[int]) -> dict[str, Any]:
    """Cut some images with their annotations out of a file."""
    images = [made["images"][position] for position in chosen]
    ids = {image["id"] for image in images}
    return {**made, "images": images, "annotations": [a for a in made["annotations"] if a["image_id"] in ids]}


# Groups


@pytest.mark.parametrize(
    "option", [{"group_by": "video_id"}, {"group_regex": r"v(\d+)_"}, {"group_regex": r"clips/v\d+"}]
)
def test_groups_stay_whole_at_the_sizes_asked_for(tmp_path, option):
    """No video crosses subsets, by field, by part of a name and by a whole match alike; the files agree."""
    made = videos()
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, **option, **QUICK)
    where = subset_of_each(split)
    subsets = defaultdict(set)
    for image in made["images"]:
        subsets[image["video_id"]].add(where[image["id"]])
    assert all(len(names) == 1 for names in subsets.values())
    assert split.sizes == (54, 18, 18)
    for name in RATIOS:
        data = (tmp_path / "out" / "annotations" / f"instances_{name}.json").read_bytes()
        assert {json.loads(image)["id"] for image in elements(data, "images")} == set(split.ids(name).tolist())


def test_images_without_a_group_are_on_their_own_and_counted(tmp_path):
    """Missing and null are no group: such images move alone, and the report says how many there are."""
    made = videos(30)
    del made["images"][3]["video_id"]
    made["images"][7]["video_id"] = None
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, group_by="video_id", **QUICK)
    assert "2 images have no 'video_id', so each is a group of its own." in split.notes
    groups = split.constraints.groups
    assert groups.sizes[groups.code_of_sample[[3, 7]]].tolist() == [1, 1]


def test_names_that_do_not_match_are_on_their_own_and_counted(tmp_path):
    """So are images whose name does not match, or matches without the parentheses."""
    made = videos(30)
    made["images"][0]["file_name"] = "single.jpg"
    made["images"][1]["file_name"] = None
    made["images"][2]["file_name"] = "other.jpg"
    path = write(tmp_path / "a.json", made)
    found = group_values(read_coco(path), regex=r"v(\d+)_frame|other")
    assert found[:3] == [None, None, None]
    assert found[3:] == [f"{image['video_id']:03d}" for image in made["images"][3:]]
    split = evosplit_coco(path, tmp_path / "out", RATIOS, group_regex=r"v(\d+)_frame|other", **QUICK)
    assert "3 images have a file name that does not match, so each is a group of its own." in split.notes


def test_lvis_is_grouped_by_the_end_of_its_urls(tmp_path):
    """LVIS has no file names; its URLs end in folder and name."""
    made = videos(20)
    for image in made["images"]:
        image["coco_url"] = f"http://images.example.org/set{image['id'] % 4}/{image['id']}.jpg"
        del image["file_name"]
    found = group_values(read_coco(write(tmp_path / "a.json", made)), regex="^set[0-9]")
    assert found == [f"set{image['id'] % 4}" for image in made["images"]]


def test_group_values_follow_the_rows_of_several_files(tmp_path):
    """Rows of merged inputs, also without the images that take no part, get the value of their own image."""
    first, second = videos(20), videos(20, seed=1, first_id=500)
    paths = [write(tmp_path / "a.json", first), write(tmp_path / "b.json", second)]
    data = read_coco(paths, having_annotations=True)
    by_id = {image["id"]: image["video_id"] for made in (first, second) for image in made["images"]}
    assert data.counts.n_samples < 40
    assert group_values(data, "video_id") == [by_id[own] for own in data.counts.ids.tolist()]


KEYS = st.sampled_from(["a", "b.c", "é", "with space", "x-y", "__class__"])
FIELD = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.floats(allow_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(KEYS, FIELD | st.dictionaries(KEYS, FIELD), max_size=3), min_size=1, max_size=8), KEYS)
def test_image_fields_are_those_that_python_reads(tmp_path_factory, images, key):
    """Any field of any image is what Python's own json finds there, odd keys and NaN included."""
    made = {"images": [{**image, "id": number} for number, image in enumerate(images)], "annotations": []}
    path = write(tmp_path_factory.mktemp("fields") / "a.json", made)
    for asked in (key, f"{key}.a", f"a.{key}"):
        expected = []
        for image in json.loads(path.read_text(encoding="utf-8"))["images"]:
            value = image.get(asked, image)
            for name in asked.split(".") if value is image else ():
                value = value.get(name) if isinstance(value, dict) else None
            expected.append(value)
        found = [None if repr(value) == "UNSET" else value for value in read_file(path).image_values(asked)]
        assert repr(found) == repr(expected)


# Locks


@pytest.mark.parametrize("match", ["id", "file_name"])
def test_locked_images_stay_and_the_rest_fills_up(tmp_path, match):
    """The images of an old test set are all in the new one, whatever their ids; the sizes are those of the whole."""
    made = videos(60)
    old = part(made, list(range(0, 60, 6)))
    if match == "file_name":
        old = json.loads(json.dumps(old))
        for image in old["images"]:
            image["id"] += 10_000
        old["annotations"] = []
    lock = {"test": write(tmp_path / "old.json", old)}
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, lock=lock, match=match, **QUICK)
    held = {made["images"][position]["id"] for position in range(0, 60, 6)}
    assert held <= set(split.ids("test").tolist())
    assert split.sizes == (36, 12, 12)


def test_a_data_set_grows_without_moving_an_old_image(tmp_path):
    """New images join old subsets, which are inputs and locks at once; every old image stays in its own."""
    old, new = videos(60), videos(40, seed=3, first_id=5000)
    first = evosplit_coco(write(tmp_path / "old.json", old), tmp_path / "one", (0.8, 0.2), **QUICK)
    made = {name: tmp_path / "one" / "annotations" / f"instances_{name}.json" for name in ("train", "val")}
    inputs = [*made.values(), write(tmp_path / "new.json", new)]
    split = evosplit_coco(inputs, tmp_path / "two", (0.8, 0.2), lock=made, **QUICK)
    before, after = subset_of_each(first), subset_of_each(split)
    assert {own: after[own] for own in before} == before
    assert split.sizes == (80, 20)


def test_locks_that_overfill_a_subset_are_told(tmp_path):
    """More locked images than a subset should have stay there; the note says how many too many."""
    made = videos(50)
    lock = {"test": write(tmp_path / "old.json", part(made, list(range(16))))}
    with pytest.warns(EvoSplitWarning, match="16 samples are locked into 'test', 6 more than the 10"):
        split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, lock=lock, **QUICK)
    assert dict(zip(split.names, split.sizes, strict=True))["test"] == 16


def test_locked_images_that_take_no_part_are_told(tmp_path):
    """With `having_annotations` a locked image without any is left out, with a note."""
    made = videos(40)
    empty = [
        number
        for number, image in enumerate(made["images"])
        if image["id"] not in {annotation["image_id"] for annotation in made["annotations"]}
    ]
    lock = {"val": write(tmp_path / "old.json", part(made, [*empty[:2], 0]))}
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, lock=lock, having_annotations=True, **QUICK)
    assert "2 images are locked but without annotations, so left out." in split.notes
    assert made["images"][0]["id"] in split.ids("val")


def test_coerced_ids_are_locked_too(tmp_path):
    """With `coerce_ids`, "7" in the locked file is image 7."""
    made = videos(30)
    old = json.loads(json.dumps(part(made, [4, 9])))
    for image in old["images"]:
        image["id"] = str(image["id"])
    lock = {"test": write(tmp_path / "old.json", {**old, "annotations": []})}
    path = write(tmp_path / "a.json", made)
    with pytest.raises(EvoSplitError, match=r'2 of its 2 images are not in the input, by id: "5", "10"'):
        evosplit_coco(path, tmp_path / "out", RATIOS, lock=lock, **QUICK)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, lock=lock, coerce_ids=True, **QUICK)
    assert {5, 10} <= set(split.ids("test").tolist())


def test_a_locked_file_is_never_overwritten(tmp_path):
    """Growing a data set in place would replace the files that say what is locked: refused."""
    made = videos(30)
    evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", (0.8, 0.2), **QUICK)
    before = tree(tmp_path)
    lock = {"val": tmp_path / "out" / "annotations" / "instances_val.json"}
    with pytest.raises(EvoSplitError, match=r"instances_val\.json is the input .*; choose another output"):
        evosplit_coco(tmp_path / "a.json", tmp_path / "out", (0.8, 0.2), lock=lock, overwrite=True, **QUICK)
    assert tree(tmp_path) == before


# Strata


def test_class_and_size_are_counted_as_coco_does(tmp_path):
    """Small is below 32 squared, large from 96 squared on; each class and size that occurs is a column."""
    made = videos(40)
    data = read_coco(write(tmp_path / "a.json", made), areas=True)
    expected: Counter[tuple[int, str]] = Counter()
    for annotation in made["annotations"]:
        area = annotation["area"]
        size = "small" if area < 32**2 else "medium" if area < 96**2 else "large"
        expected[annotation["image_id"], f"{NAMES[annotation['category_id'] // 10 - 1]} {size}"] += 1
    found = {
        (row + 1, data.sizes.labels[label]): n
        for row, counts in enumerate(data.sizes.matrix.toarray().tolist())
        for label, n in enumerate(counts)
        if n
    }
    assert found == expected
    assert data.sizes.totals.min() > 0


@pytest.mark.parametrize("count_crowd", [True, False])
def test_segments_have_sizes_too(tmp_path, count_crowd):
    """Panoptic files have the areas in their segments; crowds that do not count have no size either."""
    made = panoptic()
    parts = [segment for annotation in made["annotations"] for segment in annotation["segments_info"]]
    for number, segment in enumerate(parts):
        segment["area"] = (5, 5000, 50000)[number % 3]
    data = read_coco(write(tmp_path / "a.json", made), areas=True, count_crowd=count_crowd)
    counted = [segment for segment in parts if count_crowd or not segment["iscrowd"]]
    assert data.sizes.totals.sum() == data.counts.totals.sum() == len(counted)
    large = sum(n for label, n in zip(data.sizes.labels, data.sizes.totals.tolist(), strict=True) if "large" in label)
    assert large == sum(segment["area"] == 50000 for segment in counted)


def test_annotations_without_an_area_are_counted_as_such(tmp_path):
    """No area, a negative one, text, NaN and Infinity are no size, and the note says how many there are."""
    made = instances(20)
    del made["annotations"][0]["area"]
    for number, area in enumerate((None, -1, "9", float("nan"), float("inf")), start=1):
        made["annotations"][number]["area"] = area
    with pytest.warns(EvoSplitWarning) as told:
        data = read_coco(write(tmp_path / "a.json", made), areas=True)
    assert "6 annotations have no area and count for no size" in [str(warning.message) for warning in told]
    assert data.sizes.totals.sum() == len(made["annotations"]) - 6


def test_strata_are_balanced_and_reported(tmp_path):
    """Weather, a nested number and class x size become strata of the split, in the report and in the manifest."""
    made = videos(90)
    names = ["weather", "meta.altitude", "area"]
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, stratify_by=names, **QUICK)
    assert [stratum.name for stratum in split.constraints.strata] == names
    weather, altitude, area = (stratum.counts for stratum in split.constraints.strata)
    assert weather.labels == ("fog", "rain", "sun")
    assert altitude.n_labels == 5
    assert area.totals.sum() == len(made["annotations"])
    for j, size in enumerate(split.sizes):
        shares = weather.matrix.toarray()[split.assignment == j].sum(axis=0)
        assert np.abs(shares - size / 3).max() <= 2
    assert "weather" in str(split.report())
    assert json.loads((tmp_path / "out" / "split.json").read_text())["settings"]["stratify_by"] == names


def test_strata_are_read_only_when_asked_for(tmp_path):
    """Without strata by area, areas are not looked at: a file in which they make no sense is split."""
    made = instances(20)
    for annotation in made["annotations"]:
        annotation["area"] = {"no": "number"}
    path = write(tmp_path / "a.json", made)
    assert sum(evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK).sizes) == 20
    with pytest.raises(EvoSplitError, match=r"none of the \d+ annotations has an 'area'"):
        evosplit_coco(path, tmp_path / "two", RATIOS, stratify_by="area", **QUICK)


# Everything together, from the command line and back


def test_everything_combines_and_is_replayed(tmp_path):
    """Groups, locks, strata, minimum and weights in one command; `apply` of its manifest gives the same bytes."""
    made = videos(90)
    path = write(tmp_path / "a.json", made)
    locked = [number for number, image in enumerate(made["images"]) if image["video_id"] in (1, 4)]
    old = write(tmp_path / "old.json", part(made, locked))
    done = command(
        "coco", "split", path, "-o", tmp_path / "out", "-s", "train:0.6", "-s", "val:0.2", "-s", "test:0.2",
        "--group-by", "video_id", "--lock", f"test={old}", "--match", "file_name",
        "--stratify-by", "area,weather", "--stratify-by", "meta.site.name",
        "--min-per-label", 2, "--label-weight", "kite=4", "--effort", "fast", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    split = Split.load(tmp_path / "out" / "split.json")
    where = subset_of_each(split)
    for image in made["images"]:
        same = {where[other["id"]] for other in made["images"] if other["video_id"] == image["video_id"]}
        assert same == ({"test"} if image["video_id"] in (1, 4) else {where[image["id"]]})
    asked = json.loads((tmp_path / "out" / "split.json").read_text())
    assert asked["settings"]["min_per_label"] == 2
    assert asked["settings"]["label_weights"] == {"kite": 4.0}
    assert asked["settings"]["strata"] == asked["settings"]["stratify_by"] == ["area", "weather", "meta.site.name"]
    assert asked["settings"]["group_by"] == "video_id"
    assert asked["settings"]["lock"] == {"test": ["old.json"]}
    assert asked["settings"]["match"] == "file_name"
    assert json.loads(done.stdout)["sizes"] == dict(zip(split.names, split.sizes, strict=True))

    apply_split(path, tmp_path / "out" / "split.json", tmp_path / "again")
    for name in RATIOS:
        place = Path("annotations") / f"instances_{name}.json"
        assert (tmp_path / "again" / place).read_bytes() == (tmp_path / "out" / place).read_bytes()


def test_locks_of_folds(tmp_path):
    """Folds are locked by their names, and kept whole by group."""
    made = videos(60)
    lock = {"fold1": write(tmp_path / "old.json", part(made, [0]))}
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", folds=3, lock=lock, group_by="video_id", **QUICK)
    video = [image["id"] for image in made["images"] if image["video_id"] == 0]
    assert set(video) <= set(split.ids("fold1").tolist())


# What is refused


def torn(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Lock the two ends of one video into two subsets."""
    frames = [number for number, image in enumerate(made["images"]) if image["video_id"] == 2]
    train, test = (write(folder / f"{frame}.json", part(made, [frame])) for frame in (frames[0], frames[-1]))
    return {"lock": {"train": train, "test": test}, "group_by": "video_id"}


def twice(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Lock two images into train and, with a third one, into test."""
    train, test = (write(folder / f"{n}.json", part(made, list(range(n)))) for n in (2, 3))
    return {"lock": {"train": train, "test": test}}


def strangers(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Lock images that the input does not have."""
    return {"lock": {"test": write(folder / "other.json", videos(13, first_id=900))}}


def alike(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Lock by file name where two images have the same."""
    made["images"][5]["file_name"] = made["images"][6]["file_name"] = "a.jpg"
    return {"lock": {"test": write(folder / "old.json", part(made, [0]))}, "match": "file_name"}


REFUSED: dict[str, tuple[Any, str]] = {
    "no such field": ({"group_by": "vidoe_id"}, r"no image has 'vidoe_id' \(did you mean 'video_id'\?\); the first"),
    "no such field inside": ({"group_by": "meta.nothing"}, r"no image has 'meta\.nothing'.*the first image has: id"),
    "a group that is an object": ({"group_by": "meta"}, r"name a field inside: meta\.site, meta\.altitude"),
    "a group that is a fraction": ({"group_by": "meta.altitude"}, r"gives 0\.\d+ for an image; a group is named by"),
    "broken regex": ({"group_regex": "v(1"}, r"group_regex='v\(1' is no regular expression: missing \)"),
    "regex without a match": ({"group_regex": "^x"}, r"\^x' matches none of the file names"),
    "regex that matches nothing everywhere": ({"group_regex": "x*"}, r"group_regex='x\*' matches none of the file"),
    "both kinds of groups": ({"group_by": "a", "group_regex": "b"}, "group_by= and group_regex= exclude each other"),
    "groups given twice": ({"group_by": "video_id", "groups": [1] * 60}, "groups= is given and also read from"),
    "a stratum that is an object": ({"stratify_by": "meta.site"}, r"name a field inside: meta\.site\.name"),
    "no such stratum": ({"stratify_by": ["weather", "wether"]}, r"no image has 'wether' \(did you mean 'weather'\?\)"),
    "a stratum that never repeats": ({"stratify_by": "file_name"}, "'file_name' has 60 different values in 60 samples"),
    "strata twice": ({"stratify_by": "area,area"}, "stratify_by='area,area' repeats a field"),
    "an empty stratum": ({"stratify_by": "area,"}, "repeats a field"),
    "a lock that is a file": ({"lock": "old.json"}, "lock='old.json' names no subset; pass for example lock={'test'"),
    "a lock of no subset": ({"lock": {"tset": "old.json"}}, r"lock= names the subset 'tset'; .*train, val, test"),
    "a locked file that is not there": ({"lock": {"test": "nothing.json"}}, r"cannot read nothing\.json"),
    "another way to match": ({"match": "name"}, "match='name' is unknown; choose one of id, file_name"),
    "locked images that are not there": (strangers, r"13 of its 13 images are not in the input, by id: 900, .* 3 more"),
    "file names that repeat": (alike, r'1 image has the file name of another one: "a\.jpg"; lock by id'),
    "images locked twice": (twice, r"2 images are locked into two subsets: 1 \(train and test\), 2 \(train and test\)"),
    "a group locked twice": (torn, r"1 groups are locked into more than one subset \(2; the first into 'train'"),
    "no such label": ({"label_weights": {"kit": 2}}, "label_weights= names the label 'kit'.*did you mean 'kite'"),
    "a minimum of nothing": ({"min_per_label": 0}, "min_per_label=0 is no minimum; give an integer of at least 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradictions_are_refused_before_anything_is_written(tmp_path, case):
    """Each is named with the offender and the remedy, and the output directory does not appear."""
    asked, message = REFUSED[case]
    made = videos(60)
    options = asked(tmp_path, made) if callable(asked) else asked
    path = write(tmp_path / "a.json", made)
    with pytest.raises(EvoSplitError, match=message):
        evosplit_coco(path, tmp_path / "out", RATIOS, **options, **QUICK)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("entry", ["test", "=old.json", "test="])
def test_a_lock_that_says_too_little_is_one_line(tmp_path, capsys, entry):
    """`--lock` needs a subset and a file."""
    path = write(tmp_path / "a.json", videos(20))
    assert main(["coco", "split", str(path), "-o", str(tmp_path / "out"), "--ratios", "8:2", "--lock", entry]) == 2
    assert f"--lock {entry} does not say what stays where" in capsys.readouterr().err


def test_image_values_are_none_where_the_field_is_missing(tmp_path):
    """A field that some images lack is None there."""
    made = instances(3)
    made["images"][1]["site"] = "x"
    assert image_values(read_coco(write(tmp_path / "a.json", made)), "site") == [None, "x", None]


def test_an_area_beyond_all_floats_is_large(tmp_path):
    """JSON knows integers of any length; so does an image field that is balanced."""
    content = instances(20)
    content["annotations"][0]["area"] = 10**400
    for number, image in enumerate(content["images"]):
        image["altitude"] = 10**400 + number if number < 12 else number
    path = write(tmp_path / "a.json", content)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, stratify_by="area,altitude", effort="fast")
    area, altitude = split.constraints.strata
    assert area.counts.totals.sum() == len(content["annotations"])
    assert altitude.counts.totals.tolist() != [20]
