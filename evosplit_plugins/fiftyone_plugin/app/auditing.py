"""The operator that judges a split, whoever made it, and the button that takes what EvoSplit gives instead."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators.types as types
import numpy as np

from evosplit import EvoSplitError, Split
from evosplit.wording import counted, listed
from evosplit_plugins.audit import Audit
from evosplit_plugins.fiftyone_plugin import api, duplicates, fields
from evosplit_plugins.fiftyone_plugin.adapter import FiftyOneReading
from evosplit_plugins.fiftyone_plugin.app.base import (
    ALSO_DELEGATED,
    CAPTIONS,
    RecordOperator,
    in_a_sentence,
    in_app,
    refuse,
    show,
    show_error,
)
from evosplit_plugins.fiftyone_plugin.app.counting import Counter
from evosplit_plugins.fiftyone_plugin.app.form import add_label_field
from evosplit_plugins.fiftyone_plugin.app.inputs import add_one, add_several, add_switch
from evosplit_plugins.fiftyone_plugin.app.jobs import watched
from evosplit_plugins.fiftyone_plugin.app.output import audit_output, audit_result, plain, sizes_of
from evosplit_plugins.fiftyone_plugin.app.proposals import SAME_NAME, propose_equal_names, propose_groups
from evosplit_plugins.fiftyone_plugin.app.queued import result_of
from evosplit_plugins.fiftyone_plugin.app.recorded import part_of
from evosplit_plugins.fiftyone_plugin.app.refreshing import refresh_app, refresh_panels
from evosplit_plugins.fiftyone_plugin.app.request import NO_DUPLICATES, several
from evosplit_plugins.fiftyone_plugin.reading import flattened
from evosplit_plugins.fiftyone_plugin.source import FiftyOneSource, subset_names
from evosplit_plugins.fiftyone_plugin.writing import write_split
from evosplit_plugins.progress import OnProgress

__all__ = ["AuditSplit", "ShowAudit", "TakeAudited"]

_TAGS = "tags"  # FiftyOne has this field on every sample, so that no other one is called so
_KEPT = 8
_SUBSETS_AT_MOST = 100  # a field with more values holds no split
_SUBSETS_USUAL = 10  # neither does one with more than these, in fewer than two samples each


@dataclass(frozen=True)
class _Instead:
    """What EvoSplit gives instead of an audited split, until somebody takes it."""

    dataset: str
    split: Split
    field: str | None
    label_fields: tuple[str, ...]


_offered: OrderedDict[str, _Instead] = OrderedDict()


class AuditSplit(RecordOperator):
    """Judge the split that tags or a field hold, whoever made it."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "audit_split",
        "label": "EvoSplit: audit",
        "description": "How even a split is, what leaks, what EvoSplit would give instead",
        "execute_as_generator": True,
        "icon": "fact_check",
        **ALSO_DELEGATED,
    }

    def ask(self, ctx: Any) -> Any:
        """Ask where the subsets are, and what belongs together; what seems to is filled in."""
        inputs, counter = types.Object(), Counter(ctx)
        texts = [name for name in ctx.dataset.get_field_schema(ftype=fo.StringField) if name != "filepath"]
        where = {_TAGS: "Sample tags", **{name: f"The field {name}" for name in texts}}
        add_one(inputs, "where", where, label="The subsets are in")
        if (ctx.params.get("where") or _TAGS) == _TAGS:
            note = "By default those of the latest split, else the usual ones: train, val, test"
            add_several(inputs, "tags", ctx.dataset.distinct("tags"), label=CAPTIONS["tags"], description=note)
        _add_subsets(inputs, ctx, counter)
        add_label_field(inputs, ctx.dataset, "Labels to judge")
        groups = counter.ask(["propose groups"], lambda: propose_groups(ctx.dataset, ()))
        add_several(
            inputs,
            "group_by",
            fields.group_fields(ctx.dataset),
            default=[] if groups is None else groups.params["group_by"],
            label="Samples that belong together have the same",
            description="For example a clip or a patient; equal files are always looked for",
        )
        names = counter.ask(["propose names"], lambda: propose_equal_names(ctx.dataset))
        if names is not None:
            label = "Files of the same name belong together"
            add_switch(inputs, "same_names", label, names.sentence, default=True)
        known = counter.ask(["duplicates"], lambda: duplicates.duplicate_sources(ctx.dataset))
        if known:
            near = {NO_DUPLICATES: "Do not look for them", **{name: name for name in known}}
            add_one(inputs, "near", near, default=known[0], label="Near duplicates, as told by")
        return self.form(inputs)

    def execute(self, ctx: Any) -> Any:
        """Stream progress and result to the App; to Python and to a delegated run return the result."""
        return self.do(ctx) if ctx.delegated or not in_app(ctx) else self._stream(ctx)

    def do(self, ctx: Any) -> dict[str, Any]:
        """Judge the split as it is, and keep what EvoSplit gives instead."""
        return self._judged(ctx, None)

    def _judged(self, ctx: Any, on_progress: OnProgress | None) -> dict[str, Any]:
        source, audit = _judge(ctx, on_progress)
        result = audit_result(audit)
        if audit.instead is not None and _is_better(audit.instead, audit):
            result["instead"] = {**ctx.params, "audit": _keep(_instead(ctx, source, audit.instead))}
        return result

    def _stream(self, ctx: Any) -> Iterator[Any]:
        """Judge it in the background; the button in the result shows what it did in the same dialog."""
        label = self.config.label
        try:
            result = yield from watched(ctx, label, partial(self._judged, ctx), "Drawing")
            if result is not None:
                yield show(ctx, audit_output(result), result)
        except Exception as error:  # an exception in a generator would freeze the App's progress bar
            yield from show_error(ctx, label, in_a_sentence(error))

    def resolve_output(self, ctx: Any) -> Any:
        """Show verdict, leaks, the picture and the tables beside EvoSplit's split."""
        results = ctx.results or {}
        return audit_output(results) if "verdict" in results else super().resolve_output(ctx)


