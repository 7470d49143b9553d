"""What the heading of a table tells: what stands between its cells, and which columns have ids, subsets and labels."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from evosplit import EvoSplitError
from evosplit.wording import listed

__all__ = ["DELIMITERS", "IDS", "LABELS", "SUBSETS", "find_column", "separator_in", "usual_column"]

# The usual names of columns, in lower case, the likeliest first.
IDS = ("id", "image_id", "file_name", "filename", "image", "path")
SUBSETS = ("subset", "split")
LABELS = ("labels", "label")
DELIMITERS = (";", "|", ",")  # between the labels in one cell
_SEPARATORS = (",", ";", "\t", "|")
_SHOWN = 20


def separator_in(heading: str, path: Path, known: Collection[str] = ()) -> str:
    r"""Find the separator of a CSV file: the one with which its first line has the most known columns.

    Of several such, the one that gives the most cells; one that cuts through quotes is never taken.

    Parameters
    ----------
    heading
        The first line.
    path
        The file; in one that ends in `.tsv` tabs stand between the cells.
    known
        Further names of columns that are known.

    Examples
    --------
    >>> separator_in("id;subset;cat,dog,fox,owl", Path("splits.csv")), separator_in("id;subset", Path("splits.tsv"))
    (';', '\t')
    """
    if path.suffix.lower() == ".tsv":
        return "\t"
    wanted = {*IDS, *SUBSETS, *LABELS, *(name.lower() for name in known)}

    def told(sign: str) -> tuple[bool, int, int]:
        cells = next(csv.reader([heading], delimiter=sign), [])
        whole = not any('"' in cell for cell in cells)
        return whole, len(wanted.intersection(cell.strip().lower() for cell in cells)), len(cells)

    return max(_SEPARATORS, key=told)


def usual_column(columns: Iterable[str], usual: Sequence[str]) -> str | None:
    """Find the first of some usual names among the columns, in capitals or not.

    Examples
    --------
    >>> usual_column(["ID", "tags"], IDS), usual_column(["ID", "tags"], LABELS)
    ('ID', None)
    """
    by_name = {name.lower(): name for name in columns}
    return next((by_name[word] for word in usual if word in by_name), None)


def find_column(
    columns: Collection[str], given: str | None, usual: Sequence[str], what: str, parameter: str, called: str
) -> str:
    """Find a column by the name given, else by its usual names.

    Parameters
    ----------
    columns
        The columns of the table.
    given
        The name that the user gave.
    usual
        Usual names in lower case, the likeliest first.
    what, parameter, called
        For errors: what is in the column, the parameter that names it, and what the table is called.
    """
    there = listed(map(repr, columns), _SHOWN)
    if given is not None:
        if given in columns:
            return given
        raise EvoSplitError(f"{parameter}={given!r} is no column of {called}; it has {there}")
    found = usual_column(columns, usual)
    if found is None:
        raise EvoSplitError(
            f"{called} has no column {' or '.join(map(repr, usual[:2]))} for {what}; it has {there}: say which with "
            f"{parameter}="
        )
    return found
