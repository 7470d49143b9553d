"""The EvoSplit panel: how good a recorded split is, and which other trade-offs there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
import fiftyone.operators.types as types
import numpy as np
from fiftyone import ViewField as F

from evosplit import EvoSplitError, LabelCounts, ParetoFront, Split, SplitReport
from evosplit.report import Table
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.app import figures
from evosplit_plugins.fiftyone_plugin.app.base import ICON, PLUGIN, refresh_app
from evosplit_plugins.fiftyone_plugin.app.output import (
    LABELS,
    LABELS_IN_WORDS,
    PANEL,
    add_notes,
    add_table,
    at_a_glance,
    in_words,
    lines,
    plain,
    shown_tables,
    table_columns,
    table_rows,
)
from evosplit_plugins.fiftyone_plugin.app.records import add_runs
from evosplit_plugins.fiftyone_plugin.reading import is_grouped, plural
from evosplit_plugins.fiftyone_plugin.writing import units_of, write_split

__all__ = ["EvoSplitPanel"]

_MARGINS = {"container": {"sx": {"pl": 1, "pr": 2, "pt": 1, "pb": 4}}}  # in the App's units of 8 pixels
_ROW = {"grid": {"sx": {"display": "flex", "flexWrap": "wrap", "gap": 1}}}  # a narrow panel breaks it
_IN_ROW = {"item": {"sx": {"width": "auto"}}}


class EvoSplitPanel(foo.Panel):  # type: ignore[misc]  # fiftyone is untyped
    """Sizes, label distribution, worst classes and the Pareto front of a recorded split."""

    @property
    def config(self) -> Any:
        """Opens once, beside the grid."""
        return foo.PanelConfig(
            name=PANEL,
            label="EvoSplit",
            icon=ICON,
            allow_multiple=False,
            help_markdown="How evenly the labels are spread over the subsets, and other trade-offs.",
        )

    def on_load(self, ctx: Any) -> None:
        """Show the latest split."""
        ctx.panel.set_state({"run": None, "point": None, "everything": False, "details": False})

    def on_change_dataset(self, ctx: Any) -> None:
        """Show the latest split of the dataset that was opened."""
        self.on_load(ctx)

    def on_refresh(self, ctx: Any) -> None:
        """Look for new splits."""
        self.on_load(ctx)

    def on_run(self, ctx: Any) -> None:
        """Show another recorded split."""
        ctx.panel.set_state({"run": ctx.params.get("value"), "point": None})

    def on_point(self, ctx: Any) -> None:
        """Look at another trade-off without applying it."""
        ctx.panel.set_state("point", int(ctx.params["idx"]))

    def on_more(self, ctx: Any) -> None:
        """Show all labels, or the rarest only."""
        ctx.panel.set_state("everything", not ctx.panel.get_state("everything", False))

    def on_details(self, ctx: Any) -> None:
        """Show or hide sentences, further tables and the measures."""
        ctx.panel.set_state("details", not ctx.panel.get_state("details", False))

    def on_apply(self, ctx: Any) -> None:
        """Re-tag the samples as the selected trade-off says."""
        run = self._run(ctx)
        if run is None:
            return
        members = units_of(ctx.dataset)
        try:
            split, n_gone = _what_is_left(_point(run, self._selected(ctx, run)), members)
            written = write_split(
                ctx.dataset,
                split,
                field=run.field,
                label_fields=run.label_fields,
                keep_tags=run.keep_tags,
                members=members,
            )
        except EvoSplitError as error:
            ctx.ops.notify(str(error), variant="error")
            return
        ctx.panel.set_state({"run": None, "point": None})
        refresh_app(ctx, run.field, created=written.created_field)
        gone = f"; {plural(n_gone, 'sample')} deleted since" if n_gone else ""
        ctx.ops.notify(f"Applied: {_sizes(split)}{gone}", variant="success")

    def on_undo(self, ctx: Any) -> None:
        """Ask whether to take back the latest split."""
        ctx.prompt(f"{PLUGIN}/undo_split", on_success=self.on_refresh)

    def on_audit(self, ctx: Any) -> None:
        """Ask what to audit."""
        ctx.prompt(f"{PLUGIN}/audit_split")

    def on_save(self, ctx: Any) -> None:
        """Ask which split to save, and where."""
        ctx.prompt(f"{PLUGIN}/save_manifest")

    def on_bar(self, ctx: Any) -> None:
        """Filter the App's view to the samples behind a point."""
        run = self._run(ctx)
        if run is None:
            return
        subset, row = int(ctx.params["trace_idx"]), int(ctx.params["idx"])
        point = self._selected(ctx, run)
        split, report = _point(run, point), _report(ctx.dataset, run, point)
        if subset >= len(split.names):
            return  # the bar of random splits
        label = report.occurring[row].label
        ctx.ops.set_view(samples_with(ctx.dataset, run, split, label, split.names[subset]))

    def render(self, ctx: Any) -> Any:
        """Draw the panel."""
        panel = types.Object()
        run = self._run(ctx)
        if run is None:
            self._render_empty(panel)
        else:
            self._render_run(ctx, panel, run)
        return types.Property(panel, view=types.ObjectView(componentsProps=_MARGINS))

    def _render_empty(self, panel: Any) -> None:
        panel.view("empty", types.Notice(label="This dataset has no recorded split yet."))
        panel.btn("start", label="Split it with EvoSplit", icon=ICON, variant="contained", on_click=self.on_start)
        panel.btn("refresh", label="Refresh", icon="refresh", on_click=self.on_refresh)

    def on_start(self, ctx: Any) -> None:
        """Open the form."""
        ctx.prompt(f"{PLUGIN}/evosplit", on_success=self.on_refresh)

    def _render_run(self, ctx: Any, panel: Any, run: runs.SplitRun) -> None:
        split = run.split
        self._render_choice(ctx, panel, run)
        self._render_actions(panel)
        if split.counts is None:
            words = "This split was replayed without its label fields, so there is nothing to measure: "
            panel.view("summary", types.Notice(label=plain(words + _sizes(split))))
            self._render_apply(ctx, panel, run, split.chosen)
            return
        selected = self._selected(ctx, run)
        report = _report(ctx.dataset, run, selected)
        panel.view("summary", types.Notice(label=at_a_glance(report)))
        add_notes(panel, report.notes)
        self._render_labels(ctx, panel, report)
        sizes, *others, measures = shown_tables(report, _applied(ctx.dataset, run, selected))
        _table(ctx, panel, "sizes", sizes)
        if split.front is not None:
            self._render_front(ctx, panel, run, split.front, selected)
        self._render_apply(ctx, panel, run, selected)
        details = bool(ctx.panel.get_state("details", False))
        label = "Hide the numbers" if details else "Show all numbers"
        panel.btn("details", label=label, icon="expand_less" if details else "expand_more", on_click=self.on_details)
        if details:
            panel.view("words", types.HeaderView(label="In words", description=lines(in_words(report))))
            for at, table in enumerate(others):
                _table(ctx, panel, f"table{at}", table)
            _table(ctx, panel, "measures", measures)

    def _render_choice(self, ctx: Any, panel: Any, run: runs.SplitRun) -> None:
        keys = runs.run_keys(ctx.dataset)
        add_runs(panel, ctx.dataset, keys, "run", default=run.key, label="Split", on_change=self.on_run)

    def _render_front(
        self,
        ctx: Any,
        panel: Any,
        run: runs.SplitRun,
        front: ParetoFront,
        selected: int,
    ) -> None:
        split = run.split
        words = "The search found one best split, no trade-offs."
        if len(front) > 1:
            star = "in use" if _is_latest(ctx.dataset, run) else "the one that was applied then"
            words = f"{len(front)} trade-offs were found; the star is {star}. Click a point to look at it."
            words += figures.hidden_objectives(front.objective_names)
        panel.view("front_header", types.HeaderView(label="Trade-offs", description=words))
        figure = figures.front_figure(front, applied=split.chosen, selected=selected)
        panel.plot("front", on_click=self.on_point, **figure)

    def _render_apply(self, ctx: Any, panel: Any, run: runs.SplitRun, selected: int) -> None:
        latest = _is_latest(ctx.dataset, run)
        panel.btn(
            "apply",
            label="Apply this split" if latest else "Apply this split again",
            icon="check",
            variant="contained",
            on_click=self.on_apply,
            disabled=latest and selected == run.split.chosen,
        )

    def _render_actions(self, panel: Any) -> None:
        """Offer what can be done: a wide panel leaves no space for the button above the grid."""
        row = panel.h_stack("actions", gap=1, componentsProps=_ROW)
        for name, label, icon, opens in (
            ("again", "Split again", ICON, self.on_start),
            ("undo", "Undo", "undo", self.on_undo),
            ("audit", "Audit", "fact_check", self.on_audit),
            ("save", "Save manifest", "save", self.on_save),
        ):
            row.btn(name, label=label, icon=icon, variant="outlined", on_click=opens, componentsProps=_IN_ROW)

    def _render_labels(self, ctx: Any, panel: Any, report: SplitReport) -> None:
        everything = bool(ctx.panel.get_state("everything", False))
        occurring = len(report.occurring)
        shown = figures.shown_labels(report, everything=everything)
        which = f"{shown} of {occurring} labels. " if shown < occurring else ""
        words = f"{which}{LABELS_IN_WORDS} Click a point to see its samples."
        panel.view("labels_header", types.HeaderView(label=LABELS, description=words))
        panel.plot("labels", on_click=self.on_bar, **figures.label_figure(report, everything=everything))
        if occurring > figures.LABELS_AT_FIRST:
            label = "Show the rarest labels only" if everything else f"Show all {occurring} labels"
            panel.btn("more", label=label, on_click=self.on_more)

    def _run(self, ctx: Any) -> runs.SplitRun | None:
        keys = runs.run_keys(ctx.dataset)
        if not keys:
            return None
        wanted = ctx.panel.get_state("run")
        return _load(ctx.dataset, wanted if wanted in keys else keys[-1])

    def _selected(self, ctx: Any, run: runs.SplitRun) -> int:
        point = ctx.panel.get_state("point")
        n_points = 0 if run.split.front is None else len(run.split.front)
        return int(point) if point is not None and int(point) < n_points else run.split.chosen


