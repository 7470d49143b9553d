"""Labels of every schema are counted as a plain loop over the rows counts them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from datasets import Dataset, Features, Sequence, Value, concatenate_datasets
from hf_data import KINDS, LABELLED, NAMES, NO_IMAGE, WORDS, as_lists, dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from evosplit import EvoSplitError
from evosplit_plugins.hf import read_counts


def named(values):
    """Name the class numbers of one row as `NAMES` does."""
    return [NAMES[value] for value in values or [] if value is not None and value >= 0]


OBJECTS = [[0, 0, 2], [], [1], None, [2, 1, 1, 0], [0]]


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
    counts = read_counts(ds, label_column=["scene", "tags", "wet", "lit"])
    assert counts.labels == ("scene:x", "scene:y", "tags:x", "tags:z", "wet", "lit")
    assert as_lists(counts) == [
        ["lit", "scene:x", "tags:x"],
        ["lit", "scene:y", "wet"],
        ["lit", "tags:x", "tags:z", "wet"],
    ]


def test_one_column_per_label_with_scores():
    """Scores count from the threshold on; NaN and null are no label."""
    ds = Dataset.from_dict({"cat": [0.9, 0.2, None], "dog": [0.5, float("nan"), 1.0], "n": [0, 1, 2]})
    assert as_lists(read_counts(ds, label_column=["cat", "dog"], threshold=0.5)) == [["cat", "dog"], [], ["dog"]]
    assert as_lists(read_counts(ds, label_column=["cat", "n"], threshold=1)) == [[], ["n"], ["n"]]
    assert as_lists(read_counts(ds, label_column=["cat", "dog"], threshold=-1)) == [["cat", "dog"], ["cat"], ["dog"]]


def test_class_numbers_of_several_columns():
    """Integers beyond 0 and 1 are class numbers of their column."""
    ds = Dataset.from_dict({"fine": [5, 6], "coarse": [2, 2]})
    assert read_counts(ds, label_column=["fine", "coarse"]).labels == ("fine:5", "fine:6", "coarse:2")


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
        assert as_lists(read_counts(seen, label_column=path)) == [sorted(naive_labels(value)) for value in expected]


def _info(**features):
    ds = Dataset.from_dict({name: [] for name in features}, features=Features(features))
    return ds.info


BAD_INPUT = {
    "an image": (
        lambda: read_counts(dataset("labels", WORDS), label_column="image"),
        r"image \(Image\) holds no labels; labels are integers, strings or ClassLabel",
    ),
    "floats": (
        lambda: read_counts(LABELLED, label_column="score"),
        r"score \(double\) holds no labels; scores need threshold=",
    ),
    "lists of floats": (
        lambda: read_counts(Dataset.from_dict({"v": [[0.5]]}), label_column="v"),
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
        lambda: read_counts(LABELLED, label_column="labels", multi_hot=True),
        r"multi_hot=True needs a column of lists of 0 and 1, not labels \(list of string\)",
    ),
    "threshold for strings": (
        lambda: read_counts(LABELLED, label_column="labels", threshold=0.5),
        r"threshold=0\.5 needs columns with one number per row",
    ),
    "threshold that is no number": (
        lambda: read_counts(LABELLED, label_column="score", threshold="x"),
        "threshold='x' is no number",
    ),
    "delimiter for numbers": (
        lambda: read_counts(LABELLED, label_column="score", delimiter=","),
        "needs a column of strings, not score",
    ),
    "empty delimiter": (lambda: read_counts(LABELLED, label_column="labels", delimiter=""), "delimiter='' is no text"),
    "0 and 1 beside class numbers": (
        lambda: read_counts(Dataset.from_dict({"a": [0, 1], "b": [4, 5]}), label_column=["a", "b"]),
        "'a' holds only 0 and 1, like one label per column, but 'b' holds other integers",
    ),
    "a class beyond the names": (
        lambda: read_counts(Dataset(pa.table({"label": [0, 3]}), info=_info(label=KINDS))),
        r"has the class 3 in row 1 \(1 such values\), but its 3 names give 0 to 2",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_named_with_its_place_and_remedy(call, message):
    """Each mistake gives an EvoSplitError that says what to do."""
    with pytest.raises(EvoSplitError, match=message):
        call()
