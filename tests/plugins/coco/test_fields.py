"""Groups, locks and strata: what is read from the files reaches the split and is kept."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coco_files import FAST, RATIOS, elements, instances, read, some_images, subset_of_each, tree, videos, write

from evosplit import EvoSplitError, EvoSplitWarning, Split
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import apply_split, reading


@pytest.mark.parametrize(
    "option", [{"group_by": "video_id"}, {"group_regex": r"v(\d+)_"}, {"group_regex": r"clips/v\d+"}]
)
def test_groups_stay_whole_at_the_sizes_asked_for(tmp_path, option):
    """No video crosses subsets, by field, by part of a name and by a whole match alike; the files agree."""
    made = videos()
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, **option, **FAST)
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
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, group_by="video_id", **FAST)
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
    split = evosplit_coco(path, tmp_path / "out", RATIOS, group_regex=r"v(\d+)_frame|other", **FAST)
    assert "3 images have no matching file name, so each is a group of its own." in split.notes
    groups = split.constraints.groups
    videos_of = [image["video_id"] for image in made["images"]]
    assert groups.sizes[groups.code_of_sample[:3]].tolist() == [1, 1, 1]
    assert groups.sizes[groups.code_of_sample[3:]].tolist() == [videos_of[3:].count(each) for each in videos_of[3:]]


def test_lvis_names_its_files_by_the_end_of_its_urls(tmp_path):
    """LVIS has no file names; its URLs end in folder and name, also beside images that have one."""
    made = videos(20)
    for image in made["images"]:
        image["coco_url"] = f"http://images.example.org/set{image['id'] % 4}/{image['id']}.jpg"
        image["file_name"] = None if image["id"] % 2 else ""
    made["images"][0]["file_name"] = "own.jpg"
    found = read(write(tmp_path / "a.json", made)).files
    assert found == ["own.jpg", *(f"set{image['id'] % 4}/{image['id']}.jpg" for image in made["images"][1:])]


def test_group_values_follow_the_rows_of_several_files(tmp_path):
    """Rows of merged inputs, also without the images that take no part, get the value of their own image."""
    first, second = videos(20), videos(20, seed=1, first_id=500)
    paths = [write(tmp_path / "a.json", first), write(tmp_path / "b.json", second)]
    source = read(*paths, having_annotations=True)
    by_id = {image["id"]: image["video_id"] for made in (first, second) for image in made["images"]}
    assert len(source) < 40
    found = source.fields(groups=["video_id"], strata=()).groups["video_id"]
    assert found == [by_id[own] for own in source.counts.ids.tolist()]


def test_image_values_are_none_where_the_field_is_missing(tmp_path):
    """A field that some images lack is None there."""
    made = instances(3)
    made["images"][1]["site"] = "x"
    source = read(write(tmp_path / "a.json", made))
    assert source.fields(groups=["site"], strata=["site"]).strata["site"] == [None, "x", None]


def test_all_fields_are_read_in_one_pass(tmp_path, monkeypatch):
    """However many fields are named, the list of images is decoded once; file names come with the first reading."""
    source = read(write(tmp_path / "a.json", videos(20)))
    calls = []
    decode = reading.decode
    monkeypatch.setattr(reading, "decode", lambda *given: calls.append(given[1]) or decode(*given))
    assert source.files[0] == "clips/v000_frame0000.jpg"
    found = source.fields(groups=["video_id", "meta.site.name"], strata=["weather", "meta.altitude", "video_id"])
    assert len(calls) == 1
    assert list(found.groups) == ["video_id", "meta.site.name"]
    assert list(found.strata) == ["weather", "meta.altitude", "video_id"]


@pytest.mark.parametrize("match", ["id", "file_name"])
def test_locked_images_stay_and_the_rest_fills_up(tmp_path, match):
    """The images of an old test set are all in the new one, whatever their ids; the sizes are those of the whole."""
    made = videos(60)
    old = some_images(made, list(range(0, 60, 6)))
    if match == "file_name":
        old = json.loads(json.dumps(old))
        for image in old["images"]:
            image["id"] += 10_000
        old["annotations"] = []
    lock = {"test": write(tmp_path / "old.json", old)}
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, locked=lock, **FAST)
    held = {made["images"][position]["id"] for position in range(0, 60, 6)}
    assert held <= set(split.ids("test").tolist())
    assert split.sizes == (36, 12, 12)


def test_a_data_set_grows_without_moving_an_old_image(tmp_path):
    """New images join old subsets, which are inputs and locks at once; every old image stays in its own."""
    old, new = videos(60), videos(40, seed=3, first_id=5000)
    first = evosplit_coco(write(tmp_path / "old.json", old), tmp_path / "one", (0.8, 0.2), **FAST)
    made = {name: tmp_path / "one" / "annotations" / f"instances_{name}.json" for name in ("train", "val")}
    inputs = [*made.values(), write(tmp_path / "new.json", new)]
    split = evosplit_coco(inputs, tmp_path / "two", (0.8, 0.2), locked=made, **FAST)
    before, after = subset_of_each(first), subset_of_each(split)
    assert {own: after[own] for own in before} == before
    assert split.sizes == (80, 20)


def test_locks_that_overfill_a_subset_are_told(tmp_path):
    """More locked images than a subset should have stay there; the note says how many too many."""
    made = videos(50)
    lock = {"test": write(tmp_path / "old.json", some_images(made, list(range(16))))}
    with pytest.warns(EvoSplitWarning, match="16 samples are locked into 'test', 6 more than the 10"):
        split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, locked=lock, **FAST)
    assert dict(zip(split.names, split.sizes, strict=True))["test"] == 16


def test_locked_images_that_take_no_part_are_told(tmp_path):
    """With `having_annotations` a locked image without any is left out, with a note."""
    made = videos(40)
    empty = [
        number
        for number, image in enumerate(made["images"])
        if image["id"] not in {annotation["image_id"] for annotation in made["annotations"]}
    ]
    lock = {"val": write(tmp_path / "old.json", some_images(made, [*empty[:2], 0]))}
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, locked=lock, having_annotations=True, **FAST)
    assert "2 images are locked but take no part in the split." in split.notes
    assert made["images"][0]["id"] in split.ids("val")


def test_coerced_ids_are_locked_too(tmp_path):
    """With `coerce_ids`, "7" in the locked file and "7" in the input are both image 7."""
    made = videos(30)
    for image in made["images"]:
        del image["file_name"]
    old = json.loads(json.dumps(some_images(made, [4, 9])))
    for image in (*old["images"], made["images"][9]):
        image["id"] = str(image["id"])
    lock = {"test": write(tmp_path / "old.json", {**old, "annotations": []})}
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, locked=lock, coerce_ids=True, **FAST)
    assert {5, 10} <= set(split.ids("test").tolist())


@pytest.mark.parametrize("kind", ["files", "list", "split", "ids", "file names"])
def test_locks_may_be_named_in_many_ways(tmp_path, kind):
    """By annotation files, plain and gzip; by a text file; by a saved split; by ids; by file names."""
    made = videos(40)
    path = write(tmp_path / "a.json", made)
    first = evosplit_coco(path, tmp_path / "one", RATIOS, method="random", seed=7)
    held = first.ids("test").tolist()
    rows = first.indices("test").tolist()
    names = [made["images"][row]["file_name"] for row in rows]
    halves = [some_images(made, rows[:3]), some_images(made, rows[3:])]
    given = {
        "files": [
            str(write(tmp_path / "old0.json", halves[0])),
            write(tmp_path / "old1.json.gz", gzip.compress(json.dumps(halves[1]).encode())),
        ],
        "list": write(tmp_path / "old.txt", "".join(f"./images/{name}\n" for name in names)),
        "split": tmp_path / "one" / "split.json",
        "ids": held,
        "file names": names,
    }[kind]
    split = evosplit_coco(path, tmp_path / "two", RATIOS, locked={"test": given}, **FAST)
    assert set(split.ids("test").tolist()) == set(held)


def test_inputs_keep_their_subsets_by_name(tmp_path):
    """Several files are subsets named after them, and `locked` keeps those it names."""
    paths = [write(tmp_path / f"data_{name}.json", videos(20, first_id=100 * j)) for j, name in enumerate(RATIOS)]
    assert read(*paths).subsets.names == tuple(RATIOS)
    assert read(paths[0]).subsets is None
    split = evosplit_coco(paths, tmp_path / "out", (0.4, 0.4, 0.2), locked=["val"], group_copies=False, **FAST)
    assert set(range(100, 120)) < set(split.ids("val").tolist())
    assert split.sizes == (24, 24, 12)
    with pytest.raises(EvoSplitError, match=r"keeps the subset 'test', which a\.json does not have: it is not divided"):
        evosplit_coco(write(tmp_path / "a.json", videos(20)), tmp_path / "o", RATIOS, locked=["test"], **FAST)


def test_a_locked_file_is_never_overwritten(tmp_path):
    """Growing a data set in place would replace the files that say what is locked: refused."""
    made = videos(30)
    evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", (0.8, 0.2), **FAST)
    before = tree(tmp_path)
    lock = {"val": tmp_path / "out" / "annotations" / "instances_val.json"}
    with pytest.raises(EvoSplitError, match=r"instances_val\.json is the input .*; choose another output"):
        evosplit_coco(tmp_path / "a.json", tmp_path / "out", (0.8, 0.2), locked=lock, overwrite=True, **FAST)
    assert tree(tmp_path) == before


def test_a_split_that_locks_is_never_overwritten(tmp_path):
    """The manifest that says what is locked is not replaced by the new one."""
    path = write(tmp_path / "a.json", videos(30))
    evosplit_coco(path, tmp_path / "out", (0.8, 0.2), **FAST)
    before = tree(tmp_path)
    lock = {"val": tmp_path / "out" / "split.json"}
    with pytest.raises(EvoSplitError, match=r"split\.json is an input, because it says what is locked; choose another"):
        evosplit_coco(path, tmp_path / "out", (0.8, 0.2), locked=lock, overwrite=True, **FAST)
    assert tree(tmp_path) == before


def test_strata_are_balanced_and_reported(tmp_path):
    """Weather, a nested number and class x size become strata of the split, in the report and in the manifest."""
    made = videos(90)
    names = ["weather", "meta.altitude", "area"]
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, stratify_by=names, **FAST)
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


def test_everything_combines_and_is_replayed(tmp_path):
    """Groups, locks, strata, minimum and weights in one split; `apply_split` of its manifest gives the same bytes."""
    made = videos(90)
    path = write(tmp_path / "a.json", made)
    locked = [number for number, image in enumerate(made["images"]) if image["video_id"] in (1, 4)]
    old = write(tmp_path / "old.json", some_images(made, locked))
    evosplit_coco(
        path,
        tmp_path / "out",
        RATIOS,
        group_by="video_id",
        locked={"test": old},
        stratify_by=["area", "weather", "meta.site.name"],
        min_per_label=2,
        label_weights={"kite": 4},
        **FAST,
    )
    split = Split.load(tmp_path / "out" / "split.json")
    where = subset_of_each(split)
    for image in made["images"]:
        same = {where[other["id"]] for other in made["images"] if other["video_id"] == image["video_id"]}
        assert same == ({"test"} if image["video_id"] in (1, 4) else {where[image["id"]]})
    asked = json.loads((tmp_path / "out" / "split.json").read_text())
    assert asked["settings"]["min_per_label"] == 2
    assert asked["settings"]["label_weights"] == {"kite": 4.0}
    assert asked["settings"]["strata"] == asked["settings"]["stratify_by"] == ["area", "weather", "meta.site.name"]
    assert asked["settings"]["group_by"] == ["video_id"]
    assert asked["settings"]["locked_subsets"] == ["test"]

    apply_split(path, tmp_path / "out" / "split.json", tmp_path / "again")
    for name in RATIOS:
        place = Path("annotations") / f"instances_{name}.json"
        assert (tmp_path / "again" / place).read_bytes() == (tmp_path / "out" / place).read_bytes()


def test_locks_of_folds(tmp_path):
    """Folds are locked by their names, and kept whole by group."""
    made = videos(60)
    lock = {"fold1": write(tmp_path / "old.json", some_images(made, [0]))}
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", folds=3, locked=lock, group_by="video_id", **FAST)
    video = [image["id"] for image in made["images"] if image["video_id"] == 0]
    assert set(video) <= set(split.ids("fold1").tolist())


def torn(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Lock the two ends of one video into two subsets."""
    frames = [number for number, image in enumerate(made["images"]) if image["video_id"] == 2]
    train, test = (write(folder / f"{frame}.json", some_images(made, [frame])) for frame in (frames[0], frames[-1]))
    return {"locked": {"train": train, "test": test}, "group_by": "video_id"}