def samples_with(dataset: Any, run: runs.SplitRun, split: Split, label: str, subset: str) -> Any:
    """Return the view of the samples of a subset that carry a label.

    The split that is in use is found by its tags; groups, and splits that are not in use, by their ids.
    """
    grouped = is_grouped(dataset)
    in_use = _is_latest(dataset, run) and split.chosen == run.split.chosen
    if split.counts is None or (in_use and not grouped):
        fields, name = list(run.label_fields), label
        if len(fields) > 1:
            fields = [field for field in fields if label.startswith(f"{field}/")]
            name = label.removeprefix(f"{fields[0]}/")
        in_subset = dataset.match_tags(subset) if run.field is None else dataset.match(F(run.field) == subset)
        return in_subset.match_labels(filter=F("label") == name, fields=fields)
    column = split.counts.matrix[:, [split.counts.labels.index(label)]]
    carriers = set(column.nonzero()[0].tolist())
    ids = [split.sample_ids[i] for i in split.indices(subset).tolist() if i in carriers]
    return dataset.select_groups(ids) if grouped else dataset.select(ids)


def _table(ctx: Any, panel: Any, name: str, table: Table) -> None:
    ctx.panel.set_data(name, table_rows(table))
    add_table(panel, name, table.title, table_columns(table))


