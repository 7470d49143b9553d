"""The COCO door: what is read is counted right, and what is written is what was read."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from coco_files import NAMES, around, captions, elements, instances, panoptic, tree, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO

from evosplit import EvoSplitError, EvoSplitWarning, Split, measure
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import apply_split, audit, read_counts
from evosplit_plugins.coco.places import cut_out, look_for
from evosplit_plugins.staging import RECORD

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
QUICK = {"method": "random"}


def files(folder: Path, kind: str = "instances") -> dict[str, bytes]:
    """Return the annotation files of the default layout, by subset."""
    return {
        path.name.removeprefix(f"{kind}_").split(".")[0]: path.read_bytes()
        for path in sorted((folder / "annotations").iterdir())
    }


def load(path: Path) -> COCO:
    """Load a file as its consumers do."""
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(path))


# Counting


def test_counts_every_instance_of_every_category(tmp_path):
    """The counts are those of a plain loop over the annotations, in the order of images and categories."""
    made = instances(40)
    counts = read_counts(write(tmp_path / "a.json", made))
    expected = np.zeros((40, len(NAMES)), dtype=int)
    for annotation in made["annotations"]:
        expected[annotation["image_id"] - 1, annotation["category_id"] // 10 - 1] += 1
    assert counts.matrix.toarray().tolist() == expected.tolist()
    assert counts.labels == NAMES
    assert counts.ids.tolist() == [image["id"] for image in made["images"]]


def test_counts_segments_of_panoptic_files(tmp_path):
    """Panoptic annotations count each of their segments."""
    made = panoptic()
    counts = read_counts(write(tmp_path / "a.json", made))
    for row, annotation in enumerate(made["annotations"]):
        expected = Counter(segment["category_id"] // 10 - 1 for segment in annotation["segments_info"])
        assert counts.matrix.toarray()[row].tolist() == [expected[label] for label in range(len(NAMES))]


@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_panoptic_images_without_any_segment(tmp_path):
    """A panoptic file whose segments are all empty is one without labels, not a broken one."""
    made = panoptic()
    for annotation in made["annotations"]:
        annotation["segments_info"] = []
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, **QUICK)
    assert split.counts.totals.sum() == 0
    assert set(files(tmp_path / "out", "panoptic")) == set(RATIOS)


@pytest.mark.parametrize("make", [instances, panoptic])
def test_crowds_count_unless_ignored(tmp_path, make):
    """`count_crowd=False` leaves crowds out of the counts, and only out of the counts."""
    made = make()
    path = write(tmp_path / "a.json", made)
    parts = [part for annotation in made["annotations"] for part in annotation.get("segments_info", [annotation])]
    crowds = sum(part["iscrowd"] for part in parts)
    assert crowds > 0
    assert read_counts(path).totals.sum() == len(parts)
    assert read_counts(path, count_crowd=False).totals.sum() == len(parts) - crowds
    evosplit_coco(path, tmp_path / "out", RATIOS, count_crowd=False, **QUICK)
    kind = "panoptic" if make is panoptic else "instances"
    written = sum(len(elements(data, "annotations")) for data in files(tmp_path / "out", kind).values())
    assert written == len(made["annotations"])


def test_images_without_annotations_are_spread_or_left_out(tmp_path):
    """By default every image is split; `having_annotations` leaves the empty ones out of everything."""
    made = instances(30)
    path = write(tmp_path / "a.json", made)
    annotated = {annotation["image_id"] for annotation in made["annotations"]}
    assert len(annotated) < 30
    assert sum(evosplit_coco(path, tmp_path / "all", RATIOS, **QUICK).sizes) == 30
    split = evosplit_coco(path, tmp_path / "some", RATIOS, having_annotations=True, **QUICK)
    assert set(split.sample_ids.tolist()) == annotated
    written = [
        json.loads(part)["id"] for data in files(tmp_path / "some").values() for part in elements(data, "images")
    ]
    assert sorted(written) == sorted(annotated)


def test_categories_may_share_a_name_or_lack_one(tmp_path):
    """Labels stay apart when categories are called alike, and a nameless one is called by its id."""
    made = instances()
    made["categories"] = [
        {"id": 10, "name": "x"},
        {"id": 20, "name": "x"},
        {"id": 30},
        {"id": 40, "name": "y"},
    ]
    made["categories"].append({"id": 50, "name": None})
    assert read_counts(write(tmp_path / "a.json", made)).labels == ("x", "x (id 20)", "30", "y", "50")


# Writing


def test_pycocotools_loads_every_subset_with_the_same_annotations(tmp_path):
    """For pycocotools each image has the annotations it had, in exactly one of the files."""
    path = write(tmp_path / "a.json", instances(60))
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    before = load(path)
    seen: list[int] = []
    for name in RATIOS:
        after = load(tmp_path / "out" / "annotations" / f"instances_{name}.json")
        assert after.loadCats(after.getCatIds()) == before.loadCats(before.getCatIds())
        for image in after.getImgIds():
            ids = after.getAnnIds(imgIds=image)
            assert ids == before.getAnnIds(imgIds=image)
            assert after.loadAnns(ids) == before.loadAnns(ids)
        seen += after.getImgIds()
    assert sorted(seen) == sorted(before.getImgIds())


def test_subsets_follow_the_split(tmp_path):
    """Each file holds the images that the returned split says, with exact sizes, in the input's order."""
    made = instances(50)
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", (0.5, 0.3, 0.2), **QUICK)
    assert split.names == ("train", "val", "test")
    assert split.sizes == (25, 15, 10)
    for name, data in files(tmp_path / "out").items():
        assert [json.loads(part)["id"] for part in elements(data, "images")] == split.ids(name).tolist()


