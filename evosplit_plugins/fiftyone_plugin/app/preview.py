"""What the form says before anything runs: what will be split into what, what is wrong, what may be wanted."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any, ClassVar

import fiftyone.operators.types as types

from evosplit import EvoSplitError, LabelCounts
from evosplit.constraints import resolve_constraints
from evosplit.ratios import Subsets
from evosplit.wording import counted
from evosplit_plugins.fiftyone_plugin import duplicates, fields, reading
from evosplit_plugins.fiftyone_plugin.api import check_asked
from evosplit_plugins.fiftyone_plugin.app.base import PLUGIN, AppOperator, in_a_sentence, refuse
from evosplit_plugins.fiftyone_plugin.app.counting import Counter
from evosplit_plugins.fiftyone_plugin.app.output import plain, sizes_of
from evosplit_plugins.fiftyone_plugin.app.proposals import (
    Proposal,
    propose_equal_names,
    propose_groups,
    propose_subsets,
    rare_labels,
)
from evosplit_plugins.fiftyone_plugin.app.request import SplitRequest
from evosplit_plugins.fiftyone_plugin.writing import subsets_of_units
from evosplit_plugins.grouping import Links, joined, regex_values

__all__ = ["CountSamples", "add_preview"]

_COMPARED_AT_MOST = 10_000  # samples whose embeddings the form compares to say how many groups there will be
_COUNTING = "Counting… Execute does not wait for it."
_LONG = 300.0  # seconds that the counts may take; FiftyOne ends what takes 600


def add_preview(inputs: Any, ctx: Any, samples: Any, counter: Counter) -> None:
    """Say what will be split and into what sizes, or what is wrong; then what may be wanted."""
    try:
        request = SplitRequest.from_params(ctx.params)
        units = counter.ask(["units"], lambda: reading.count_units(samples))
        if units is None:
            _add_counting(inputs, ctx)
            return
        if not units:
            raise EvoSplitError("There is no sample to split in this view.")
        chosen = _chosen(samples, request)
        subsets = request.request.subsets(units)
        lost = _lost(counter, samples, request)
        if lost:
            raise EvoSplitError(lost)
        fields.check_strata(samples, request.request.strata, chosen)
        found = counter.ask(["labels", *chosen], lambda: reading.overview(samples, chosen))
        if found is not None:
            _check_weights(request, found, subsets)
        placed = _placed(counter, samples, request)
        together = _together(counter, samples, request, subsets)
        proposals = _proposals(ctx, counter, samples, request, chosen, found, subsets)
    except Exception as error:  # the App would close the form, with all that was filled in
        refuse(inputs, in_a_sentence(error), "request_error")
        return
    sizes = sizes_of(dict(zip(subsets.names, subsets.sizes, strict=True)))
    groups = request.request.groups or request.reading.near_duplicates or request.request.group_regex
    near = ", as near as whole groups allow" if groups else ""
    who = str(found or counted(units, "sample", "samples"))
    what = f"{who} will be split"
    if placed:
        left = counted(units - placed, "sample", "samples")
        stay = "stays in its subset" if placed == 1 else "stay in their subsets"
        what = f"Of {who}, {placed:,} {stay}; {left} will be placed, so that the whole comes to"
    what = plain(f"{what}: {sizes}{near}{together}")
    if counter.waiting:
        _add_counting(inputs, ctx, what)
        return
    inputs.view("preview", types.Notice(label=what))
    for proposal in proposals:
        _add_line(inputs, proposal.name, proposal.sentence, proposal.button, ctx, proposal.params)


def _add_counting(inputs: Any, ctx: Any, known: str = "") -> None:
    """Say what is known already; the App asks `CountSamples` for the rest, and puts it here when it comes."""
    rest = types.ResolvableProperty(f"{PLUGIN}/count_samples", params={"prompt_id": ctx.prompt_id})
    inputs.define_property("counting", rest, view=types.View(label=_COUNTING, description=known))


class CountSamples(AppOperator):
    """Answer what the form could not wait for."""

    about: ClassVar[Mapping[str, Any]] = {"name": "count_samples", "label": "EvoSplit: count", "unlisted": True}

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Build this part of the form when all is counted."""
        inputs = types.Object()
        add_preview(inputs, ctx, ctx.target_view(), Counter(ctx, _LONG))
        built: dict[str, Any] = types.Property(inputs).to_json()
        return built


def _chosen(samples: Any, request: SplitRequest) -> dict[str, str]:
    """Return the label fields with their paths; none of them where there is none to guess, if something is balanced."""
    asked = request.reading.label_field
    if asked is None and reading.likely_field(reading.label_fields(reading.label_paths(samples))) is None:
        asked = ()
    check_asked(asked, request.request)
    return reading.choose_fields(samples, asked)


