"""DuckDB: data frames, Arrow tables, files and relations, on one machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError
from evosplit.errors import needing
from evosplit_plugins.table.engine import HASH_BITS, ColumnType, Dialect, Engine, broken_line, common_separator, heading

__all__ = ["DuckEngine", "connect", "scan", "table_function"]

_INTEGERS = {"tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint"}
_KINDS = {
    **dict.fromkeys(_INTEGERS | {"uhugeint"}, "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("varchar", "enum", "uuid"), "text"),
    "boolean": "boolean",
}
_GUESSED = re.compile(r"\b(DATE|TIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE|UUID|\"NULL\")(?=$|[\[\],)])")
_FILE = re.compile(r'sniffing file "(.+)"\.$|^ *file = (.+)$', re.MULTILINE)  # of CSV, in an error
_RENAMED = re.compile(r"(.+)_\d+$")
_NUMBERS = count()
_FIRST = 10_000  # rows in which it is seen first whether a column ascends
_READERS = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}
# Keys that come late, which DuckDB would leave out, and values of another kind than the first ones.
_ALL_OF_IT = "sample_size = -1, maximum_sample_files = 2147483647, union_by_name = true"
_COPY = {"parquet": "FORMAT parquet", "csv": "FORMAT csv, HEADER", "json": "FORMAT json"}


def duckdb_module() -> Any:
    """Import DuckDB."""
    with needing("duckdb", "tables need duckdb", "table"):
        import duckdb
    return duckdb


def connect() -> Any:
    """Open a database in memory, which shows no progress of its own."""
    connection = duckdb_module().connect()
    connection.execute("SET enable_progress_bar = false")
    return connection


DIALECT = Dialect(
    as_text="CAST({} AS VARCHAR)",
    as_texts="CAST({} AS VARCHAR[])",
    plucked="list_transform({}, lambda x: x.{})",
    from_json="CASE WHEN json_valid({0}) THEN from_json({0}, '[\"VARCHAR\"]') END",
    tidied="list_sort(list_filter(coalesce({}, CAST([] AS VARCHAR[])), lambda x: x IS NOT NULL))",
    # The sum of the hashes of the texts, which takes half the time of sorting them.
    list_key="coalesce(list_sum(list_transform({}, lambda x: CASE WHEN x IS NOT NULL THEN hash(x) END)), 0)",
    gathered="list_sort(list({}) FILTER (WHERE {}))",
    element="list_extract({}, {})",
    listed="[{}]",
    replaced="regexp_replace({}, {}, {}, 'g')",
    failing="CAST(error({}) AS INTEGER)",
)


class DuckEngine(Engine):
    """A relation of DuckDB; queries run on its own connection.

    Parameters
    ----------
    relation
        The table.
    connection
        The connection, where it is ours: it is closed with the engine.
    """

    name = "duckdb"
    dialect = DIALECT
    ordered = True

    def __init__(self, relation: Any, connection: Any = None) -> None:
        self.data = f"evosplit_data_{next(_NUMBERS)}"  # a relation of a relation cannot have the name of the latter
        self._relation = relation
        self._connection = connection

    @cached_property
    def columns(self) -> Mapping[str, ColumnType]:
        """The columns in their order."""
        return {name: _type(each) for name, each in zip(self._relation.columns, self._relation.types, strict=True)}

    def fetch(self, sql: str, **tables: Any) -> Any:
        """Run a query whose result is small."""
        with _as_sentences():
            return self.query(sql, **tables).to_arrow_table()

    def ascends(self, column: str) -> bool:
        """Compare each value with the one before it, in the first rows and then in all; rows may come in any order."""
        at = self.quoted(column)
        for rows in (f"(SELECT {at} FROM {self.data} LIMIT {_FIRST})", self.data):
            further = f"SELECT {at} > lag({at}) OVER () AS more FROM {rows}"
            found = self.first(f"SELECT count(*) AS n, count(CASE WHEN more THEN 1 END) AS more FROM ({further})")
            if found["more"] < found["n"] - 1:
                return False
        return True

    def query(self, sql: str, **tables: Any) -> Any:
        """Give what a query returns, as a relation."""
        # DuckDB finds these by their names, unless the user has such tables, and keeps them as long as the relation.
        known = ("cells", "groups", "locks", "copies", "placed", "long")
        evosplit_cells, evosplit_groups, evosplit_locks, evosplit_copies, evosplit_placed, evosplit_long = map(
            tables.get, known
        )
        with _as_sentences():
            made = self._relation.query(self.data, sql)
        del evosplit_cells, evosplit_groups, evosplit_locks, evosplit_copies, evosplit_placed, evosplit_long
        return made

    def table(self, name: str) -> str:
        """Name a small table in a query."""
        return f"evosplit_{name}"

    def like(self, made: Any) -> DuckEngine:
        """Hold another relation of the same connection."""
        return DuckEngine(made, self._connection)

    def write(self, made: Any, path: Path, form: str, *, separator: str = ",", by: str | None = None) -> int:
        """Write a relation into a file, or into a folder for each value of a column."""
        how = _COPY[form] + (f", DELIM {self.literal(separator)}" if form == "csv" else "")
        how += "" if by is None else f", PARTITION_BY ({self.quoted(by)})"
        with _as_sentences("write"):
            done = made.query("made", f"COPY (SELECT * FROM made) TO {self.literal(str(path))} ({how})")
            if done is not None:
                return int(done.fetchall()[0][0])
            # DuckDB 1 does not tell how many rows it has copied.
            files = [path] if by is None else sorted(each for each in path.rglob("*") if each.is_file())
            with connect() as connection:
                return int(connection.sql(f"SELECT count(*) FROM {table_function(files, form)}").fetchall()[0][0])

    def pairs(self, made: Any, first: str, second: str) -> Iterator[tuple[str, str]]:
        """Give two columns in the order of the first."""
        import pyarrow as pa

        chosen = f"{self.as_text(self.quoted(first))} AS first, {self.quoted(second)} AS second"
        with _as_sentences():
            found = made.query("made", f"SELECT {chosen} FROM made ORDER BY first")
            for batch in pa.RecordBatchReader.from_stream(found):
                yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    def quoted(self, name: str) -> str:
        """Write the name of a column."""
        return _quoted(name)

    def literal(self, text: str) -> str:
        """Write a text."""
        return _literal(text)

    def cut(self, expression: str, delimiter: str) -> str:
        """Cut a text into a list."""
        return f"list_transform(string_split({expression}, {self.literal(delimiter)}), lambda x: nullif(trim(x), ''))"

    def mixed(self, expressions: Sequence[str]) -> str:
        """Hash values."""
        return f"hash({', '.join(expressions)})"

    def hashed(self, seed: int, text: str) -> str:
        """Hash a text."""
        return f"CAST(md5_number('{seed}:' || {text}) & {(1 << HASH_BITS) - 1} AS BIGINT)"


def scan(paths: Sequence[Path], form: str, *, by_file: bool = False, root: Path | None = None) -> DuckEngine:
    """Open files as one table.

    Parameters
    ----------
    paths, form
        The files and their format.
    by_file
        Whether a column `subset` names the file of each row.
    root
        The folder of partitions named as Hive does, whose names are columns.
    """
    connection = connect()
    with _as_sentences():
        chosen = "*"
        if root is not None:
            plain = connection.sql(f"SELECT * FROM {table_function(paths, form)}").columns
            chosen += _without_folders_above(paths[0].absolute(), root, plain)
        if by_file:
            chosen = "* EXCLUDE (filename), parse_filename(filename, true) AS subset"
        function = table_function(paths, form, filename=by_file, hive=root is not None)
        relation = connection.sql(f"SELECT {chosen} FROM {function}")
    _check_renamed(paths, form, relation.columns, connection)
    return DuckEngine(relation, connection)


def _without_folders_above(path: Path, root: Path, columns: Sequence[str]) -> str:
    """Leave out what DuckDB takes for partitions above their folder; refuse names that files have, too."""
    below = {part.partition("=")[0] for part in path.relative_to(root).parts[:-1] if "=" in part}
    named = below | {part.partition("=")[0] for part in root.parts if "=" in part}
    for name in sorted(named):
        if name.casefold() in map(str.casefold, columns):
            raise EvoSplitError(
                f"{name!r} is a column of {path}, and also a folder above it; rename the folder or the column"
            )
    return f" EXCLUDE ({', '.join(map(_quoted, sorted(named - below)))})" if named - below else ""


def _check_renamed(paths: Sequence[Path], form: str, columns: Sequence[str], connection: Any) -> None:
    """Refuse files with a column twice, or in capitals, too: DuckDB gives the second one another name."""
    lower = set(map(str.casefold, columns))
    renamed = [name for name in columns if (found := _RENAMED.match(name)) and found[1].casefold() in lower]
    if not renamed:
        return
    files = "[" + ", ".join(_literal(str(path)) for path in paths) + "]"
    if form == "csv":
        there = {name for path in paths for name in heading(path)}
    else:
        names = "SELECT name FROM parquet_schema({})", "SELECT unnest(json_keys(json)) FROM read_json_objects({})"
        there = {name for (name,) in connection.sql(names[form == "json"].format(files)).distinct().fetchall()}
    for name in renamed:
        if name not in there:
            raise EvoSplitError(
                f"{paths[0]} has the column {name.rpartition('_')[0]!r} twice, at least in capitals; rename one"
            )


def table_function(paths: Sequence[Path], form: str, *, filename: bool = False, hive: bool = False) -> str:
    """Write the files as a table; values are read as they are written, so that they can be written again."""
    files = "[" + ", ".join(_literal(str(path)) for path in paths) + "]"
    more = {"union_by_name": "true"} if len(paths) > 1 else {}
    if filename:
        more["filename"] = "true"
    more["hive_partitioning"] = "true" if hive else "false"  # which DuckDB guesses, of all folders above
    if hive:
        more["hive_types_autocast"] = "false"
    if form == "csv":
        # What is not said, DuckDB guesses: rows that begin with # are comments to it, and the first ones titles.
        more |= {"all_varchar": "true", "header": "true", "delim": _literal(common_separator(paths))}
        more |= {"quote": "'\"'", "escape": "'\"'", "comment": "''", "skip": "0"}
    if form == "json":
        with _as_sentences(), connect() as connection:
            guessed = connection.sql(f"SELECT * FROM read_json({files}, {_ALL_OF_IT})")
            types = dict(zip(guessed.columns, map(str, guessed.types), strict=True))
        kept = ", ".join(f"{_literal(name)}: {_literal(_GUESSED.sub('VARCHAR', each))}" for name, each in types.items())
        more |= {"columns": f"{{{kept}}}"}
    options = "".join(f", {name} = {value}" for name, value in more.items())
    return f"{_READERS[form]}({files}{options})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _as_sentences(doing: str = "read") -> Iterator[None]:
    """Turn what DuckDB says of the data, or of the disk, into an error of ours."""
    duckdb = duckdb_module()
    try:
        yield
    except duckdb.Error as error:
        said = str(error).strip().splitlines()[0]
        if "evosplit: " in said:
            raise EvoSplitError(said.partition("evosplit: ")[2]) from error
        file = _FILE.search(str(error))
        broken = file and broken_line(Path(file[1] or file[2]))
        if broken:
            raise EvoSplitError(broken, parameter=()) from error
        raise EvoSplitError(f"DuckDB cannot {doing} the table: {said}", parameter=()) from error


def _type(given: Any) -> ColumnType:
    """Describe a type of DuckDB."""
    shown = str(given)
    if given.id in ("list", "array"):
        return ColumnType("list", shown, element=_type(given.children[0][1]))
    if given.id == "struct":
        return ColumnType("struct", shown, fields={name: _type(each) for name, each in given.children})
    return ColumnType(_KINDS.get(given.id, "other"), shown)
