"""The EvoSplit panel: how good a recorded split is, and which other trade-offs there are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone.operators as foo
import fiftyone.operators.types as types

from evosplit import ParetoFront, SplitReport
from evosplit.report import Table
from evosplit.report.tables import number
from evosplit.wording import counted
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.app import figures
from evosplit_plugins.fiftyone_plugin.app.base import ICON, PLUGIN, in_a_sentence
from evosplit_plugins.fiftyone_plugin.app.choosing import add_choice
from evosplit_plugins.fiftyone_plugin.app.comparing import compare_labels, comparison_figure
from evosplit_plugins.fiftyone_plugin.app.comparing import in_words as compared_in_words
from evosplit_plugins.fiftyone_plugin.app.output import (
    LABELS,
    PANEL,
    add_notes,
    add_table,
    at_a_glance,
    in_words,
    lines,
    meanings,
    plain,
    shown_tables,
    sizes_of,
    table_columns,
    table_rows,
)
from evosplit_plugins.fiftyone_plugin.app.queued import add_queued, queued_runs
from evosplit_plugins.fiftyone_plugin.app.recorded import (
    is_latest,
    load,
    report_at,
    samples_with,
    split_at,
    what_is_left,
)
from evosplit_plugins.fiftyone_plugin.app.records import run_label, run_labels
from evosplit_plugins.fiftyone_plugin.app.refreshing import keep_filters, refresh_app
from evosplit_plugins.fiftyone_plugin.writing import units_of, write_split

__all__ = ["EvoSplitPanel"]

_MARGINS = {"container": {"sx": {"pl": 1, "pr": 2, "pt": 1, "pb": 4}}}  # in the App's units of 8 pixels
_ROW = {"grid": {"sx": {"display": "flex", "flexWrap": "wrap", "gap": 1}}}  # a narrow panel breaks it
_NOTHING = "nothing"
_LATEST = {"run": None, "beside": None, "unfolded": None, "point": None}
_POINTS_OFFERED = 20
_REMEMBERED = 7 * 86_400  # seconds that a panel stays as it was left
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
        """Show the latest split; the App loads the dataset anew for a panel that is opened."""
        self.on_refresh(ctx)
        keep_filters(ctx)

    def on_change_dataset(self, ctx: Any) -> None:
        """Show the latest split of the dataset that was opened."""
        self.on_refresh(ctx)

    def on_refresh(self, ctx: Any) -> None:
        """Show the latest split, as a panel that was just opened does."""
        _remember(ctx, **_LATEST, everything=False, details=False, waited=_unfinished(ctx))

    def on_look(self, ctx: Any) -> None:
        """Look how far scheduled runs are; where one has ended, show what it wrote."""
        waited, now = _remembered(ctx).get("waited") or [], _unfinished(ctx)
        keys = runs.run_keys(ctx.dataset)
        if keys and not set(waited) <= set(now):
            run = load(ctx.dataset, keys[-1])
            refresh_app(ctx, run.field, changed=run.created_field)
            _remember(ctx, **_LATEST)
        _remember(ctx, waited=now)

    def on_show(self, ctx: Any) -> None:
        """Show what a scheduled audit found."""
        ctx.prompt(f"{PLUGIN}/show_audit", params={"run": ctx.params["run"]})

    def on_runs(self, ctx: Any) -> None:
        """Show or hide the recorded splits to choose from."""
        _unfold(ctx, "run")

    def on_run(self, ctx: Any) -> None:
        """Show another recorded split."""
        _remember(ctx, run=ctx.params["value"], beside=None, unfolded=None, point=None)

    def on_offered(self, ctx: Any) -> None:
        """Show or hide what the split can be compared with."""
        _unfold(ctx, "beside")

    def on_beside(self, ctx: Any) -> None:
        """Compare with another trade-off, or with another recorded split."""
        _remember(ctx, beside=ctx.params["value"], unfolded=None)

    def on_point(self, ctx: Any) -> None:
        """Look at another trade-off without applying it."""
        _remember(ctx, point=int(ctx.params["idx"]))

    def on_more(self, ctx: Any) -> None:
        """Show all labels, or the rarest only."""
        _remember(ctx, everything=not _remembered(ctx).get("everything"))

    def on_details(self, ctx: Any) -> None:
        """Show or hide sentences, further tables and the measures."""
        _remember(ctx, details=not _remembered(ctx).get("details"))

    def on_apply(self, ctx: Any) -> None:
        """Re-tag the samples as the selected trade-off says."""
        run = self._run(ctx)
        if run is None:
            return
        members = units_of(ctx.dataset)
        try:
            split, n_gone = what_is_left(split_at(run, self._selected(ctx, run)), members)
            written = write_split(
                ctx.dataset,
                split,
                field=run.field,
                label_fields=run.label_fields,
                keep_tags=run.keep_tags,
                members=members,
            )
        except Exception as error:  # the panel would say nothing of it
            ctx.ops.notify(in_a_sentence(error), variant="error")
            return
        _remember(ctx, run=written.key, point=None)
        refresh_app(ctx, run.field, changed=written.created_field)
        gone = f"; {counted(n_gone, 'sample', 'samples')} deleted since" if n_gone else ""
        ctx.ops.notify(f"Applied: {sizes_of(split)}{gone}", variant="success")

    def on_undo(self, ctx: Any) -> None:
        """Ask whether to take back the latest split."""
        ctx.prompt(f"{PLUGIN}/undo_split", on_success=self.on_refresh)

    def on_audit(self, ctx: Any) -> None:
        """Ask what to audit."""
        ctx.prompt(f"{PLUGIN}/audit_split", on_success=self.on_look)

    def on_save(self, ctx: Any) -> None:
        """Ask which split to save, and where."""
        ctx.prompt(f"{PLUGIN}/save_manifest")

    def on_export(self, ctx: Any) -> None:
        """Ask where to export the subsets to."""
        ctx.prompt(f"{PLUGIN}/export_subsets", on_success=self.on_look)

    def on_bar(self, ctx: Any) -> None:
        """Show the samples behind a point in the grid."""
        run = self._run(ctx)
        if run is None:
            return
        subset, row = int(ctx.params["trace_idx"]), int(ctx.params["idx"])
        point = self._selected(ctx, run)
        split, report = split_at(run, point), report_at(ctx.dataset, run, point)
        if subset >= len(split.names):
            return  # the bar of random splits
        label = report.occurring[row].label
        _show(ctx, samples_with(ctx.dataset, run, split, [label], split.names[subset]))

    def on_subset(self, ctx: Any) -> None:
        """Show the samples of a subset in the grid."""
        run, row = self._run(ctx), int(ctx.params["row"])
        if run is not None and row >= 0:  # the heading is row -1
            split = split_at(run, self._selected(ctx, run))
            _show(ctx, samples_with(ctx.dataset, run, split, [], split.names[row]))

    def on_pair(self, ctx: Any) -> None:
        """Show the samples that have both labels of a pair in the grid."""
        run, row = self._run(ctx), int(ctx.params["row"])
        if run is not None and row >= 0:
            point = self._selected(ctx, run)
            labels = report_at(ctx.dataset, run, point).pairs[row].labels
            _show(ctx, samples_with(ctx.dataset, run, split_at(run, point), labels, None))

    def render(self, ctx: Any) -> Any:
        """Draw the panel."""
        panel = types.Object()
        queued = queued_runs(ctx.dataset)
        add_queued(panel, ctx.dataset, queued, on_look=self.on_look, on_show=self.on_show)
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
        """Open the form; samples that a click in the panel shows are there to look at, not to be split."""
        shown = _stages(ctx.request_params.get("view") or ())
        params = {"view_target": "DATASET"} if shown and shown == _remembered(ctx).get("shown") else None
        ctx.prompt(f"{PLUGIN}/evosplit", params=params, on_success=self.on_refresh)

    def _render_run(self, ctx: Any, panel: Any, run: runs.SplitRun) -> None:
        split = run.split
        self._render_choice(ctx, panel, run)
        self._render_actions(panel)
        if split.counts is None:
            words = "This split was replayed without its label fields, so there is nothing to measure: "
            panel.view("summary", types.Notice(label=plain(words + sizes_of(split))))
            self._render_apply(ctx, panel, run, split.chosen)
            return
        selected = self._selected(ctx, run)
        report = report_at(ctx.dataset, run, selected)
        panel.view("summary", types.Notice(label=at_a_glance(report)))
        add_notes(panel, report.notes)
        if report.occurring:
            self._render_labels(ctx, panel, report)
        offered = self._offered(ctx, run, selected)
        beside = self._beside(ctx, run, selected, offered)
        sizes, *others, measures = shown_tables(report, beside if _same_labels(report, beside) else None)
        _table(ctx, panel, "sizes", sizes, on_click_row=self.on_subset)
        if not report.occurring and others:
            strata, *others = others
            _table(ctx, panel, "strata", strata)
        if split.front is not None:
            self._render_front(ctx, panel, run, split.front, selected)
        self._render_comparison(ctx, panel, report, offered, beside)
        self._render_apply(ctx, panel, run, selected)
        details = bool(_remembered(ctx).get("details"))
        label = "Hide the numbers" if details else "Show all numbers"
        panel.btn("details", label=label, icon="expand_less" if details else "expand_more", on_click=self.on_details)
        if details:
            panel.view("words", types.HeaderView(label="In words", description=lines(in_words(report))))
            for at, table in enumerate(others):
                clicks = {"on_click_row": self.on_pair} if table.columns[0].heading == "pair" else {}
                _table(ctx, panel, f"table{at}", table, **clicks)
            _table(ctx, panel, "measures", measures)
            panel.view("meanings", types.HeaderView(label="What they mean", description=meanings(report)))

    def _render_choice(self, ctx: Any, panel: Any, run: runs.SplitRun) -> None:
        labels = {key: f"Split {label}" for key, label in run_labels(ctx.dataset).items()}
        unfolded = _remembered(ctx).get("unfolded") == "run"
        called = labels[run.key]
        add_choice(panel, "run", labels, run.key, called, unfolded, on_unfold=self.on_runs, on_choose=self.on_run)

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
            star = "in use" if is_latest(ctx.dataset, run) else "the one that was applied then"
            words = f"{len(front)} trade-offs were found; the star is {star}. Click a point to look at it."
            words += figures.hidden_objectives(front.objective_names)
        panel.view("front_header", types.HeaderView(label="Trade-offs", description=words))
        if len(front) > 1:
            figure = figures.front_figure(front, applied=split.chosen, selected=selected)
            panel.plot("front", on_click=self.on_point, **figure)

    def _beside(
        self, ctx: Any, run: runs.SplitRun, selected: int, offered: Mapping[str, str]
    ) -> tuple[str, SplitReport] | None:
        """Return the split to compare with, and what to call it: the one that was chosen, else that in use."""
        kind, _, which = _beside_in(ctx, offered).partition(":")
        if kind == "run":
            other = load(ctx.dataset, which)
            if other.split.counts is not None:
                return f"split {runs.run_number(which)}", report_at(ctx.dataset, other, other.split.chosen)
        if kind == "point":
            return f"trade-off {which}", report_at(ctx.dataset, run, int(which))
        if selected == run.split.chosen:
            return None
        called = "in use" if is_latest(ctx.dataset, run) else "applied"
        return called, report_at(ctx.dataset, run, run.split.chosen)

    def _offered(self, ctx: Any, run: runs.SplitRun, selected: int) -> dict[str, str]:
        """Name what the split can be compared with: other trade-offs, other recorded splits."""
        front = run.split.front
        found = []
        for at, values in enumerate([] if front is None else front.objectives.tolist()):
            if front is not None and at not in (selected, run.split.chosen):
                said = [f"{name} {number(value)}" for name, value in zip(front.objective_names, values, strict=True)]
                found.append((f"point:{at}", f"trade-off {at}: {', '.join(said)}"))
        others = [key for key in reversed(runs.run_keys(ctx.dataset)) if key != run.key]
        found = found[:_POINTS_OFFERED] + [(f"run:{key}", f"split {run_label(ctx.dataset, key)}") for key in others]
        starred = "nothing else" if selected == run.split.chosen else "the trade-off with the star"
        return {_NOTHING: starred, **dict(found)} if found else {}

    def _render_comparison(
        self,
        ctx: Any,
        panel: Any,
        report: SplitReport,
        offered: Mapping[str, str],
        beside: tuple[str, SplitReport] | None,
    ) -> None:
        """Offer other splits to compare with, and show the chosen one label by label."""
        if offered:
            chosen, unfolded = _beside_in(ctx, offered), _remembered(ctx).get("unfolded") == "beside"
            called = f"Compare with {'another split' if beside is None else offered[chosen]}"
            clicks = {"on_unfold": self.on_offered, "on_choose": self.on_beside}
            add_choice(panel, "beside", offered, chosen, called, unfolded, **clicks)
        if beside is not None:
            pairs = compare_labels(report, beside[1])
            words = compared_in_words(pairs, "the one in use" if beside[0] == "in use" else beside[0])
            panel.view("beside_header", types.HeaderView(label="Label by label", description=plain(words)))
            if pairs:
                panel.plot("comparison", **comparison_figure(pairs, beside[0]))

    def _render_apply(self, ctx: Any, panel: Any, run: runs.SplitRun, selected: int) -> None:
        latest = is_latest(ctx.dataset, run)
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
            ("export", "Export", "drive_folder_upload", self.on_export),
        ):
            row.btn(name, label=label, icon=icon, variant="outlined", on_click=opens, componentsProps=_IN_ROW)

    def _render_labels(self, ctx: Any, panel: Any, report: SplitReport) -> None:
        everything = bool(_remembered(ctx).get("everything"))
        occurring = len(report.occurring)
        words = f"{figures.labels_in_words(report, everything=everything)} Click a point to see its samples."
        panel.view("labels_header", types.HeaderView(label=LABELS, description=words))
        panel.plot("labels", on_click=self.on_bar, **figures.label_figure(report, everything=everything))
        if occurring > figures.LABELS_AT_FIRST:
            label = "Show the rarest labels only" if everything else f"Show all {occurring} labels"
            panel.btn("more", label=label, on_click=self.on_more)

    def _run(self, ctx: Any) -> runs.SplitRun | None:
        keys = runs.run_keys(ctx.dataset)
        if not keys:
            return None
        wanted = _remembered(ctx).get("run")
        return load(ctx.dataset, wanted if wanted in keys else keys[-1])

    def _selected(self, ctx: Any, run: runs.SplitRun) -> int:
        point = _remembered(ctx).get("point")
        n_points = 0 if run.split.front is None else len(run.split.front)
        return int(point) if point is not None and int(point) < n_points else run.split.chosen


def _remember(ctx: Any, **values: Any) -> None:
    """Keep what was clicked in the database: what the App keeps of a panel is out of date when a long event ends.

    Besides, the App loads the dataset anew whenever that changes, and clears the filters of the sidebar.
    """
    ctx.store(PANEL).set(ctx.panel_id, {**_remembered(ctx), **values}, ttl=_REMEMBERED)


def _remembered(ctx: Any) -> dict[str, Any]:
    return ctx.store(PANEL).get(ctx.panel_id) or {}


def _unfinished(ctx: Any) -> list[str]:
    """Return the keys of the scheduled runs that have not ended."""
    return [run.key for run in queued_runs(ctx.dataset) if not run.ended]


def _beside_in(ctx: Any, offered: Mapping[str, str]) -> str:
    """Return what was chosen to compare with, as long as it is offered: not every split has other points."""
    chosen = str(_remembered(ctx).get("beside"))
    return chosen if chosen in offered else _NOTHING


def _unfold(ctx: Any, name: str) -> None:
    _remember(ctx, unfolded=None if _remembered(ctx).get("unfolded") == name else name)


def _show(ctx: Any, view: Any) -> None:
    """Show a view in the grid, and remember it."""
    ctx.ops.set_view(view)
    _remember(ctx, shown=_stages(view._serialize()))


def _stages(view: Sequence[Mapping[str, Any]]) -> str:
    """Tell what the stages of a view do; the App gives each an id of its own."""
    return json.dumps([[stage["_cls"], stage["kwargs"]] for stage in view]) if view else ""


def _table(ctx: Any, panel: Any, name: str, table: Table, **clicks: Any) -> None:
    ctx.panel.set_data(name, table_rows(table))
    add_table(panel, name, table.title, table_columns(table), **clicks)


def _same_labels(report: SplitReport, beside: tuple[str, SplitReport] | None) -> bool:
    return beside is not None and {row.label for row in report.labels} <= {row.label for row in beside[1].labels}
