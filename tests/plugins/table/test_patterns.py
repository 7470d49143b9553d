"""Names that are in the ids: regular expressions and paths mean on an engine what they mean in Python."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_rows import RATIOS, named_rows, wholes

from evosplit import EvoSplitError
from evosplit_plugins.audit.leaks import source_pictures
from evosplit_plugins.grouping import regex_values
from evosplit_plugins.matching import picture_of, plain_path
from evosplit_plugins.table.patterns import portable

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from evosplit_plugins.table import apply_split, evosplit_table  # noqa: E402
from evosplit_plugins.table.duckdb_engine import DuckEngine, connect  # noqa: E402
from evosplit_plugins.table.labels import Labels  # noqa: E402
from evosplit_plugins.table.queries import Queries  # noqa: E402

LETTERS = "aB7_-./\\\n {}é٣ß'\r\u2028"
ATOMS = ["a", "B", "7", "_", "-", r"\.", ".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "[a-f7]", "[^_/]", r"[\d\w.-]",
         r"[^\s]", "[]a]", r"[\]\\^]", "é", r"\x61", r"\u00e9", r"\n", r"\\", r"\/", "{", "{}", "^", "$", r"\A", r"\Z",
         "(?#said)", "[&&a]", "[[a]", "~"]  # fmt: skip
TIMES = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "+?", "??", "{1,2}?"]


def expressions():
    """Draw regular expressions, some of which no engine but Python takes, or not even that."""
    once = st.tuples(st.sampled_from(ATOMS), st.sampled_from(TIMES)).map("".join)

    def wrapped(inner):
        some = st.lists(inner, min_size=1, max_size=3).map("".join)
        either = st.tuples(some, some).map("|".join)
        opens = st.sampled_from(["(", "(?:", "(?P<name>"])
        return st.tuples(opens, some | either, st.just(")"), st.sampled_from(TIMES)).map("".join)

    return st.lists(st.recursive(once, wrapped, max_leaves=5), min_size=1, max_size=3).map("".join)


@pytest.fixture(scope="module")
def engine():
    """Give an engine of no matter which rows."""
    connection = connect()
    return DuckEngine(connection.from_arrow(pa.table({"id": ["a"]})), connection)


@pytest.mark.filterwarnings("ignore:Possible (nested set|set difference)", "ignore:Possible set")
@settings(max_examples=150)
@given(regex=expressions(), texts=st.lists(st.text(LETTERS, max_size=8), min_size=1, max_size=20))
def test_as_in_python(engine, regex, texts):
    """What is not refused finds the same texts as Python does."""
    try:
        pattern = portable(regex)
    except EvoSplitError:
        return
    texts = [text.rstrip("\n") for text in texts] if pattern.ends else texts
    found = [None if match is None else match[min(match.re.groups, 1)] or None for match in map(
        re.compile(regex).search, texts)]  # fmt: skip
    sql = engine.extracted("p.placed_id", pattern.text, pattern.group)
    asked = f"SELECT nullif({sql}, '') AS found FROM {engine.table('placed')} AS p"
    there = engine.fetch(asked, placed=pa.table({"placed_id": texts}))
    assert there.column("found").to_pylist() == found, pattern.text


@pytest.mark.parametrize(
    "regex",
    ["^(a+)_(?=b)", r"(a)\1", r"\bcat", "(?i)cat", "(?:(a)_)+", "(?:a*)*", "a{1001}", "(?<!a)b", "(?P<n>a)(?P=n)"],
)
def test_refused(regex):
    """What engines take otherwise than Python, or not at all, is named."""
    with pytest.raises(EvoSplitError, match=r"which DuckDB and Spark do not take as Python does"):
        portable(regex)


def test_pictures():
    """The picture that an id names is what it is everywhere; an id that is written as its picture is known as such."""
    parts = ["a", ".", "/", "\\", "b.jpg", "cat_jpg.rf.", "0123456789abcdef", ".PNG", "_TIFF"]
    names = sorted({"".join(chosen) for n in range(1, 5) for chosen in product(parts, repeat=n)})
    connection = connect()
    engine = DuckEngine(connection.from_arrow(pa.table({"id": names})), connection)
    queries = Queries(engine, "id", Labels("none"))
    told = f"{queries.picture()} AS a, {queries.file_name()} AS b, {queries.source_picture()} AS c"
    found = engine.fetch(f"SELECT {told} FROM {engine.data} AS d")
    assert found.column("a").to_pylist() == list(map(picture_of, names))
    assert found.column("b").to_pylist() == list(map(plain_path, names))
    assert found.column("c").to_pylist() == source_pictures(names)
    other = [name for name in names if picture_of(name) != name]
    for ids, n in ((other, len(other)), (["s0001", "a.b.jpg", "..", "a b"], 0)):
        some = Queries(DuckEngine(connection.from_arrow(pa.table({"id": ids})), connection), "id", Labels("none"))
        assert some.engine.first(some.rewritten())["n"] == n


class TestGroups:
    """Groups by what is in the ids, where rows are only counted."""

    @pytest.mark.parametrize("histogram", [False, True])
    @pytest.mark.parametrize("more", [{}, {"group_by": "clip"}], ids=str)
    def test_regex(self, histogram, more, tmp_path):
        """Rows whose ids have the same text stay together, and do so again when the split is applied."""
        table = named_rows()
        regex = r"^(?:\./)?(clip\d+)/"
        made, split = evosplit_table(table, RATIOS, group_regex=regex, histogram=histogram, **more)
        clips = regex_values(regex, table.column("id").to_pylist())
        assert wholes(clips, made)
        assert split.sizes == (420, 120, 60)
        assert any(re.match(r"\d+ rows have no (matching|'clip')", note) for note in split.notes)
        split.save(tmp_path / "split.json")
        assert apply_split(table, tmp_path / "split.json").table.equals(made)

    @pytest.mark.parametrize("histogram", [False, True])
    def test_copies(self, histogram, tmp_path):
        """Rows of one picture stay together, unless that is not wanted."""
        table = named_rows()
        pictures = list(map(picture_of, table.column("id").to_pylist()))
        made, split = evosplit_table(table, RATIOS, histogram=histogram, seed=1)
        assert wholes(pictures, made)
        assert any("120 rows are copies of 60 pictures" in note for note in split.notes)
        split.save(tmp_path / "split.json")
        assert apply_split(table, tmp_path / "split.json").table.equals(made)
        assert not wholes(pictures, evosplit_table(table, RATIOS, histogram=histogram, group_copies=False).table)

    def test_copies_that_are_locked(self):
        """A picture that is locked into two subsets leaks, which is said."""
        table = named_rows()
        first, second = table.column("id").to_pylist()[:2]
        assert picture_of(first) == picture_of(second)
        locked = {"test": [first], "val": [second]}
        made, split = evosplit_table(table, RATIOS, histogram=True, locked=locked)
        assert made.column("split").to_pylist()[:2] == ["test", "val"]
        assert any(note.startswith("1 picture is locked into several subsets") for note in split.notes)

    @pytest.mark.parametrize(
        ("ids", "regex", "message"),
        [
            (["a", "b"], r"(c+)", r"finds no text in any id of 'id', such as 'a'"),
            (["a", "b\n"], r"(.)$", r"1 of them end with a line break, for example 'b\\n'"),
            ([1, 2], r"(.)", r"'id' holds integers; use group_by="),
            (["a", "b"], r"\bx", r"holds \\b, which DuckDB and Spark do not take"),
        ],
    )
    def test_bad_input(self, ids, regex, message):
        """What cannot be done is said before the search."""
        with pytest.raises(EvoSplitError, match=message):
            evosplit_table(pa.table({"id": ids, "labels": [["x"]] * 2}), (0.5, 0.5), group_regex=regex, histogram=True)
