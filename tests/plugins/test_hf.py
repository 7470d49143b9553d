"""The Hugging Face door, on the real `datasets` library with small data made on the spot."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from datasets import (
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    Image,
    IterableDataset,
    IterableDatasetDict,
    Sequence,
    Value,
    concatenate_datasets,
)
from datasets.distributed import split_dataset_by_node
from datasets.search import BaseIndex
from hypothesis import given, settings
from hypothesis import strategies as st

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins import evosplit_hf
from evosplit_plugins.hf import apply_split, read_counts

NAMES = ["ant", "bee", "cow"]
KINDS = ClassLabel(names=NAMES)
NO_IMAGE = {"bytes": b"no image: decoding this raises", "path": None}


def dataset(column, values, feature=None):
    """Make a data set whose images cannot be decoded, beside one column of labels."""
    columns = {"image": [NO_IMAGE] * len(values), column: values}
    if feature is None:
        return Dataset.from_dict(columns).cast_column("image", Image())
    return Dataset.from_dict(columns, features=Features({"image": Image(), column: feature}))


def as_lists(counts):
    """Turn counts back into one sorted list of label names per row."""
    return [
        sorted(label for label, n in zip(counts.labels, row, strict=True) for _ in range(n))
        for row in counts.matrix.toarray().tolist()
    ]


def named(values):
    """Name the class numbers of one row as `NAMES` does."""
    return [NAMES[value] for value in values or [] if value is not None and value >= 0]


OBJECTS = [[0, 0, 2], [], [1], None, [2, 1, 1, 0], [0]]
WORDS = [["b", "a", "a"], None, [], ["c", None], ["b"], ["a"]]
STRUCTS = [
    [{"category": 0, "boxes": [[1.0, 2.0]]}, None, {"category": None, "boxes": None}],
    [],
    None,
    [{"category": 2, "boxes": []}, {"category": 2, "boxes": []}],
    [{"category": 1, "boxes": []}],
    [{"category": 0, "boxes": []}],
]
STRUCT_FEATURE = [{"category": KINDS, "boxes": Sequence(Sequence(Value("float32")))}]
HOT = [[1, 0, 1], [0, 0, 0], None, [0, 1, 0], [1, None, 0], [1, 1, 1]]

# name: (data set, keywords of read_counts, the labels that a plain loop over the rows finds)
SCHEMAS = {
    "list of ClassLabel": (dataset("labels", OBJECTS, Sequence(KINDS)), {}, [named(row) for row in OBJECTS]),
    "fixed list of ClassLabel": (
        dataset("labels", [[0, 1], None, [2, 2], [1, 0]], Sequence(KINDS, length=2)),
        {},
        [["ant", "bee"], [], ["cow", "cow"], ["bee", "ant"]],
    ),
    "large list of ClassLabel": (
        Dataset(
            pa.table(
                {
                    "image": pa.array([NO_IMAGE] * 6, pa.struct({"bytes": pa.binary(), "path": pa.string()})),
                    "labels": pa.array(OBJECTS, pa.large_list(pa.int64())),
                }
            )
        ),
        {"multi_hot": False},
        [[str(value) for value in row or []] for row in OBJECTS],
    ),
    "list of integers": (
        dataset("labels", [[10, 9, 9], [], None, [-4]]),
        {},
        [["10", "9", "9"], [], [], ["-4"]],
    ),
    "list of strings": (
        dataset("labels", WORDS),
        {},
        [[word for word in row or [] if word is not None] for row in WORDS],
    ),
    "struct of lists": (
        dataset(
            "objects",
            [None if row is None else {"category": row, "area": [1.0] * len(row)} for row in OBJECTS],
            Sequence({"category": KINDS, "area": Value("float32")}),
        ),
        {},
        [named(row) for row in OBJECTS],
    ),
    "list of structs": (
        dataset("objects", STRUCTS, STRUCT_FEATURE),
        {},
        [named([thing["category"] for thing in row or [] if thing is not None]) for row in STRUCTS],
    ),
    "lists of lists": (
        dataset("labels", [[[0, 0], [], None, [2]], None, [], [[1]]], Sequence(Sequence(KINDS))),
        {},
        [["ant", "ant", "cow"], [], [], ["bee"]],
    ),
    "nested path": (
        dataset("meta", [{"scene": {"tags": ["x", "y"]}}, {"scene": None}, None, {"scene": {"tags": None}}]),
        {"label_column": "meta.scene.tags"},
        [["x", "y"], [], [], []],
    ),
    "flattened column": (
        dataset("objects", [{"category": ["x", "y"]}, {"category": []}]).flatten(),
        {"label_column": "objects.category"},
        [["x", "y"], []],
    ),
    "single ClassLabel": (dataset("label", [0, -1, 2, None], KINDS), {}, [["ant"], [], ["cow"], []]),
    "single string": (dataset("label", ["x", None, "y", "x"]), {}, [["x"], [], ["y"], ["x"]]),
    "single integer": (dataset("label", [3, 0, None, 3]), {}, [["3"], ["0"], [], ["3"]]),
    "multi-hot integers": (
        dataset("labels", HOT),
        {"multi_hot": True},
        [[str(j) for j, on in enumerate(row or []) if on] for row in HOT],
    ),
    "multi-hot floats": (
        dataset(
            "labels",
            [None if row is None else [0.0 if on is None else float(on) for on in row] for row in HOT],
        ),
        {"multi_hot": True},
        [[str(j) for j, on in enumerate(row or []) if on] for row in HOT],
    ),
    "multi-hot booleans": (
        dataset("labels", [[True, False], [True, True], [False, False]]),
        {"multi_hot": True},
        [["0"], ["0", "1"], []],
    ),
    "multi-hot scores": (
        dataset("labels", [[0.9, 0.5, float("nan")], [0.1, 0.49, 0.7]]),
        {"multi_hot": True, "threshold": 0.5},
        [["0", "1"], ["2"]],
    ),
    "a column of booleans": (dataset("wet", [True, None, False]), {"label_column": "wet"}, [["wet"], [], []]),
    "delimited strings": (
        dataset("labels", ["a,b, a", "", None, " c ,,"]),
        {"delimiter": ","},
        [["a", "a", "b"], [], [], ["c"]],
    ),
    "column of nulls": (dataset("labels", [None, None]), {"label_column": "labels"}, [[], []]),
}


@pytest.fixture(params=SCHEMAS.values(), ids=SCHEMAS.keys())
def schema(request):
    """One data set with its keywords and the labels of each row."""
    ds, keywords, rows = request.param
    return ds, keywords, [sorted(row) for row in rows]


def test_images_of_these_tests_cannot_be_decoded():
    """The trap works: a test that decoded an image would fail."""
    with pytest.raises(Exception, match="cannot identify image"):
        dataset("labels", WORDS)[0]


def test_every_schema_counts_like_a_loop(schema):
    """Each schema gives the labels that a plain loop over the rows finds."""
    ds, keywords, rows = schema
    assert as_lists(read_counts(ds, **keywords)) == rows


def test_class_names_are_kept_also_where_a_class_never_occurs():
    """All names of a ClassLabel are labels, in their order."""
    counts = read_counts(dataset("labels", [[2], [2]], Sequence(KINDS)))
    assert counts.labels == tuple(NAMES)
    assert counts.totals.tolist() == [0, 0, 2]


def test_labels_are_in_order():
    """Class numbers stand in the order of numbers, not of their text; strings in that of the alphabet."""
    assert read_counts(dataset("labels", [[10, 9], [2]])).labels == ("2", "9", "10")
    assert read_counts(dataset("labels", [[10**9, 9], [2]])).labels == ("2", "9", "1000000000")
    assert read_counts(dataset("labels", [["c", "a"], ["b"]])).labels == ("a", "b", "c")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int8", [-128, 127, 0]),
        ("uint8", [0, 255]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("uint64", [2**64 - 1, 2**64 - 2]),
    ],
)
def test_integers_of_every_width(kind, values):
    """The largest and smallest numbers of a type are labels like others."""
    ds = Dataset(pa.table({"label": pa.array(values, kind)}))
    assert as_lists(read_counts(ds)) == [[str(value)] for value in values]


VIEWS = {
    "select": lambda ds: (ds.select([2, 0, 2, 1]), [2, 0, 2, 1]),
    "slice": lambda ds: (ds.select(range(1, len(ds))), list(range(1, len(ds)))),
    "slice of a shuffle": lambda ds: (
        ds.select([1, 0, *range(2, len(ds))]).select(range(1, len(ds))),
        [0, *range(2, len(ds))],
    ),
    "shuffle": lambda ds: (
        ds.shuffle(seed=3),
        ds.add_column("row", range(len(ds))).remove_columns("image").shuffle(seed=3)["row"],
    ),
    "filter": lambda ds: (
        ds.filter(lambda _, row: row != 1, with_indices=True, input_columns=[ds.column_names[1]]),
        [row for row in range(len(ds)) if row != 1],
    ),
    "concatenate": lambda ds: (concatenate_datasets([ds, ds]), [*range(len(ds))] * 2),
    "concatenate with a mapping": lambda ds: (
        concatenate_datasets([ds.select([1, 0]), ds]),
        [1, 0, *range(len(ds))],
    ),
    "numpy format": lambda ds: (ds.with_format("numpy"), range(len(ds))),
    "format without the labels": lambda ds: (ds.with_format("numpy", columns=["image"]), range(len(ds))),
    "transform": lambda ds: (ds.with_transform(lambda batch: 1 / 0), range(len(ds))),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_views_count_the_rows_that_they_show(schema, view):
    """Selected, shuffled, filtered, sliced, joined or formatted: each row has its own labels."""
    ds, keywords, rows = schema
    if len(ds) < 3 and "select" in view.__code__.co_names:
        ds = concatenate_datasets([ds, ds])
        rows = rows * 2
    seen, positions = view(ds)
    assert as_lists(read_counts(seen, **keywords)) == [rows[position] for position in positions]


def test_what_a_filter_removed_is_neither_counted_nor_judged():
    """Values of hidden rows give no labels and no errors."""
    words = dataset("labels", [["x"], ["gone"], ["y"]]).select([2, 0])
    assert read_counts(words).labels == ("x", "y")
    hot = dataset("labels", [[1.0, 0.0], [0.3], [0.0, 1.0]]).select([2, 0])
    assert as_lists(read_counts(hot, multi_hot=True)) == [["1"], ["0"]]
    table = pa.table({"label": [0, 7, 1]})
    wrong = Dataset(table).select([2, 0])
    wrong.info.features["label"] = KINDS
    assert as_lists(read_counts(wrong)) == [["bee"], ["ant"]]


def test_several_columns_get_their_names_as_prefix():
    """Labels of different columns stay apart; a column of booleans or of 0 and 1 is one label."""
    ds = Dataset.from_dict(
        {"scene": ["x", "y", None], "tags": [["x"], [], ["x", "z"]], "wet": [0, 1, 1], "lit": [True] * 3}
    )
    counts = read_counts(ds, ["scene", "tags", "wet", "lit"])
    assert counts.labels == ("scene:x", "scene:y", "tags:x", "tags:z", "wet", "lit")
    assert as_lists(counts) == [
        ["lit", "scene:x", "tags:x"],
        ["lit", "scene:y", "wet"],
        ["lit", "tags:x", "tags:z", "wet"],
    ]


def test_one_column_per_label_with_scores():
    """Scores count from the threshold on; NaN and null are no label."""
    ds = Dataset.from_dict({"cat": [0.9, 0.2, None], "dog": [0.5, float("nan"), 1.0], "n": [0, 1, 2]})
    assert as_lists(read_counts(ds, ["cat", "dog"], threshold=0.5)) == [["cat", "dog"], [], ["dog"]]
    assert as_lists(read_counts(ds, ["cat", "n"], threshold=1)) == [[], ["n"], ["n"]]
    assert as_lists(read_counts(ds, ["cat", "dog"], threshold=-1)) == [["cat", "dog"], ["cat"], ["dog"]]


def test_class_numbers_of_several_columns():
    """Integers beyond 0 and 1 are class numbers of their column."""
    ds = Dataset.from_dict({"fine": [5, 6], "coarse": [2, 2]})
    assert read_counts(ds, ["fine", "coarse"]).labels == ("fine:5", "fine:6", "coarse:2")


@st.composite
def nested(draw):
    """Draw a shape of lists and structs around labels, and a column of such values."""
    shape = draw(st.lists(st.sampled_from(["list", "struct"]), max_size=5))
    label = st.none() | st.sampled_from(["x", "y", "z"])
    value, feature = label, Value("string")
    for kind in reversed(shape):
        if kind == "list":
            value, feature = st.none() | st.lists(value, max_size=3), [feature]
        else:
            value = st.none() | st.fixed_dictionaries({"it": value, "other": st.integers(0, 3)})
            feature = {"it": feature, "other": Value("int64")}
    column = draw(st.lists(value, min_size=1, max_size=8))
    return Dataset.from_dict({"c": column}, features=Features({"c": feature})), shape, column


def naive_labels(value):
    """Walk one Python value and list the labels in it."""
    if value is None:
        return []
    if isinstance(value, dict):
        return naive_labels(value["it"])
    if isinstance(value, list):
        return [label for inner in value for label in naive_labels(inner)]
    return [value]


@settings(max_examples=60, deadline=None)
@given(nested(), st.randoms(use_true_random=False))
def test_any_nesting_counts_like_a_recursive_loop(drawn, random):
    """Lists and structs in any order, with nulls at every level, also sliced and shuffled."""
    ds, shape, column = drawn
    path = ".".join(["c", *["it"] * shape.count("struct")])
    rows = [random.randrange(len(column)) for _ in range(5)]
    start = random.randrange(len(column))
    for seen, expected in (
        (ds, column),
        (ds.select(rows), [column[row] for row in rows]),
        (ds.select(range(start, len(column))), column[start:]),
    ):
        assert as_lists(read_counts(seen, path)) == [sorted(naive_labels(value)) for value in expected]


FOUND = {
    "objects.category": Features(
        {"id": Value("int64"), "objects": Sequence({"category": KINDS, "id": Value("int64")})}
    ),
    "objects.label": Features({"objects": [{"label": Value("int64"), "bbox": Sequence(Value("float32"))}]}),
    "emotions": Features({"text": Value("string"), "emotions": Sequence(KINDS)}),
    "labels": Features({"text": Value("string"), "labels": Sequence(Value("string"))}),
    "label": Features({"image": Image(), "label": KINDS, "name": Value("string")}),
    "species": Features({"image": Image(), "species": KINDS}),
}


@pytest.mark.parametrize(("path", "features"), FOUND.items(), ids=FOUND.keys())
def test_the_label_column_is_found_and_named_in_the_report(path, features):
    """Without label_column the usual columns are found, and the report tells which one."""
    values = {"emotions": [0], "labels": ["x"], "label": 0, "species": 1}
    if "id" in features:
        values["objects"] = {"category": [0], "id": [1]}
    else:
        values["objects"] = [{"label": 0, "bbox": [0.0]}]
    ds = Dataset.from_list([{name: values.get(name) for name in features}] * 4, features=features)
    _, split = evosplit_hf(ds, (0.5, 0.5), method="random", return_split=True)
    assert split.settings["label_column"] == path
    assert f"column {path} (" in str(split.report())
    assert split.report().to_dict()["settings"]["label_column"] == path


def test_an_ambiguous_data_set_lists_the_candidates_and_the_call():
    """Two columns that could hold labels are never guessed between."""
    features = Features({"objects": Sequence({"category": KINDS}), "label": KINDS, "fine": KINDS})
    ds = Dataset.from_list([{"objects": {"category": [0]}, "label": 1, "fine": 2}], features=features)
    with pytest.raises(
        EvoSplitError, match=r"2 columns.*objects\.category.*label \(ClassLabel\).*label_column='objects"
    ):
        read_counts(ds)


def test_the_result_keeps_order_features_format_and_info():
    """Subsets in the order asked for, rows in source order, everything else as it was."""
    ds = dataset("labels", [[i % 3, i % 2] for i in range(40)], Sequence(KINDS)).add_column("row", range(40))
    ds.info.description = "forty"
    ds = ds.with_format("numpy", columns=["row"])
    splits = evosplit_hf(ds, {"test": 0.25, "train": 0.5, "dev.small": 0.25}, method="random")
    assert type(splits) is DatasetDict
    assert list(splits) == ["test", "train", "dev.small"]
    assert [len(part) for part in splits.values()] == [10, 20, 10]
    for part in splits.values():
        assert part.features == ds.features
        assert part.format == ds.format
        assert part.info.description == "forty"
        rows = part["row"][:].tolist()
        assert rows == sorted(rows)
    assert sorted(row for part in splits.values() for row in part["row"][:].tolist()) == list(range(40))


def test_labels_are_balanced_at_exact_sizes():
    """The default method gives each subset its share of each label."""
    rng = np.random.default_rng(0)
    lists = [rng.choice(5, size=rng.integers(0, 4), p=[0.4, 0.3, 0.2, 0.07, 0.03]).tolist() for _ in range(400)]
    ds = Dataset.from_dict({"labels": lists}, features=Features({"labels": Sequence(ClassLabel(num_classes=5))}))
    splits, split = evosplit_hf(ds, (0.8, 0.1, 0.1), effort="fast", return_split=True)
    assert [len(part) for part in splits.values()] == [320, 40, 40]
    assert list(splits) == ["train", "validation", "test"]
    random = split.report().random
    assert split.measures.ld <= random["ld"] / 3
    assert np.array_equal(read_counts(splits["test"]).totals, read_counts(ds).matrix[split.indices("test")].sum(axis=0))


def test_integers_are_exact_sizes_and_two_ratios_are_train_and_test():
    """Sizes are taken as they are."""
    ds = dataset("labels", WORDS)
    splits = evosplit_hf(ds, (5, 1), method="random")
    assert {name: len(part) for name, part in splits.items()} == {"train": 5, "test": 1}


def test_folds_give_a_train_and_test_pair_each():
    """Each row is tested once, and trained on in all other folds."""
    ds = Dataset.from_dict({"labels": [[i % 3] for i in range(20)], "row": range(20)})
    folds, split = evosplit_hf(ds, folds=3, label_column="labels", method="random", return_split=True)
    assert [list(fold) for fold in folds] == [["train", "test"]] * 3
    assert sorted(row for fold in folds for row in fold["test"]["row"]) == list(range(20))
    for fold in folds:
        assert sorted([*fold["train"]["row"], *fold["test"]["row"]]) == list(range(20))
    assert [len(fold["test"]) for fold in folds] == list(split.sizes)


def test_a_dataset_dict_is_merged_and_split_anew():
    """All rows of all splits come back, under the new names."""
    parts = DatasetDict(
        {
            "train": dataset("labels", [[0], [1], [2], [0]], Sequence(KINDS)).shuffle(seed=0),
            "test": dataset("labels", [[2, 2], [1]], Sequence(KINDS)),
        }
    )
    counts = read_counts(parts)
    assert as_lists(counts) == as_lists(read_counts(parts["train"])) + as_lists(read_counts(parts["test"]))
    splits = evosplit_hf(parts, {"a": 3, "b": 3}, method="random")
    assert sum(read_counts(part).totals for part in splits.values()).tolist() == counts.totals.tolist()
    assert splits["a"].features == parts["train"].features


def test_splits_whose_labels_are_all_null_can_be_merged():
    """An unlabelled test split, as the hub has them, takes part without labels."""
    parts = DatasetDict(
        {"train": Dataset.from_dict({"label": ["x", "y"]}), "test": Dataset.from_dict({"label": [None]})}
    )
    assert as_lists(read_counts(parts)) == [["x"], ["y"], []]


def test_nothing_is_written_to_the_cache(tmp_path):
    """Splitting a data set on disk adds no file beside it."""
    dataset("labels", [[i % 3] for i in range(30)], Sequence(KINDS)).save_to_disk(str(tmp_path / "ds"))
    before = sorted(tmp_path.rglob("*"))
    ds = Dataset.load_from_disk(str(tmp_path / "ds"))
    evosplit_hf(ds, (0.8, 0.2), method="random")
    evosplit_hf(ds, folds=3, method="random", keep_in_memory=True)
    assert sorted(tmp_path.rglob("*")) == before


CACHED = """
import sys
from datasets import load_from_disk
from evosplit_plugins import evosplit_hf