def twice(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Lock two images into train and, with a third one, into test."""
    train, test = (write(folder / f"{n}.json", some_images(made, list(range(n)))) for n in (2, 3))
    return {"locked": {"train": train, "test": test}}


def strangers(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Lock images that the input does not have."""
    return {"locked": {"test": write(folder / "other.json", instances(13, first_id=900))}}


REFUSED: dict[str, tuple[Any, str]] = {
    "no such field": ({"group_by": "vidoe_id"}, r"group_by='vidoe_id': no image .*mean 'video_id'\?\); the first"),
    "no such field inside": ({"group_by": "meta.nothing"}, r"group_by='meta\.nothing': .*the first image has: id"),
    "a group that is an object": ({"group_by": "meta"}, r"name a field inside: meta\.site, meta\.altitude"),
    "a group that is a fraction": ({"group_by": "meta.altitude"}, r"gives '0\.\d+' for a sample; a group is named by"),
    "broken regex": ({"group_regex": "v(1"}, r"group_regex='v\(1' is no regular expression: missing \)"),
    "regex without a match": ({"group_regex": "^x"}, r"group_regex='\^x' finds no text in any file name"),
    "regex that matches nothing everywhere": ({"group_regex": "x*"}, r"group_regex='x\*' finds no text in any"),
    "a stratum that is an object": ({"stratify_by": "meta.site"}, r"name a field inside: meta\.site\.name"),
    "no such stratum": ({"stratify_by": ["weather", "wether"]}, r"stratify_by='wether': no .*mean 'weather'\?\)"),
    "a stratum that never repeats": ({"stratify_by": "file_name"}, "'file_name' has 60 different values in 60 samples"),
    "strata twice": ({"stratify_by": ["area", "area"]}, r"stratify_by=\['area', 'area'\] repeats a name"),
    "an empty stratum": ({"stratify_by": ["area", ""]}, "has an empty one"),
    "a lock that is a file": (
        {"locked": "old.json"},
        r"locked= names the subset 'old\.json'; the subsets",
    ),
    "a lock of no subset": ({"locked": {"tset": "old.json"}}, r"locked= names the subset 'tset'; .*train, val, test"),
    "a locked file that is not there": ({"locked": {"test": "nothing.json"}}, r"cannot read nothing\.json"),
    "locked images that are not there": (strangers, r"13 of 13 files are not in the data: "),
    "images locked twice": (twice, r"locked= puts 2 images into two subsets: 1 \(train and test\), 2 \("),
    "a group locked twice": (torn, r"1 group is locked into more than one subset \(2; the first into 'train'"),
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
        evosplit_coco(path, tmp_path / "out", RATIOS, **options, **FAST)
    assert not (tmp_path / "out").exists()