@pytest.mark.parametrize(
    ("ratios", "names"),
    [((0.5, 0.5), ("train", "val")), ([20, 5, 5], ("train", "val", "test")), ((0.4, 0.2, 0.2, 0.2), None)],
)
def test_unnamed_ratios_get_the_usual_names(tmp_path, ratios, names):
    """Two unnamed ratios are train and val here, three train, val, test, more are numbered."""
    split = evosplit_coco(write(tmp_path / "a.json", instances()), tmp_path / "out", ratios, dry_run=True, **QUICK)
    assert split.names == (names or ("subset0", "subset1", "subset2", "subset3"))


_words = st.text(st.characters(codec="utf-8"), max_size=8)
_numbers = st.sampled_from(
    [
        "0",
        "-0",
        "100.00",
        "1e5",
        "1E-7",
        "-3.50",
        str(2**64),
        str(-(10**30)),
        "0.1000000000000000055",
        "2e400",
        "5",
    ]
)
_spaces = st.sampled_from(["", " ", "\n", "\n    ", "\t", " \r\n "])


def _quoted(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from([json.dumps(word), json.dumps(word, ensure_ascii=False)])


_values = st.recursive(
    st.one_of(_numbers, st.sampled_from(["true", "false", "null", '"}, {"', '"\\"]["']), _words.flatmap(_quoted)),
    lambda inner: st.one_of(
        st.builds(lambda s, items: f"[{s}" + f"{s},".join(items) + "]", _spaces, st.lists(inner, max_size=3)),
        st.builds(
            lambda s, pairs: "{" + f",{s}".join(f"{json.dumps(k)}:{s}{v}" for k, v in pairs) + "}",
            _spaces,
            st.lists(st.tuples(_words, inner), max_size=3),
        ),
    ),
    max_leaves=6,
)


@st.composite
def odd_files(draw):
    """Draw a COCO file as text, with odd numbers, spacing, key order and keys that nobody knows."""
    space = draw(_spaces)
    known = (
        "id",
        "image_id",
        "category_id",
        "images",
        "annotations",
        "categories",
        "segments_info",
        "keypoints",
    )

    def thing(**fields):
        pairs = [(json.dumps(key), str(value)) for key, value in fields.items()]
        extra = draw(st.lists(st.tuples(_words.filter(lambda word: word not in known), _values), max_size=3))
        pairs += [(json.dumps(key), value) for key, value in extra]
        inner = ("," + draw(_spaces)).join(f"{key}:{space}{value}" for key, value in draw(st.permutations(pairs)))
        return "{" + draw(_spaces) + inner + draw(_spaces) + "}"

    def listed(things, uneven):
        text = ""
        for position, item in enumerate(things):
            gap = (draw(_spaces) + "," + draw(_spaces)) if uneven else "," + space
            text += (gap if position else space) + item
        return "[" + text + space + "]"

    n = draw(st.integers(2, 7))
    ids = draw(st.lists(st.integers(0, 2**70), min_size=n, max_size=n, unique=True))
    owners = draw(st.lists(st.sampled_from(ids), max_size=9))
    images = [thing(id=own) for own in ids]
    annotations = [thing(id=k, image_id=own, category_id=draw(st.integers(1, 2))) for k, own in enumerate(owners)]
    uneven = draw(st.booleans())
    top = [
        ("images", listed(images, uneven)),
        ("annotations", listed(annotations, uneven)),
        ("categories", listed([thing(id=1), thing(id=2)], False)),
    ]
    words = draw(st.lists(_words.filter(lambda word: word not in known), max_size=3, unique=True))
    top = draw(st.permutations([*top, *((word, draw(_values)) for word in words)]))
    body = f",{space}".join(f"{json.dumps(key)}{draw(_spaces)}:{space}{value}" for key, value in top)
    return space + "{" + body + "}" + space


@given(text=odd_files())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_every_byte_survives(tmp_path_factory, text):
    """However the file looks, each element comes out byte for byte, once, in order; so does the rest."""
    folder = tmp_path_factory.mktemp("bytes")
    path = write(folder / "a.json", text.encode("utf-8", "surrogatepass"))
    data = path.read_bytes()
    split = evosplit_coco(path, folder / "out", (0.5, 0.5), **QUICK)
    subset_of = dict(zip(split.sample_ids.tolist(), split.assignment.tolist(), strict=True))
    for position, name in enumerate(split.names):
        written = (folder / "out" / "annotations" / f"instances_{name}.json").read_bytes()
        for key, field in (("images", "id"), ("annotations", "image_id")):
            expected = [part for part in elements(data, key) if subset_of[json.loads(part)[field]] == position]
            assert elements(written, key) == expected
        assert around(written) == around(data)


@given(text=odd_files())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_quick_search_for_elements_is_right_or_gives_up(text):
    """Where the quick way finds the elements, they are where the decoder finds them."""
    data = text.encode()
    sizes = {key: len(elements(data, key)) for key in ("images", "annotations")}
    quick, sure = look_for(data, sizes), cut_out(data, sizes)
    for key, found in sure.items():
        assert [data[i:j] for i, j in zip(found.starts, found.stops, strict=True)] == elements(data, key)
        if quick is not None:
            assert quick[key].starts.tolist() == found.starts.tolist()
            assert quick[key].stops.tolist() == found.stops.tolist()
            assert (quick[key].first, quick[key].last) == (found.first, found.last)


@pytest.mark.parametrize(
    ("annotations", "quick"),
    [
        ('[{"id": 1}, {"id": 2}, {"id": 3}]', True),
        ('[{"id": 1, "rle": {"counts": [1], "size": [2]}}, {"id": 2} , \n {"id": 3}]', True),
        ('[{"id": 1, "name": "a, b"}, {"id": 2, "x": [[1], [2]]}, {"id": 3}]', True),
        ('[{"id": 1, "name": "},{"}, {"id": 2}, {"id": 3}]', False),
        ('[{"id": 1, "name": "},{"}, {"id": 2, "x": "{"}, {"x": "}", "id": 3}]', False),
        ('[{"id": 1, "x": [{}, {}]}, {"id": 2}, {"id": 3}]', False),
        ('[{"id": 1}, {"id": 2}, {"id": 3, "x": [{}]}]', False),
        ('[{"id": 1}, {"id": 2}, {"id": 3, "x": "}]"}]', False),
        ('[{"id": 1}, {"id": 2}, {"id": 3, "x": "}]}"}]', False),
        ('[{"id": 1, "x": "\\""}, {"id": 2}, {"id": 3}]', False),
        ('[{"id": 1},' + " " * 100 + '{"id": 2}, {"id": 3}]', False),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_the_quick_search_gives_up_where_it_cannot_be_sure(annotations, quick, first):
    """Braces in strings and lists of objects in objects are left to the decoder; the usual files are not."""
    lists = [f'"annotations": {annotations}', '"images": [{"id": 7}, {"id": 8}]']
    text = "{" + ", ".join(lists if first else lists[::-1]) + ', "categories": [{"id": 1}, {"id": 2}]}'
    found = look_for(text.encode(), {"images": 2, "annotations": 3})
    assert (found is not None) == quick
    if found is not None:
        assert found["images"].starts.tolist() == [text.index('{"id": 7'), text.index('{"id": 8')]


def test_unknown_keys_and_order_stay_in_their_place(tmp_path):
    """Keys that nobody knows, and pretty printing, are in every file as they were in the input."""
    made = {"zebra": {"x": [1.50]}, **instances(), "videos": [{"id": 1}], "": None}
    path = write(tmp_path / "a.json", made, indent=2)
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    for data in files(tmp_path / "out").values():
        assert around(data) == around(path.read_bytes())
        assert b"\n    {\n      " in data


@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_what_python_writes_beyond_json_passes_through(tmp_path):
    """NaN, Infinity and lone surrogates are read on a slower path, kept byte for byte, and mentioned."""
    made = instances()
    made["annotations"][0].update(area=float("nan"), score=float("-inf"), note='"NaN" \\', word="\ud800 \ud83d\ude00")
    made["images"][0]["NaN"] = "Infinity"
    made["categories"][0]["name"] = "half \udc00"
    path = write(tmp_path / "a.json", made)
    with pytest.warns(EvoSplitWarning, match="NaN, Infinity, lone surrogates") as told:
        split = evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    assert len(told) == 1
    assert split.counts.labels[0] == "half \\udc00"
    written = [part for data in files(tmp_path / "out").values() for part in elements(data, "annotations")]
    assert sorted(written) == sorted(elements(path.read_bytes(), "annotations"))


def test_a_byte_order_mark_is_dropped_with_a_note(tmp_path):
    """A UTF-8 byte order mark, on which pycocotools chokes, is read over and not written."""
    path = write(tmp_path / "a.json", b"\xef\xbb\xbf" + json.dumps(instances()).encode())
    with pytest.warns(EvoSplitWarning, match="byte order mark"):
        evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    assert load(tmp_path / "out" / "annotations" / "instances_val.json").getImgIds()


def test_string_ids_and_ids_beyond_64_bits(tmp_path):
    """Ids may be strings or integers of any size, as long as both sides agree."""
    made = instances(10)
    new = {image["id"]: f"img-{image['id']}" if image["id"] % 2 else 10**25 + image["id"] for image in made["images"]}
    for image in made["images"]:
        image["id"] = new[image["id"]]
    for annotation in made["annotations"]:
        annotation["image_id"] = new[annotation["image_id"]]
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", (0.5, 0.5), **QUICK)
    assert set(split.sample_ids.tolist()) == set(new.values())
    assert apply_split(path, tmp_path / "out" / "split.json", tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "out")


def test_same_seed_same_bytes(tmp_path):
    """The same input and seed give the same files; the hidden record also knows when they were written."""
    path = write(tmp_path / "a.json", instances(40))
    for name in ("one", "two"):
        evosplit_coco(path, tmp_path / name, RATIOS, effort="fast", seed=3)
    one, two = (tree(tmp_path / name) for name in ("one", "two"))
    del one[RECORD], two[RECORD]
    assert one == two


def test_keypoints_lvis_and_rle_pass_through(tmp_path):
    """Fields of other kinds of COCO files survive, and name the files after their kind."""
    made = instances()
    made["categories"][0].update(
        keypoints=["nose"], skeleton=[[1, 1]], instance_count=7, frequency="r", synset="x.n.01"
    )
    made["annotations"][0].update(
        keypoints=[1, 2, 2], num_keypoints=1, segmentation={"counts": "a\\b}{", "size": [2, 2]}
    )
    made["images"][0].update(neg_category_ids=[10], not_exhaustive_category_ids=[])
    path = write(tmp_path / "a.json", made)
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    written = files(tmp_path / "out", "person_keypoints")
    assert set(written) == set(RATIOS)
    for key in ("images", "annotations"):
        parts = [part for data in written.values() for part in elements(data, key)]
        assert sorted(parts) == sorted(elements(path.read_bytes(), key))


def test_folds_and_their_complements(tmp_path):
    """Folds are disjoint and complete, and each train file is everything but its fold."""
    path = write(tmp_path / "a.json", instances(33))
    split = evosplit_coco(path, tmp_path / "out", folds=3, train_files=True, **QUICK)
    assert split.names == ("fold0", "fold1", "fold2")
    everything = elements(path.read_bytes(), "annotations")
    for fold in range(3):
        own = elements((tmp_path / "out" / "annotations" / f"fold{fold}.json").read_bytes(), "annotations")
        rest = elements((tmp_path / "out" / "annotations" / f"fold{fold}_train.json").read_bytes(), "annotations")
        assert sorted(own + rest) == sorted(everything)
        assert len(elements((tmp_path / "out" / "annotations" / f"fold{fold}.json").read_bytes(), "images")) == 11


def test_gzip_in_and_out(tmp_path):
    """A compressed input gives the same subsets, and compressed outputs hold the same bytes, every time."""
    plain = write(tmp_path / "a.json", instances(40))
    packed = write(tmp_path / "b.json.gz", gzip.compress(plain.read_bytes()))
    evosplit_coco(plain, tmp_path / "plain", RATIOS, **QUICK)
    for name in ("packed", "again"):
        evosplit_coco(packed, tmp_path / name, RATIOS, gzip=True, **QUICK)
    assert {name: gzip.decompress(data) for name, data in files(tmp_path / "packed").items()} == files(
        tmp_path / "plain"
    )
    assert files(tmp_path / "packed") == files(tmp_path / "again")
    assert (tmp_path / "packed" / "annotations" / "instances_val.json.gz").exists()


# Several inputs


def test_several_inputs_are_merged(tmp_path):
    """Files with the same categories, in whatever order, are split as one."""
    first, second = instances(20), instances(20, seed=1, first_id=500)
    second["categories"].reverse()
    one, two = write(tmp_path / "one.json", first), write(tmp_path / "two.json", second, indent=1)
    split = evosplit_coco([one, two], tmp_path / "out", RATIOS, **QUICK)
    assert sum(split.sizes) == 40
    label = split.counts.labels.index("person")
    people = [a for made in (first, second) for a in made["annotations"] if a["category_id"] == 10]
    assert split.counts.totals[label] == len(people)
    for key in ("images", "annotations"):
        written = [part for data in files(tmp_path / "out").values() for part in elements(data, key)]
        expected = elements(one.read_bytes(), key) + elements(two.read_bytes(), key)
        assert sorted(written) == sorted(expected)
    assert around(files(tmp_path / "out")["val"]) == around(one.read_bytes())


def test_inputs_that_differ_elsewhere_are_merged_with_a_note(tmp_path):
    """The first file's other keys are written, and the difference is mentioned."""
    first, second = instances(20), instances(20, seed=1, first_id=500)
    second["licenses"] = []
    with pytest.warns(EvoSplitWarning, match="'licenses' of .*two.json differs"):
        read_counts([write(tmp_path / "one.json", first), write(tmp_path / "two.json", second)])


def test_inputs_with_an_empty_list_are_merged(tmp_path):
    """A first file without annotations still has a place for those of the second."""
    first, second = instances(20), instances(20, seed=1, first_id=500)
    first["annotations"] = []
    paths = [write(tmp_path / "one.json", first), write(tmp_path / "two.json", second)]
    evosplit_coco(paths, tmp_path / "out", RATIOS, **QUICK)
    written = [part for data in files(tmp_path / "out").values() for part in elements(data, "annotations")]
    assert sorted(written) == sorted(elements(paths[1].read_bytes(), "annotations"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made["images"][0].update(id=3), r"share 1 image id: 3; renumber"),
        (
            lambda made: made["categories"][1].update(name="boat"),
            r'differ in 1 category: 20 is "bicycle" and "boat"',
        ),
        (lambda made: made["categories"].append({"id": 60, "name": "sun"}), r'60 is missing and "sun"'),
        (
            lambda made: made["annotations"][0].update(id=1000),
            r"two.json annotations\[0\] has id 1000; pass reassign_ids=True",
        ),
    ],
)
def test_inputs_that_conflict_are_refused(tmp_path, change, message):
    """Shared image ids, other categories and repeated annotation ids are refused with the list."""
    second = instances(20, seed=1, first_id=500)
    change(second)
    for annotation in second["annotations"]:
        if annotation["image_id"] == 500:
            annotation["image_id"] = second["images"][0]["id"]
    paths = [write(tmp_path / "one.json", instances(20)), write(tmp_path / "two.json", second)]
    with pytest.raises(EvoSplitError, match=message):
        read_counts(paths)


def test_the_same_file_twice_is_refused(tmp_path):
    """A file given twice, also by another name, is refused at once."""
    path = write(tmp_path / "a.json", instances())
    (tmp_path / "b.json").hardlink_to(path)
    with pytest.raises(EvoSplitError, match="given twice"):
        read_counts([path, tmp_path / "b.json"])


# Mending


def test_reassign_ids_changes_only_repeated_ids(tmp_path):
    """Repeated, null and fractional annotation ids get new ones above the largest; nothing else changes."""
    made = instances()
    n = len(made["annotations"])
    for position, value in ((3, 1000), (5, None), (7, 2.5)):
        made["annotations"][position]["id"] = value
    path = write(tmp_path / "a.json", made)
    with pytest.raises(EvoSplitError, match=r"3 annotations have an id that is taken or no id.*reassign_ids=True"):
        read_counts(path)
    evosplit_coco(path, tmp_path / "out", RATIOS, reassign_ids=True, **QUICK)
    written = [json.loads(part) for data in files(tmp_path / "out").values() for part in elements(data, "annotations")]
    by_place = {json.dumps(item["segmentation"]): item for item in written}
    largest = max(1000 + n - 1, 1000)
    for position, item in enumerate(made["annotations"]):
        now = by_place[json.dumps(item["segmentation"])]
        fresh = {3: largest + 1, 5: largest + 2, 7: largest + 3}
        assert now == {**item, "id": fresh.get(position, item["id"])}
    assert len({item["id"] for item in written}) == n


def test_coerce_ids_makes_both_sides_agree(tmp_path):
    """Ids written as strings or fractions are refused, and with `coerce_ids` read and written as integers."""
    made = instances()
    for position, annotation in enumerate(made["annotations"]):
        annotation["image_id"] = str(annotation["image_id"]) if position % 2 else float(annotation["image_id"])
        annotation["category_id"] = str(annotation["category_id"])
        annotation["id"] = str(annotation["id"])
    made["images"][0]["id"] = "1"
    made["categories"][0]["id"] = 10.0
    path = write(tmp_path / "a.json", made)
    with pytest.raises(EvoSplitError, match="coerce_ids=True"):
        read_counts(path)
    evosplit_coco(path, tmp_path / "out", RATIOS, coerce_ids=True, **QUICK)
    before = instances()
    found = []
    for name in RATIOS:
        after = load(tmp_path / "out" / "annotations" / f"instances_{name}.json")
        assert after.dataset["categories"] == before["categories"]
        found += after.dataset["annotations"]
        assert {a["image_id"] for a in after.dataset["annotations"]} <= set(after.getImgIds())
    assert sorted(found, key=lambda a: a["id"]) == before["annotations"]
    assert b'"categories": [{"id": 10, "name": "person"}' in files(tmp_path / "out")["val"]


@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_coerce_ids_in_panoptic_segments(tmp_path):
    """The categories of segments are coerced too, also in a file with NaN, and nothing else is touched."""
    made = panoptic()
    for annotation in made["annotations"]:
        for segment in annotation["segments_info"]:
            segment["category_id"] = str(segment["category_id"])
            segment["area"] = float("nan")
    path = write(tmp_path / "a.json", made)
    evosplit_coco(path, tmp_path / "out", RATIOS, coerce_ids=True, **QUICK)
    text = json.dumps(made["annotations"])
    for category in range(10, 60, 10):
        text = text.replace(f'"category_id": "{category}"', f'"category_id": {category}')
    expected = elements(b'{"annotations": ' + text.encode() + b"}", "annotations")
    written = [part for data in files(tmp_path / "out", "panoptic").values() for part in elements(data, "annotations")]
    assert sorted(written) == sorted(expected)


def test_drop_orphans_leaves_out_what_belongs_nowhere(tmp_path):
    """Annotations of unknown images or categories are refused, or with `drop_orphans` left out."""
    made = instances()
    for position, change in enumerate(({"image_id": 999}, {"category_id": 7}, {"image_id": None})):
        made["annotations"][position].update(change)
    path = write(tmp_path / "a.json", made)
    with pytest.raises(
        EvoSplitError,
        match=r"2 annotations belong to no image: annotations\[0\] \(id 1000\) has image_id 999",
    ):
        read_counts(path)
    with pytest.warns(EvoSplitWarning, match="3 annotations of unknown images or categories were left out"):
        evosplit_coco(path, tmp_path / "out", RATIOS, drop_orphans=True, **QUICK)
    written = [part for data in files(tmp_path / "out").values() for part in elements(data, "annotations")]
    assert sorted(written) == sorted(elements(path.read_bytes(), "annotations")[3:])


# Replaying and auditing


def test_apply_replays_a_split_byte_for_byte(tmp_path):
    """A saved split gives the same files again, also on a file in another order."""
    made = instances(40)
    path = write(tmp_path / "a.json", made)
    evosplit_coco(path, tmp_path / "out", RATIOS, having_annotations=True, **QUICK)
    apply_split(path, tmp_path / "out" / "split.json", tmp_path / "again")
    assert files(tmp_path / "again") == files(tmp_path / "out")
    made["images"].reverse()
    apply_split(write(tmp_path / "b.json", made), tmp_path / "out" / "split.json", tmp_path / "turned")
    for name, data in files(tmp_path / "turned").items():
        assert sorted(elements(data, "images")) == sorted(elements(files(tmp_path / "out")[name], "images"))


def test_apply_gives_captions_the_subsets_of_the_instances(tmp_path):
    """Captions follow a split of the instances into the same directory, and get no categories."""
    split = evosplit_coco(write(tmp_path / "a.json", instances()), tmp_path / "out", RATIOS, **QUICK)
    before = tree(tmp_path / "out")
    del before[RECORD]
    written = apply_split(write(tmp_path / "c.json", captions()), tmp_path / "out" / "split.json", tmp_path / "out")
    assert [path.name for path in written] == [f"captions_{name}.json" for name in RATIOS]
    for path, name in zip(written, RATIOS, strict=True):
        data = json.loads(path.read_bytes())
        assert [image["id"] for image in data["images"]] == split.ids(name).tolist()
        assert {a["image_id"] for a in data["annotations"]} == set(split.ids(name).tolist())
        assert "categories" not in data
        assert len(load(path).anns) == 2 * len(data["images"])
    assert before.items() <= tree(tmp_path / "out").items()


def test_apply_refuses_other_images(tmp_path):
    """A manifest of other images is refused, with what differs, and nothing is written."""
    evosplit_coco(write(tmp_path / "a.json", instances(20)), tmp_path / "out", RATIOS, **QUICK)
    other = write(tmp_path / "b.json", instances(25))
    with pytest.raises(EvoSplitError, match="5 ids are not in the split"):
        apply_split(other, tmp_path / "out" / "split.json", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_manifest_says_how_the_split_was_made(tmp_path):
    """The manifest has the settings, ratios, measures, ids and what was read, and loads as a split."""
    path = write(tmp_path / "a.json", instances(40))
    split = evosplit_coco(path, tmp_path / "out", RATIOS, seed=5, **QUICK)
    manifest = json.loads((tmp_path / "out" / "split.json").read_text())
    assert manifest["settings"]["ratios"] == RATIOS
    assert manifest["settings"]["seed"] == 5
    assert manifest["settings"]["method"] == "random"
    assert manifest["measures"]["ld"] == split.measures.ld
    assert manifest["source"]["inputs"] == ["a.json"]
    assert manifest["source"]["reading"]["count_crowd"] is True
    assert manifest["file_names"] == [image["file_name"] for image in instances(40)["images"]]
    loaded = Split.load(tmp_path / "out" / "split.json")
    assert loaded.assignment.tolist() == split.assignment.tolist()


def test_audit_measures_subsets_as_they_are(tmp_path):
    """An audit gives the measures of the very split that was written, whoever wrote it."""
    path = write(tmp_path / "a.json", instances(60))
    split = evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    written = {name: tmp_path / "out" / "annotations" / f"instances_{name}.json" for name in RATIOS}
    found = audit(list(written.values()))
    assert found.names == tuple(RATIOS)
    assert found.sizes == split.sizes
    assert found.measures.ld == pytest.approx(split.measures.ld)
    assert found.measures == measure(found.counts, found.assignment)
    assert audit({"a": written["val"], "b": written["test"]}).names == ("a", "b")


def test_audit_tells_shared_images_from_shared_numbers(tmp_path):
    """Files that number their images alike are fine; files that hold the same image are reported."""
    one, two = instances(20), instances(20, seed=1)
    for image in two["images"]:
        image["file_name"] = "b" + image["file_name"]
    paths = [write(tmp_path / name / "_annotations.coco.json", made) for name, made in (("train", one), ("valid", two))]
    assert audit(paths).names == ("train", "valid")
    assert audit(paths).notes == ()
    two["images"][4]["file_name"] = one["images"][0]["file_name"]
    write(paths[1], two)
    assert audit(paths).notes == ("train and valid share 1 images: 000001.jpg.",)


def test_audit_needs_two_files(tmp_path):
    """One file is no split."""
    with pytest.raises(EvoSplitError, match="two annotation files or more"):
        audit([write(tmp_path / "a.json", instances())])


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratios": None}, "give ratios"),
        ({"folds": 5}, "give ratios"),
        ({"ratios": None, "folds": 1}, "1 folds make no split; give an integer of at least 2"),
        ({"ratios": None, "folds": 2.5}, "2.5 folds make no split; give an integer of at least 2"),
        ({"ratios": 0.8}, "ratios=0.8 name no subsets"),
        ({"ratios": {"train": 0.8, "val": 0.3}}, "sum to 1.1"),
        ({"ratios": {"a/b": 0.5, "c": 0.5}}, "subset name 'a/b'"),
        ({"ratios": {1: 0.5, "c": 0.5}}, "subset name 1 "),
        ({"ratios": {"..": 0.5, "c": 0.5}}, r"subset name '\.\.'"),
        ({"ratios": {"Train": 0.5, "train": 0.5}}, "two subsets would be written to"),
        (
            {"ratios": {"val": 0.5, "valid": 0.5}, "layout": "roboflow"},
            "two subsets would be written to valid",
        ),
        ({"layout": "yolo"}, "layout='yolo' is unknown; choose one of coco, roboflow, lists"),
        ({"images": "move"}, "images='move' is unknown; choose one of"),
        ({"images": "copy"}, "given are images='copy' and no image_root="),
        ({"image_root": "."}, "given are images='none' and an image_root="),
        ({"train_files": True}, "complements of folds"),
        ({"method": "magic"}, "unknown method 'magic'"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, options, message):
    """Each bad option is named, with what to pass instead, and nothing is written."""
    path = write(tmp_path / "a.json", instances())
    with pytest.raises(EvoSplitError, match=message):
        evosplit_coco(path, tmp_path / "out", **{"ratios": RATIOS, **QUICK, **options})
    assert not (tmp_path / "out").exists()


def test_progress_goes_from_nothing_to_all_three_times(tmp_path):
    """Reading, searching and writing each report from 0 to 1."""
    seen: list[tuple[float, str]] = []
    path = write(tmp_path / "a.json", instances(40))
    evosplit_coco(
        path,
        tmp_path / "out",
        RATIOS,
        effort="fast",
        on_progress=lambda done, message: seen.append((done, message)),
    )
    assert all(0 <= done <= 1 for done, _ in seen)
    assert seen[0] == (0.0, "Reading a.json")
    assert seen[-1] == (1.0, "Written")
    starts = [message for (before, _), (after, message) in pairwise(seen) if after < before]
    assert len(starts) == 2


def test_many_categories_give_an_answer(tmp_path):
    """A hundred thousand categories, most of them never used, are read, split and written."""
    made = instances()
    made["categories"] += [{"id": 1000 + number, "name": f"class {number}"} for number in range(100_000)]
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, effort="fast")
    assert split.counts.n_labels == 100_005
    assert split.counts.totals.sum() == len(made["annotations"])
    assert split.sizes == (18, 6, 6)