class ShowAudit(RecordOperator):
    """Show what a scheduled audit found."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "show_audit",
        "label": "EvoSplit: audit",
        "unlisted": True,
        "execute_as_generator": True,  # so that its button shows what it did in the same dialog
        "dynamic": False,  # without a form, which the App would show first
    }

    def do(self, ctx: Any) -> dict[str, Any]:
        """Find it."""
        return dict(result_of(ctx.dataset, str(ctx.params.get("run"))))

    def execute(self, ctx: Any) -> Any:
        """Show it in the App as an audit that was waited for; to Python return it."""
        return self._stream(ctx) if in_app(ctx) else self.do(ctx)

    def _stream(self, ctx: Any) -> Iterator[Any]:
        try:
            result = self.do(ctx)
            yield show(ctx, audit_output(result), result)
        except Exception as error:  # an exception in a generator would freeze the App's progress bar
            yield from show_error(ctx, self.config.label, in_a_sentence(error))


class TakeAudited(RecordOperator):
    """Write what EvoSplit gives instead of an audited split."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "take_audited",
        "label": "EvoSplit: take this split instead",
        "unlisted": True,
    }

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Write it, and say so in the dialog of the audit, in which its button is."""
        result = super().execute(ctx)
        ctx.request_params["results"] = result
        show(ctx, self.resolve_output(ctx), result)
        return result

    def do(self, ctx: Any) -> dict[str, Any]:
        """Write it in place of the split that was found; undo brings that back."""
        instead = _wanted(ctx)
        run = write_split(
            ctx.dataset, instead.split, field=instead.field, label_fields=instead.label_fields, overwrite=True
        )
        refresh_app(ctx, run.field)
        refresh_panels(ctx)
        return {"message": f"Written: {sizes_of(run.split)}. Undo brings back what was there."}


def _add_subsets(inputs: Any, ctx: Any, counter: Counter) -> None:
    """Say which subsets will be judged; refuse what names fewer than two."""
    where, tags = ctx.params.get("where") or _TAGS, several(ctx.params.get("tags"))
    by_tags = where == _TAGS

    def find() -> tuple[str, ...]:
        try:
            return subset_names(ctx.dataset, None if by_tags else where)
        except EvoSplitError:  # no tag is a usual one
            return ()

    names = tags if by_tags and tags else counter.ask(["subsets", where], find)
    if names is None:
        return
    many = "" if by_tags else counter.ask(["too many", where], lambda: _too_many(ctx.dataset, where, len(names)))
    if many:
        refuse(inputs, many, "subsets")
    elif len(names) > 1:
        what = f"{counted(len(names), 'subset', 'subsets')} will be judged: {listed(names)}"
        inputs.view("subsets", types.Notice(label=plain(what)))
    elif not by_tags:
        refuse(inputs, f"The field {where} names fewer than two subsets.", "subsets")
    elif tags:
        refuse(inputs, "One subset has nothing to be compared with; choose the tags of all.", "subsets")
    elif ctx.dataset.distinct("tags"):
        refuse(inputs, "No tags have the usual names of subsets; choose those that are meant.", "subsets")
    else:
        refuse(inputs, "No sample has a tag, so there is no split to judge; a field may hold one.", "subsets")


def _too_many(dataset: Any, field: str, n_subsets: int) -> str:
    """Say that a field has more values than a split has subsets, if it is so."""
    n_samples = flattened(dataset).count()
    if n_subsets <= _SUBSETS_AT_MOST and (n_subsets <= _SUBSETS_USUAL or 2 * n_subsets <= n_samples):
        return ""
    said = f"{n_subsets:,} values in {counted(n_samples, 'sample', 'samples')}"
    return f"The field {field} has {said}: it names no subsets. Choose the field, or the tags, that the split is in."


def _judge(ctx: Any, on_progress: OnProgress | None = None) -> tuple[FiftyOneSource, Audit]:
    """Audit what the parameters of the form name."""
    where = ctx.params.get("where") or _TAGS
    many = "" if where == _TAGS else _too_many(ctx.dataset, where, len(ctx.dataset.distinct(where)))
    if many:
        raise EvoSplitError(many)
    near = ctx.params.get("near")
    labels = ctx.params.get("label_field")
    reading = FiftyOneReading(
        label_field=None if labels is None else several(labels),
        field=None if where == _TAGS else where,
        tags=several(ctx.params.get("tags")) or None,
        near_duplicates=None if near == NO_DUPLICATES else near,
    )
    return api.judge_subsets(
        ctx.dataset,
        reading,
        {
            "group_by": several(ctx.params.get("group_by")) or None,
            "group_regex": SAME_NAME if ctx.params.get("same_names") else None,
            "effort": "fast",
            "on_progress": on_progress,
        },
    )


def _wanted(ctx: Any) -> _Instead:
    """Return what was offered; after a restart, or elsewhere, it is made again."""
    known = _offered.get(str(ctx.params.get("audit")))
    if known is not None and known.dataset == ctx.dataset.name:
        return known
    source, audit = _judge(ctx)
    if audit.instead is None:
        raise EvoSplitError("EvoSplit has no split to give instead; audit again")
    return _instead(ctx, source, audit.instead)


def _is_better(split: Split, audit: Audit) -> bool:
    """Tell whether a split is worth taking: it leaves no subset empty, and mends leaks or is clearly more even."""
    return all(split.sizes) and bool(audit.leaks or audit.gains)


def _instead(ctx: Any, source: FiftyOneSource, made: Split) -> _Instead:
    """Return EvoSplit's split with a row for each sample; one in two subsets had two, which belong together."""
    first = {unit: row for row, unit in reversed(list(enumerate(source.units)))}
    rows = np.array(sorted(first.values()), dtype=np.int64)
    ids = np.array([source.units[row] for row in rows.tolist()], dtype=object)
    groups = several(ctx.params.get("group_by"))
    settings = {**made.settings, **({"group_by": list(groups)} if groups else {})}
    split = replace(part_of(made, rows, ids), source=source.provenance, settings=settings)
    return _Instead(source.dataset.name, split, source.field, tuple(source.labels))


def _keep(instead: _Instead) -> str:
    key = uuid.uuid4().hex
    _offered[key] = instead
    while len(_offered) > _KEPT:
        _offered.popitem(last=False)
    return key