def _proposals(
    ctx: Any,
    counter: Counter,
    samples: Any,
    request: SplitRequest,
    chosen: Mapping[str, str],
    found: reading.Overview | None,
    subsets: Subsets,
) -> list[Proposal]:
    """Ask for everything that may be wanted, and is not set already."""
    asked, made = request.request, []
    if not asked.groups:
        made.append(counter.ask(["propose groups", *chosen], lambda: propose_groups(samples, list(chosen))))
    if not asked.group_regex:
        made.append(counter.ask(["propose names"], lambda: propose_equal_names(samples)))
    if found is not None:
        k, counts = len(subsets), found
        rare = counter.ask(["rare", k, *chosen], lambda: rare_labels(samples, chosen, counts, k))
        made.append(propose_subsets(rare or {}, subsets, ctx.params))
    return [proposal for proposal in made if proposal is not None]


def _add_line(
    inputs: Any, name: str, sentence: str, button: str, ctx: Any, params: Mapping[str, Any] | None = None
) -> None:
    """Add a sentence with a button that fills in the form; the App builds it anew with these parameters."""
    row = inputs.h_stack(name, gap=2, align_y="center")
    row.view(f"{name}_said", types.MarkdownView(label=plain(sentence), read_only=True, space=8 if button else 12))
    if button:
        filled = {**ctx.params, **(params or {})}
        row.btn(
            f"{name}_take",
            label=button,
            variant="outlined",
            on_click=f"{PLUGIN}/evosplit",
            prompt=True,
            params=filled,
            space=4,
        )


def _check_weights(request: SplitRequest, found: reading.Overview, subsets: Subsets) -> None:
    """Refuse weights of labels that do not occur, and weights that are none, with the words of the engine."""
    if request.request.label_weights and found.labels and not found.unread:
        counts = LabelCounts([[1] * len(found.labels)], labels=list(found.labels))
        resolve_constraints(counts, subsets, label_weights=request.request.label_weights)


def _placed(counter: Counter, samples: Any, request: SplitRequest) -> int:
    """Count the samples that stay where they are; all of them, or one in two subsets, is an error."""
    if not request.keep_existing:
        return 0
    names = request.request.names()

    def find() -> tuple[int, int, list[str]]:
        units = list(dict.fromkeys(reading.Units.of(samples).values([])[0]))
        there = subsets_of_units(reading.root_dataset(samples), units, names, request.field)
        torn = next((each for each in there if len(each) > 1), [])
        return len(units), sum(map(bool, there)), torn

    known = counter.ask(["placed", request.field, *names], find)
    if known is None:
        return 0
    n_units, placed, torn = known
    if torn:
        raise EvoSplitError(f"a sample is in {torn[0]!r} and in {torn[1]!r} already; remove all but one of them")
    if placed == n_units:
        raise EvoSplitError("every sample is in a subset already, so nothing is left to place; replace the split")
    return int(placed)


def _lost(counter: Counter, samples: Any, request: SplitRequest) -> str:
    """Say why the field cannot be written, or which values it would lose that EvoSplit did not write."""

    def find() -> str:
        try:
            request.check_field(samples)
        except EvoSplitError as error:
            return str(error)
        return ""

    asked = ["lost", request.field, request.writing.overwrite, request.keep_existing, *request.request.names()]
    return "" if request.field is None else counter.ask(asked, find) or ""


def _together(counter: Counter, samples: Any, request: SplitRequest, subsets: Subsets) -> str:
    """Say how many groups there are, unless finding out would keep the user waiting; one in two subsets is an error."""
    by, source = request.request.groups, request.reading.near_duplicates
    threshold, regex = request.reading.duplicate_threshold, request.request.group_regex
    if not by and source is None and regex is None:
        return ""
    large = reading.flattened(reading.root_dataset(samples)).count() > _COMPARED_AT_MOST
    if source is not None and large and duplicates.is_run(samples, source):
        return "; near duplicates are looked for when it runs"

    def find() -> str:
        units = list(dict.fromkeys(reading.Units.of(samples).values([])[0]))
        files = reading.files_of_units(reading.root_dataset(samples)) if regex is not None else {}
        known = fields.read_fields(samples, units, {}, groups=by, strata=())
        near, _ = duplicates.find_links(samples, units, [None] * len(units), source, threshold)
        links = [Links(values, f"{name}=" if len(by) > 1 else "") for name, values in known.groups.items()]
        if regex is not None:
            links.append(Links(regex_values(regex, [files[unit] for unit in units])))
        groups = joined([*links, *near]) or []
        if request.keep_existing and groups:
            there = subsets_of_units(reading.root_dataset(samples), units, subsets.names, request.field)
            placed = [each[0] if each else None for each in there]
            resolve_constraints(LabelCounts([[0]] * len(units)), subsets, groups=groups, locked=placed)
        sizes = collections.Counter(name for name in groups if name is not None)
        if not sizes:
            return " (no groups were found)"
        largest = counted(max(sizes.values()), "sample", "samples")
        return f" ({counted(len(sizes), 'group', 'groups')}, the largest of {largest})"

    kept = [request.field, *subsets.names] if request.keep_existing else []
    return counter.ask(["groups", *by, source, threshold, regex, kept], find) or ""