def _applied(dataset: Any, run: runs.SplitRun, selected: int) -> tuple[str, SplitReport] | None:
    """Return what a run applied, and what to call it, where another of its trade-offs is looked at."""
    if selected == run.split.chosen:
        return None
    return "in use" if _is_latest(dataset, run) else "applied", _report(dataset, run, run.split.chosen)


def _is_latest(dataset: Any, run: runs.SplitRun) -> bool:
    return run.key == runs.run_keys(dataset)[-1]


def _sizes(split: Split) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in zip(split.names, split.sizes, strict=True))


def _what_is_left(split: Split, members: Mapping[str, Any]) -> tuple[Split, int]:
    """Return the part of a split whose samples still exist, and how many do not; the others stay where they were."""
    rows = np.array([row for row, unit in enumerate(split.sample_ids.tolist()) if unit in members], dtype=np.int64)
    n_gone = len(split.sample_ids) - len(rows)
    if not n_gone:
        return split, 0
    if not len(rows):
        raise EvoSplitError("none of the split's samples is left in the dataset; split anew")
    counts = split.counts
    left = replace(
        split,
        placement=split.assignment[rows],
        sample_ids=split.sample_ids[rows],
        target_sizes=tuple(np.bincount(split.assignment[rows], minlength=len(split.names)).tolist()),
        counts=None if counts is None else LabelCounts(counts.matrix[rows], ids=counts.ids[rows], labels=counts.labels),
        file_names=None,
        front=None,  # the trade-offs, groups, locks and strata were those of all samples
        constraints=None,
        recorded_measures=None,
        best_ed=0.0,
        chosen=0,
    )
    return left, n_gone


def _load(dataset: Any, key: str) -> runs.SplitRun:
    made = dataset.get_run_info(key).timestamp
    return _cached_run(str(dataset.name), key, str(made))


@lru_cache(maxsize=8)
def _cached_run(dataset: str, key: str, made: str) -> runs.SplitRun:
    return runs.load_run(fo.load_dataset(dataset), key)


def _point(run: runs.SplitRun, point: int) -> Split:
    return run.split if run.split.front is None or point == run.split.chosen else run.split.pick(point)


def _report(dataset: Any, run: runs.SplitRun, point: int) -> SplitReport:
    made = dataset.get_run_info(run.key).timestamp
    return _cached_report(str(dataset.name), run.key, str(made), point)


@lru_cache(maxsize=64)
def _cached_report(dataset: str, key: str, made: str, point: int) -> SplitReport:
    run = _cached_run(dataset, key, made)
    return _point(run, point).report()