def slow(batch):
    with open(sys.argv[1] + "/ran", "a") as log:
        log.write(str(len(batch["labels"])) + " ")
    return {"n": [len(labels) for labels in batch["labels"]]}

for kind in ("dataset", "dict"):
    ds = load_from_disk(sys.argv[1] + "/" + kind)
    splits = evosplit_hf(ds, (0.8, 0.2), effort="fast", seed=int(sys.argv[2]))
    print([part.map(slow, batched=True)._fingerprint for part in splits.values()])
"""


def test_a_new_process_with_the_same_seed_hits_the_cache_of_map(tmp_path):
    """Same seed, same fingerprints in every process, of a Dataset as of a DatasetDict; another seed, others."""
    ds = Dataset.from_dict({"labels": [[i % 3, i % 2] for i in range(60)]}, features=Features({"labels": [KINDS]}))
    ds.save_to_disk(str(tmp_path / "dataset"))
    DatasetDict({"train": ds.shuffle(seed=1), "test": ds}).save_to_disk(str(tmp_path / "dict"))
    script = tmp_path / "script.py"
    script.write_text(CACHED)

    def run(seed, hash_seed):
        command = [sys.executable, str(script), str(tmp_path), str(seed)]
        path = ":".join(entry for entry in sys.path if entry)
        environment = {
            "PYTHONPATH": path,
            "PYTHONHASHSEED": hash_seed,
            "HOME": str(tmp_path),
            "PATH": "/usr/bin",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    first = run(0, "1")
    ran = (tmp_path / "ran").read_text()
    assert len(first) == len(ran.split()) / 2 == 2
    assert run(0, "2") == first
    assert (tmp_path / "ran").read_text() == ran
    for now, before in zip(run(1, "1"), first, strict=True):
        assert now != before
    assert len((tmp_path / "ran").read_text().split()) == 2 * len(ran.split())


def stream(n=30, **keywords):
    """Make a stream of several shards, with images that cannot be decoded unless asked not to."""
    ds = Dataset.from_dict(
        {"id": range(100, 100 + n), "labels": [[i % 3] * (i % 4) for i in range(n)], "image": [NO_IMAGE] * n}
    )
    return (
        ds.cast_column("image", Image(decode=False))
        .cast_column("labels", Sequence(KINDS))
        .to_iterable_dataset(**keywords)
    )


def test_a_stream_is_divided_by_key_whatever_its_order():
    """Sharded, shuffled or not: every row once, each key always in the same subset."""
    splits = evosplit_hf(stream(num_shards=4), {"train": 0.8, "test": 0.2}, key="id", effort="fast")
    assert type(splits) is IterableDatasetDict
    test = {row["id"] for row in splits["test"]}
    train = {row["id"] for row in splits["train"]}
    assert (len(train), len(test), len(train | test)) == (24, 6, 30)
    shuffled = evosplit_hf(stream(num_shards=4).shuffle(seed=5, buffer_size=7), (0.8, 0.2), key="id", effort="fast")
    assert {row["id"] for row in shuffled["test"]} == test
    reshuffled = splits["test"].shuffle(seed=1, buffer_size=3)
    assert {row["id"] for row in reshuffled} == test
    nodes = [split_dataset_by_node(splits["test"], rank=rank, world_size=2) for rank in range(2)]
    assert sorted(row["id"] for node in nodes for row in node) == sorted(test)
    assert {row["id"] for row in pickle.loads(pickle.dumps(splits["test"]))} == test


def test_a_stream_counts_without_decoding_and_keeps_labels_with_their_key():
    """Counting reads the label and key columns only."""
    undecodable = stream().cast_column("image", Image())
    counts = read_counts(undecodable, key="id")
    assert counts.ids.tolist() == list(range(100, 130))
    assert as_lists(counts) == [[NAMES[i % 3]] * (i % 4) for i in range(30)]


@pytest.mark.parametrize("form", [None, "numpy", "arrow"])
def test_a_stream_in_any_format(form):
    """A formatted stream is divided as a plain one."""
    try:
        stream().with_format(form).filter(bool)
    except ValueError as error:
        pytest.skip(f"these datasets filter no such stream: {error}")
    splits = evosplit_hf(stream().with_format(form), (0.8, 0.2), key="id", method="random")
    plain = evosplit_hf(stream(), (0.8, 0.2), key="id", method="random")
    ids = [int(np.asarray(row["id"]).reshape(-1)[0]) for row in splits["test"]]
    assert ids == [row["id"] for row in plain["test"]]


def test_a_stream_without_features_and_with_text_keys():
    """A plain generator works, whatever else it yields, also when its first rows show no label."""

    def rows():
        for i in range(2500):
            yield {"name": f"{i}.jpg", "labels": [] if i < 1500 else ["x"] * (i % 3), "image": object()}

    ds = IterableDataset.from_generator(rows)
    counts = read_counts(ds, "labels", key="name")
    assert dict(zip(counts.ids.tolist(), as_lists(counts), strict=True)) == {
        row["name"]: row["labels"] for row in rows()
    }
    splits = evosplit_hf(ds, (2000, 500), label_column="labels", key="name", method="random")
    assert sum(1 for _ in splits["test"]) == 500


def test_folds_of_a_stream_and_a_dict_of_streams():
    """Folds and merging work on streams as on data sets."""
    folds = evosplit_hf(stream(), folds=3, key="id", method="random")
    assert sorted(row["id"] for fold in folds for row in fold["test"]) == list(range(100, 130))
    both = IterableDatasetDict({"a": stream().take(10), "b": stream().skip(10)})
    assert read_counts(both, key="id").n_samples == 30


def test_a_manifest_of_another_door_is_replayed_by_key(tmp_path):
    """A saved split of image ids divides a data set in any order, merged or streamed."""
    lists = [["x"], ["y", "y"], ["x", "y"], [], ["x"], ["y"]]
    ids = [40, 10, 30, 20, 50, 60]
    split = evosplit.split(LabelCounts.from_lists(lists, ids=ids), {"train": 4, "val": 2}, method="random")
    split.save(tmp_path / "split.json")
    again = Split.load(tmp_path / "split.json")
    ds = Dataset.from_dict({"image_id": sorted(ids)})
    val = set(split.ids("val").tolist())
    for source in (
        ds,
        ds.shuffle(seed=1),
        DatasetDict({"a": ds.select([0, 1]), "b": ds.select(range(2, 6))}),
        ds.to_iterable_dataset(),
    ):
        splits = apply_split(source, again, key="image_id")
        assert list(splits) == ["train", "val"]
        assert {row["image_id"] for row in splits["val"]} == val
        assert {row["image_id"] for row in splits["train"]} == set(ids) - val


def test_the_manifest_of_the_coco_door_divides_the_same_pictures(tmp_path):
    """A split that was made of a COCO file is replayed on the data set of its images."""
    pytest.importorskip("msgspec")
    from evosplit_plugins import evosplit_coco

    ids = [5, 3, 9, 1, 7, 8]
    coco = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 8, "height": 8} for i in ids],
        "annotations": [
            {"id": n, "image_id": i, "category_id": 1 + n % 2, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0}
            for n, i in enumerate(ids)
        ],
        "categories": [{"id": 1, "name": "ant"}, {"id": 2, "name": "bee"}],
    }
    (tmp_path / "instances.json").write_text(json.dumps(coco))
    split = evosplit_coco(
        tmp_path / "instances.json", tmp_path / "out", {"train": 4, "val": 2}, method="random", seed=3
    )
    ds = Dataset.from_dict({"image_id": sorted(ids)})
    splits = apply_split(ds, Split.load(tmp_path / "out" / "split.json"), key="image_id")
    assert {name: splits[name]["image_id"][:] for name in splits} == {
        name: sorted(split.ids(name).tolist()) for name in ("train", "val")
    }


def test_a_manifest_of_row_numbers_is_replayed_without_key(tmp_path):
    """What evosplit_hf saves, apply_split repeats, with the same fingerprints."""
    ds = dataset("labels", WORDS * 5)
    splits, split = evosplit_hf(ds, (0.8, 0.2), method="random", return_split=True)
    split.save(tmp_path / "split.json")
    again = apply_split(ds, Split.load(tmp_path / "split.json"))
    assert {name: part._fingerprint for name, part in again.items()} == {
        name: part._fingerprint for name, part in splits.items()
    }
    folds, split = evosplit_hf(ds, folds=3, method="random", return_split=True)
    assert [fold["test"]._fingerprint for fold in apply_split(ds, split, folds=True)] == [
        fold["test"]._fingerprint for fold in folds
    ]


def _with_index():
    ds = Dataset.from_dict({"labels": [["x"], ["y"]], "vector": [[0.0], [1.0]]})
    ds._indexes["vector"] = BaseIndex()  # what add_faiss_index stores, without faiss
    return ds


LABELLED = Dataset.from_dict({"labels": [["x"], ["y"], []], "score": [0.1, 0.2, 0.3], "id": [1, 1, None]})
HALVES = (0.5, 0.5)

BAD_INPUT = {
    "no label column": (
        lambda: evosplit_hf(Dataset.from_dict({"text": ["a"]}), HALVES),
        r"no column looks like labels among text \(string\); name it with label_column=",
    ),
    "floats called labels": (
        lambda: evosplit_hf(Dataset.from_dict({"labels": [[1.0, 0.0]]}), HALVES),
        "if 'labels' is multi-hot, pass multi_hot=True",
    ),
    "unknown path": (
        lambda: evosplit_hf(LABELLED, HALVES, label_column="labelz"),
        r"no column 'labelz' \(did you mean 'labels'\?\); it has: labels \(list of string\), score",
    ),
    "unknown field": (
        lambda: read_counts(Dataset.from_dict({"o": [{"category": [1]}]}), "o.label"),
        r"no column 'o\.label'.*o\.category \(list of int64\)",
    ),
    "a struct": (
        lambda: read_counts(Dataset.from_dict({"o": [{"category": [1], "area": [1.0]}]}), "o"),
        r"'o' has several fields; name the one(?=.*o\.category \(list of int64\)).*o\.area",  # in Arrow's order
    ),
    "an image": (
        lambda: read_counts(dataset("labels", WORDS), "image"),
        r"image \(Image\) holds no labels; labels are integers, strings or ClassLabel",
    ),
    "floats": (
        lambda: read_counts(LABELLED, "score"),
        r"score \(double\) holds no labels; scores need threshold=",
    ),
    "lists of floats": (
        lambda: read_counts(Dataset.from_dict({"v": [[0.5]]}), "v"),
        r"v \(list of double\) holds no labels; .*multi_hot=True",
    ),
    "lists of 0 and 1": (
        lambda: read_counts(Dataset.from_dict({"labels": [[0, 1, 1], [1, 0, 0]]})),
        r"labels \(list of int64\) holds only 0 and 1, in lists .* of length 3: pass multi_hot=True",
    ),
    "multi-hot of different lengths": (
        lambda: read_counts(Dataset.from_dict({"labels": [None, [0, 1], [1, 0, 0]]}), multi_hot=True),
        "not multi-hot: row 1 has 2 entries, row 2 has 3",
    ),
    "multi-hot with other values": (
        lambda: read_counts(Dataset.from_dict({"labels": [[0, 1], [1, 2]]}).select([1, 0]), multi_hot=True),
        r"something other than 0 and 1 in row 0; pass threshold=",
    ),
    "multi-hot strings": (
        lambda: read_counts(LABELLED, "labels", multi_hot=True),
        r"multi_hot=True needs a column of lists of 0 and 1, not labels \(list of string\)",
    ),
    "threshold for strings": (
        lambda: read_counts(LABELLED, "labels", threshold=0.5),
        r"threshold=0\.5 needs columns with one number per row",
    ),
    "threshold that is no number": (
        lambda: read_counts(LABELLED, "score", threshold="x"),
        "threshold='x' is no number",
    ),
    "delimiter for numbers": (
        lambda: read_counts(LABELLED, "score", delimiter=","),
        "needs a column of strings, not score",
    ),
    "empty delimiter": (lambda: read_counts(LABELLED, "labels", delimiter=""), "delimiter='' is no text"),
    "0 and 1 beside class numbers": (
        lambda: read_counts(Dataset.from_dict({"a": [0, 1], "b": [4, 5]}), ["a", "b"]),
        "'a' holds only 0 and 1, like one label per column, but 'b' holds other integers",
    ),
    "no columns": (lambda: read_counts(LABELLED, []), "name each column once"),
    "a column twice": (lambda: read_counts(LABELLED, ["labels", "labels"]), "name each column once"),
    "a class beyond the names": (
        lambda: read_counts(Dataset(pa.table({"label": [0, 3]}), info=_info(label=KINDS))),
        r"has the class 3 in row 1 \(1 such values\), but its 3 names give 0 to 2",
    ),
    "a refused split name": (
        lambda: evosplit_hf(LABELLED, {"train": 0.5, "val-2017": 0.5}),
        "refuses the split name 'val-2017'",
    ),
    "a refused split name of a manifest": (
        lambda: apply_split(LABELLED, evosplit.split([[1], [0], [1]], {"a/b": 2, "c": 1}, method="random")),
        "refuses the split name 'a/b'",
    ),
    "an empty data set": (lambda: evosplit_hf(LABELLED.select([]), HALVES), "no rows"),
    "an empty dict": (lambda: evosplit_hf(DatasetDict(), HALVES), "no split"),
    "an empty stream": (
        lambda: evosplit_hf(IterableDataset.from_generator(lambda: iter(())), HALVES, key="id"),
        "the stream has no rows",
    ),
    "an emptied stream": (
        lambda: evosplit_hf(stream().take(0), HALVES, key="id"),
        "the stream has no rows",
    ),
    "a list": (lambda: evosplit_hf([["x"]], HALVES), "ds is a list; pass a Dataset"),
    "ratios that lose rows": (lambda: evosplit_hf(LABELLED, (0.5, 0.3)), r"sum to 0\.8, not to 1"),
    "sizes that lose rows": (lambda: evosplit_hf(LABELLED, (1, 1)), "sum to 2, but there are 3 samples"),
    "ratios and folds": (lambda: evosplit_hf(LABELLED, HALVES, folds=2), "exclude each other"),
    "neither ratios nor folds": (lambda: evosplit_hf(LABELLED), "neither ratios nor folds"),
    "a search index": (
        lambda: evosplit_hf(_with_index(), HALVES),
        r"search index 'vector'.*drop_index\('vector'\)",
    ),
    "a search index in a dict": (
        lambda: evosplit_hf(DatasetDict({"train": _with_index()}), HALVES),
        r"split 'train' of the data set has the search index",
    ),
    "a column that one split lacks": (
        lambda: evosplit_hf(DatasetDict({"a": LABELLED, "b": LABELLED.remove_columns("score")}), HALVES),
        "'a' and 'b' differ in the columns 'score'",
    ),
    "another type in one split": (
        lambda: evosplit_hf(DatasetDict({"a": LABELLED, "b": LABELLED.cast_column("score", Value("string"))}), HALVES),
        r"'a' has score \(double\), 'b' has score \(string\); cast one",
    ),
    "a field that one split lacks": (
        lambda: evosplit_hf(
            DatasetDict({"a": Dataset.from_dict({"o": [{"x": 1, "y": 1}]}), "b": Dataset.from_dict({"o": [{"x": 1}]})}),
            HALVES,
        ),
        r"'a' has o\.y \(int64\), 'b' has no o\.y",
    ),
    "differing ClassLabel names": (
        lambda: evosplit_hf(
            DatasetDict(
                {
                    "train": dataset("label", [0], KINDS),
                    "test": dataset("label", [0], ClassLabel(names=["cow", "bee", "ant"])),
                }
            ),
            HALVES,
        ),
        r"names of 'label' differ: 'train' has \['ant', 'bee', 'cow'\], 'test' has \['cow', 'bee', 'ant'\]",
    ),
    "a stream without key": (
        lambda: evosplit_hf(stream(), HALVES),
        "needs key=.*no numbers that stay the same",
    ),
    "an unknown key": (
        lambda: evosplit_hf(LABELLED, HALVES, key="name"),
        "no column 'name' for key=; it has: labels, score, id",
    ),
    "a key of floats": (lambda: read_counts(LABELLED, key="score"), r"key='score' is score \(double\)"),
    "a null key": (lambda: read_counts(LABELLED, key="id"), r"key='id' is null in row 2 \(1 such rows\)"),
    "a repeated key": (
        lambda: read_counts(LABELLED.select([0, 1]), key="id"),
        r"key='id' holds 1 more than once \(1 repetitions\)",
    ),
    "a manifest of ids without key": (
        lambda: apply_split(LABELLED, _split_of(["a.jpg", "b.jpg"])),
        "ids such as 'a.jpg', not by row numbers; .*key='image_id'",
    ),
    "a manifest of another number of rows": (
        lambda: apply_split(LABELLED, evosplit.split([[1], [0]], (1, 1), method="random")),
        "one of 2 rows, the data set has 3",
    ),
    "a manifest of other ids": (
        lambda: apply_split(
            LABELLED.select([0]),
            _split_of([7, 8]),
            key="id",
        ),
        "1 ids are not in the split .*first: 1",
    ),
    "a stream with an unknown id": (
        lambda: list(
            apply_split(
                stream(),
                _split_of([100, 101]),
                key="id",
            )["train"]
        ),
        "id 102 is not in the split, which has 2 ids such as 100",
    ),
    "a replay on a stream without that key": (
        lambda: apply_split(stream(), _split_of([100, 101]), key="name"),
        "no column 'name' for key=",
    ),
    "a replay of mixed ids on a stream": (
        lambda: apply_split(stream(), _split_of([100, "101"]), key="id"),
        "integers and strings mixed",
    ),
    "a stream whose ids have another type": (
        lambda: list(apply_split(stream(), _split_of(["100", "101"]), key="id")["train"]),
        "id 100 is not in the split",
    ),
    "a stream with a null id": (
        lambda: list(apply_split(LABELLED.select([2]).to_iterable_dataset(), _split_of([0, 1]), key="id")["train"]),
        "id None is not in the split",
    ),
    "a stream of mixed types": (
        lambda: read_counts(IterableDataset.from_generator(_mixed_rows), "labels", key="id"),
        "rows of the stream have different types",
    ),
}


def _split_of(ids):
    return evosplit.split(LabelCounts([[1], [0]], ids=ids), (1, 1), method="random")


def _info(**features):
    ds = Dataset.from_dict({name: [] for name in features}, features=Features(features))
    return ds.info


def _mixed_rows():
    for i in range(2000):
        yield {"id": i, "labels": [1] if i < 1000 else ["x"]}


@pytest.mark.parametrize(("call", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_named_with_its_place_and_remedy(call, message):
    """Each mistake gives an EvoSplitError that says what to do."""
    with pytest.raises(EvoSplitError, match=message):
        call()


def test_a_missing_library_names_the_install_line():
    """Without datasets installed, the error says how to get it."""
    code = "import sys; sys.modules['datasets'] = None; import evosplit_plugins; evosplit_plugins.evosplit_hf"
    environment = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "evosplit-plugins[hf]"' in done.stderr


def test_the_caller_keeps_his_data_set():
    """Splitting changes neither the rows nor the fingerprint of the source."""
    ds = dataset("labels", WORDS)
    before = ds._fingerprint
    evosplit_hf(ds, HALVES, method="random")
    assert ds._fingerprint == before
    assert ds.num_rows == len(WORDS)
