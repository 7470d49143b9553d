"""The form of the EvoSplit operator: what the user asks for, checked while it is typed."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import fiftyone.operators.types as types

from evosplit import EvoSplitError, LabelCounts
from evosplit.constraints import resolve_constraints
from evosplit.ratios import Subsets
from evosplit_plugins.fiftyone_plugin import duplicates, fields, reading, runs
from evosplit_plugins.fiftyone_plugin.api import check_asked
from evosplit_plugins.fiftyone_plugin.app.base import PLUGIN, in_a_sentence, refuse
from evosplit_plugins.fiftyone_plugin.app.counting import Counter
from evosplit_plugins.fiftyone_plugin.app.output import plain
from evosplit_plugins.fiftyone_plugin.app.proposals import (
    Proposal,
    propose_equal_names,
    propose_groups,
    propose_subsets,
    rare_labels,
)
from evosplit_plugins.fiftyone_plugin.app.request import (
    DEFAULT_CUSTOM,
    DEFAULT_FIELD,
    DEFAULT_FOLDS,
    NO_DUPLICATES,
    PRESETS,
    SplitRequest,
    several,
    threshold_of,
)
from evosplit_plugins.fiftyone_plugin.masks import MaskPath
from evosplit_plugins.fiftyone_plugin.writing import subsets_of_units
from evosplit_plugins.grouping import Links, joined, regex_values

__all__ = ["add_overwrite", "build_form"]

EFFORTS = {
    "fast": "Fast: a good split in seconds",
    "normal": "Normal",
    "thorough": "Thorough: the best split, takes longer",
}
_CALLED = {
    fields.FOLDER: "filepath: the folder of the file",
    fields.AREA: "area: class × box size (small, medium, large)",
}
_MANY = 10**9  # samples, while they are not counted yet
_COMPARED_AT_MOST = 10_000  # samples whose embeddings the form compares to say how many groups there will be


def build_form(ctx: Any) -> Any:
    """Build the form of the EvoSplit operator from what has been filled in so far.

    At first it shows labels and subsets, what will be done, and proposals; everything else is folded.
    """
    inputs = types.Object()
    inputs.view_target(ctx, action_description="Split")
    samples, counter = ctx.target_view(), Counter(ctx)
    paths = reading.label_paths(samples)
    _add_label_field(inputs, paths)
    _add_subsets(inputs, ctx.params)
    _add_preview(inputs, ctx, samples, counter)
    _add_more(inputs, ctx.params)
    if ctx.params.get("more"):
        _add_groups(inputs, ctx, samples)
        _add_strata(inputs, ctx, samples, paths)
        _add_output(inputs, ctx)
        _add_search(inputs, ctx.params)
    view = types.PromptView(label="EvoSplit", submit_button_label="Execute")
    return types.Property(inputs, view=view)


def _add_label_field(inputs: Any, paths: Mapping[str, str]) -> None:
    dropdown = types.DropdownView(multiple=True, allow_duplicates=False)
    known = reading.label_fields(paths)
    for name, path in paths.items():
        kind = "" if name in known else " (masks)" if isinstance(path, MaskPath) else " (text)"
        dropdown.add_choice(name, label=name + kind)
    likely = reading.likely_field(known)
    inputs.list(
        "label_field",
        types.String(),
        default=[] if likely is None else [likely],
        required=False,
        label="Labels to spread evenly",
        view=dropdown,
    )


def _add_subsets(inputs: Any, params: Mapping[str, Any]) -> None:
    choices = types.RadioGroup(orientation="horizontal")
    choices.add_choice("train_val_test", label="train / val / test")
    choices.add_choice("train_test", label="train / test")
    choices.add_choice("custom", label="Other names")
    choices.add_choice("folds", label="k folds")
    inputs.enum("subsets", choices.values(), default="train_val_test", label="Subsets", view=choices)
    chosen = params.get("subsets") or "train_val_test"
    if chosen in PRESETS:
        row = inputs.h_stack(chosen, gap=2)
        for name, ratio in PRESETS[chosen].items():
            row.float(name, default=ratio, label=name, view=types.FieldView(space=4))
    elif chosen == "custom":
        inputs.str(
            "custom",
            default=DEFAULT_CUSTOM,
            label="Names and ratios",
            description="Ratios, such as 0.8 and 0.2 or 80 and 20, or whole numbers of samples",
            allow_empty=True,
        )
    else:
        inputs.int("folds", default=DEFAULT_FOLDS, label="Number of folds")


def _add_preview(inputs: Any, ctx: Any, samples: Any, counter: Counter) -> None:
    """Say what will be split and into what sizes, or what is wrong; then what may be wanted."""
    try:
        request = SplitRequest.from_params(ctx.params)
        chosen = _chosen(samples, request)
        units = counter.ask(["units"], lambda: reading.count_units(samples))
        if units == 0:
            raise EvoSplitError("There is no sample to split in this view.")
        subsets = request.subsets(units or _MANY)
        lost = _lost(counter, samples, request)
        if lost:
            raise EvoSplitError(lost)
        fields.check_strata(samples, request.request.strata, chosen)
        found = counter.ask(["labels", *chosen], lambda: reading.overview(samples, chosen))
        if found is not None:
            _check_weights(request, found, subsets)
        placed = _placed(counter, samples, request)
        together = _together(counter, samples, request)
        proposals = _proposals(ctx, counter, samples, request, chosen, found, subsets)
    except EvoSplitError as error:
        refuse(inputs, in_a_sentence(error), "request_error")
        return
    sizes = ", ".join(f"{name} {size:,}" for name, size in zip(subsets.names, subsets.sizes, strict=True))
    groups = request.request.groups or request.reading.near_duplicates or request.request.group_regex
    near = ", as near as whole groups allow" if groups else ""
    who = "The samples" if units is None else str(found or reading.plural(units, "sample"))
    what = f"{who} will be split"
    if placed and units is not None:
        left = reading.plural(units - placed, "sample")
        stay = "stays in its subset" if placed == 1 else "stay in their subsets"
        what = f"Of {who}, {placed:,} {stay}; {left} will be placed, so that the whole comes to"
    said = f"{what}{f': {sizes}' if units is not None else ''}{near}{together}"
    inputs.view("preview", types.Notice(label=plain(said)))
    if counter.waiting:
        said = "Counting labels and groups… Execute does not wait for it."
        _add_line(inputs, "counting", said, "Show the counts", ctx)
    for proposal in proposals:
        _add_line(inputs, proposal.name, proposal.sentence, proposal.button, ctx, proposal.params)


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


def _add_more(inputs: Any, params: Mapping[str, Any]) -> None:
    try:
        said = SplitRequest.from_params(params).in_one_line
    except EvoSplitError:  # it is said above
        said = "what stays together, what else is balanced, where it is written, how long it is searched"
    inputs.bool("more", default=False, label="More", description=plain(said), view=types.SwitchView())


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


def _together(counter: Counter, samples: Any, request: SplitRequest) -> str:
    """Say how many groups there are, unless finding out would keep the user waiting."""
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
        sizes = collections.Counter(name for name in joined([*links, *near]) or () if name is not None)
        if not sizes:
            return " (no groups were found)"
        largest = reading.plural(max(sizes.values()), "sample")
        return f" ({reading.plural(len(sizes), 'group')}, the largest of {largest})"

    return counter.ask(["groups", *by, source, threshold, regex], find) or ""


def _add_groups(inputs: Any, ctx: Any, samples: Any) -> None:
    dropdown = types.DropdownView(multiple=True, allow_duplicates=False)
    for name in fields.group_fields(samples):
        dropdown.add_choice(name, label=_CALLED.get(name, name))
    inputs.list(
        "group_by",
        types.String(),
        default=[],
        required=False,
        label="Keep together samples with the same",
        description="For example frames of one video or pictures of one patient: they never cross subsets",
        view=dropdown,
    )
    inputs.str(
        "group_regex",
        label="Keep together files whose paths match with the same text",
        description="A regular expression; the text of its first parentheses counts, if there are any",
        allow_empty=True,
    )
    inputs.bool(
        "group_copies",
        default=True,
        label="Keep copies of one picture together",
        description="Samples with the same file, and copies of one source by Roboflow",
        view=types.SwitchView(),
    )
    offered = duplicates.duplicate_sources(samples)
    if not offered:
        return
    row = inputs.h_stack("duplicates", gap=2)
    chosen = (ctx.params.get("duplicates") or {}).get("near_duplicates")
    takes_threshold = chosen is not None and chosen != NO_DUPLICATES and duplicates.is_run(samples, chosen)
    choices = types.DropdownView(space=8 if takes_threshold else 12)
    choices.add_choice(NO_DUPLICATES, label="Do not look for them")
    for name in offered:
        kind = "similarity run" if duplicates.is_run(samples, name) else "field"
        choices.add_choice(name, label=f"{name} ({kind})")
    row.enum(
        "near_duplicates",
        choices.values(),
        default=NO_DUPLICATES,
        label="Keep near duplicates together, as told by",
        view=choices,
    )
    if takes_threshold:
        row.float(
            threshold_of(chosen),
            default=duplicates.DEFAULT_THRESHOLD,
            min=0,
            label="Distance up to",
            view=types.FieldView(space=4),
        )


def _add_strata(inputs: Any, ctx: Any, samples: Any, paths: Mapping[str, str]) -> None:
    chosen = several(ctx.params.get("label_field")) or (reading.likely_field(paths) or "",)
    dropdown = types.DropdownView(multiple=True, allow_duplicates=False)
    for name in fields.strata_fields(samples, chosen):
        dropdown.add_choice(name, label=_CALLED.get(name, name))
    inputs.list(
        "stratify_by",
        types.String(),
        default=[],
        required=False,
        label="Balance also",
        description="Further fields that every subset is to share: weather, camera, box sizes",
        view=dropdown,
    )


def _add_output(inputs: Any, ctx: Any) -> None:
    write = types.RadioGroup(orientation="horizontal")
    write.add_choice("tags", label="Sample tags")
    write.add_choice("field", label="A field")
    inputs.enum("write", write.values(), default="tags", label="Write the subsets as", view=write)
    earlier = plain(", ".join(sorted(runs.written_tags(ctx.dataset))))
    replaced = f"Removes the tags that it wrote{f' ({earlier})' if earlier else ''} first; all other tags stay"
    if ctx.params.get("write") == "field":
        inputs.str("field", default=DEFAULT_FIELD, label="Field name", allow_empty=True)
        field = ctx.params.get("field") or DEFAULT_FIELD
        if ctx.dataset.get_field(field) is None:
            replaced = "The field is created; no tag is changed"
        elif field in runs.written_fields(ctx.dataset):
            replaced = f"Overwrites what it wrote into {plain(field)}; undo brings it back, no tag is changed"
        else:
            replaced = f"Overwrites {plain(field)}, if you allow it; no tag is changed"
            add_overwrite(inputs)
    existing = types.RadioGroup()
    existing.add_choice("replace", label="Replace an earlier split", description=replaced)
    existing.add_choice(
        "keep",
        label="Keep what is already in a subset",
        description="Only the other samples are placed, so that the whole comes out balanced",
    )
    inputs.enum("existing", existing.values(), default="replace", label="Earlier splits", view=existing)
    inputs.bool(
        "saved_views",
        default=False,
        label="Save a view of each subset",
        description="Under the subset's name, where no view has it; undo takes them away again",
        view=types.SwitchView(),
    )


def add_overwrite(inputs: Any) -> None:
    """Ask whether values of a field may be replaced that EvoSplit did not write."""
    inputs.bool(
        "overwrite",
        default=False,
        label="Replace the values of this field",
        description="EvoSplit did not write them; undo brings them back",
        view=types.SwitchView(),
    )


def _add_search(inputs: Any, params: Mapping[str, Any]) -> None:
    inputs.bool(
        "cover",
        default=True,
        label="Rare labels in every subset",
        description="Each subset gets every label that has enough samples",
        view=types.SwitchView(),
    )
    if params.get("cover", True) is not False:
        inputs.int(
            "min_per_label",
            default=1,
            min=1,
            label="Samples of each label in each subset, at least",
            description="Where a label has enough of them",
        )
    inputs.str(
        "label_weights",
        label="Label weights",
        description="Labels that matter more than 1, for example: rare: 5, traffic light: 2",
        allow_empty=True,
    )
    row = inputs.h_stack("search", gap=2)
    effort = types.DropdownView(space=8)
    for name, label in EFFORTS.items():
        effort.add_choice(name, label=label)
    row.enum("effort", effort.values(), default="normal", label="Effort", view=effort)
    row.int("seed", default=0, label="Seed", min=0, view=types.FieldView(space=4))
