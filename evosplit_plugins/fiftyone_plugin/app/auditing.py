"""The operator that judges a split, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators.types as types

from evosplit_plugins.fiftyone_plugin import api, fields
from evosplit_plugins.fiftyone_plugin.app.base import RecordOperator
from evosplit_plugins.fiftyone_plugin.app.output import audit_output, audit_result
from evosplit_plugins.fiftyone_plugin.app.request import several

__all__ = ["AuditSplit"]

_TAGS = "tags"  # FiftyOne has this field on every sample, so that no other one is called so


class AuditSplit(RecordOperator):
    """Judge the split that tags or a field hold, whoever made it."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "audit_split",
        "label": "EvoSplit: audit",
        "description": "How even a split is, what leaks, what EvoSplit would give instead",
        "icon": "fact_check",
    }

    def resolve_input(self, ctx: Any) -> Any:
        """Ask where the subsets are, and what belongs together."""
        inputs = types.Object()
        where = types.DropdownView()
        where.add_choice(_TAGS, label="Sample tags")
        strings = ctx.dataset.get_field_schema(ftype=fo.StringField)
        for name in strings:
            if name != "filepath":
                where.add_choice(name, label=f"The field {name}")
        inputs.enum("where", where.values(), default=_TAGS, label="The subsets are in", view=where)
        if (ctx.params.get("where") or _TAGS) == _TAGS:
            tags = types.DropdownView(multiple=True, allow_duplicates=False)
            for name in ctx.dataset.distinct("tags"):
                tags.add_choice(name, label=name)
            note = "By default those of the latest split, else the usual ones: train, val, test"
            inputs.list("tags", types.String(), default=[], required=False, label="Tags", description=note, view=tags)
        groups = types.DropdownView(multiple=True, allow_duplicates=False)
        for name in fields.group_fields(ctx.dataset):
            groups.add_choice(name, label=name)
        inputs.list(
            "group_by",
            types.String(),
            default=[],
            required=False,
            label="Samples that belong together have the same",
            description="For example a clip or a patient; equal files are always looked for",
            view=groups,
        )
        return self.form(inputs)

    def do(self, ctx: Any) -> dict[str, Any]:
        """Judge the split as it is."""
        where = ctx.params.get("where") or _TAGS
        tags = several(ctx.params.get("tags"))
        audit = api.audit(
            ctx.dataset,
            tags or None,
            field=None if where == _TAGS else where,
            group_by=several(ctx.params.get("group_by")) or None,
            effort="fast",
        )
        return audit_result(audit)

    def resolve_output(self, ctx: Any) -> Any:
        """Show verdict, leaks and the tables beside EvoSplit's split."""
        results = ctx.results or {}
        return audit_output(results) if "verdict" in results else super().resolve_output(ctx)
