"""The forms that labels have in a table, as the queries write them."""

from __future__ import annotations

from dataclasses import dataclass

from evosplit_plugins.table.engine import Engine

__all__ = ["Labels", "count_in"]


def count_in(engine: Engine, column: str) -> str:
    """Write the count that a column holds, null where it holds none; 1.0 and its text are 1."""
    at = engine.quoted(column)
    return engine.as_integer(engine.as_number(at) if engine.columns[column].kind in ("number", "text") else at)


@dataclass(frozen=True)
class Labels:
    """Where the labels of a row are.

    Attributes
    ----------
    form
        "none", "list", "single" (one label in a cell), "cut" (several, with a delimiter between), "json" or "counts"
        (a column for each label).
    column
        The column, or the first of several.
    field
        For a list of structs, the field that holds the label.
    delimiter
        What stands between the labels of a cell.
    columns
        The columns of "counts".
    """

    form: str
    column: str = ""
    field: str | None = None
    delimiter: str = ""
    columns: tuple[str, ...] = ()

    def raw(self, engine: Engine) -> str:
        """Write what the labels of a row are made of; rows where that is equal have equal labels."""
        if self.form == "counts":
            return engine.listed([f"coalesce({count_in(engine, name)}, 0)" for name in self.columns])
        at = engine.quoted(self.column) if self.form != "none" else engine.as_text("NULL")
        return at if self.field is None else engine.plucked(at, self.field)

    def sql(self, engine: Engine, raw: str | None = None) -> str:
        """Write the labels of a row as a list, which is sorted and never null; `raw` names what `raw()` gave."""
        made = self._listed(engine, raw or self.raw(engine))
        return made if self.form == "counts" else engine.tidied(made)

    def key(self, engine: Engine) -> str:
        """Write a number that stands for the labels of a row."""
        made = self._listed(engine, self.raw(engine))
        return made if self.form == "counts" else engine.list_key(made)

    def _listed(self, engine: Engine, raw: str) -> str:
        """Write the labels as a list in any order, which may be null and hold nulls."""
        if self.form == "counts":
            return raw
        if self.form == "list":
            return engine.as_texts(raw)
        if self.form == "cut":
            return engine.cut(raw, self.delimiter)
        if self.form == "json":
            return engine.as_texts(engine.from_json(f"nullif(trim({raw}), '')"))
        return engine.listed([f"nullif(trim({engine.as_text(raw)}), '')"])
