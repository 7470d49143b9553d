"""The form of the EvoSplit operator: what the user asks for, checked while it is typed."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fiftyone.operators.types as types

from evosplit import EvoSplitError, LabelCounts
from evosplit.constraints import resolve_constraints
from evosplit.ratios import Subsets
from evosplit_plugins.fiftyone_plugin import duplicates, fields, reading, runs
from evosplit_plugins.fiftyone_plugin.app.base import in_a_sentence, refuse
from evosplit_plugins.fiftyone_plugin.app.output import plain
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
from evosplit_plugins.fiftyone_plugin.writing import subsets_of_units
from evosplit_plugins.grouping import Links, joined

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
_remembered: OrderedDict[str, Any] = OrderedDict()
_REMEMBERED_AT_MOST = 32
_COMPARED_AT_MOST = 10_000  # samples whose embeddings the form compares to say how many groups there will be


def build_form(ctx: Any) -> Any:
    """Build the form of the EvoSplit operator from what has been filled in so far."""
    inputs = types.Object()
    inputs.view_target(ctx, action_description="Split")
    samples = ctx.target_view()
    paths = reading.label_paths(samples)
    if not paths:
        refuse(inputs, f"The dataset {ctx.dataset.name!r} has no field with labels to spread.", "labels_error")
        return types.Property(inputs, view=types.View(label="EvoSplit"))
    _add_label_field(inputs, paths)
    _add_subsets(inputs, ctx.params)
    _add_preview(inputs, ctx, samples)
    _add_groups(inputs, ctx, samples)
    _add_strata(inputs, ctx, samples, paths)
    _add_output(inputs, ctx)
    _add_search(inputs, ctx.params)
    view = types.PromptView(label="EvoSplit", submit_button_label="Execute")
    return types.Property(inputs, view=view)


def _add_label_field(inputs: Any, paths: Mapping[str, str]) -> None:
    dropdown = types.DropdownView(multiple=True, allow_duplicates=False)
    for name in paths:
        dropdown.add_choice(name, label=name)
    inputs.list(
        "label_field",
        types.String(),
        default=[reading.likely_field(paths)],
        label="Label fields",
        description="The labels in these fields are spread evenly over the subsets",
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


def _add_preview(inputs: Any, ctx: Any, samples: Any) -> None:
    """Say what will be split and into what sizes, or what is wrong."""
    try:
        request = SplitRequest.from_params(ctx.params)
        chosen = reading.choose_fields(samples, request.reading.label_field)
        found: reading.Overview = _remember(ctx, ["labels", *chosen], lambda: reading.overview(samples, chosen))
        if not found.units:
            raise EvoSplitError("There is no sample to split in this view.")
        subsets = request.subsets(found.units)
        lost = _lost(ctx, samples, request)
        if lost:
            raise EvoSplitError(lost)
        fields.check_strata(samples, request.request.strata, chosen)
        _check_weights(request, found, subsets)
        placed = _placed(ctx, samples, request)
        together = _together(ctx, samples, request)
    except EvoSplitError as error:
        refuse(inputs, in_a_sentence(error), "request_error")
        return
    sizes = ", ".join(f"{name} {size:,}" for name, size in zip(subsets.names, subsets.sizes, strict=True))
    groups = request.request.groups or request.reading.near_duplicates
    near = ", as near as whole groups allow" if groups else ""
    what = f"{found} will be split"
    if placed:
        left = reading.plural(found.units - placed, "sample")
        stay = "stays in its subset" if placed == 1 else "stay in their subsets"
        what = f"Of {found}, {placed:,} {stay}; {left} will be placed, so that the whole comes to"
    inputs.view("preview", types.Notice(label=plain(f"{what}: {sizes}{near}{together}")))


def _check_weights(request: SplitRequest, found: reading.Overview, subsets: Subsets) -> None:
    """Refuse weights of labels that do not occur, and weights that are none, with the words of the engine."""
    if request.request.label_weights and found.labels:
        counts = LabelCounts([[1] * len(found.labels)], labels=found.labels)
        resolve_constraints(counts, subsets, label_weights=request.request.label_weights)


def _placed(ctx: Any, samples: Any, request: SplitRequest) -> int:
    """Count the samples that stay where they are; all of them, or one in two subsets, is an error."""
    if not request.keep_existing:
        return 0
    names = request.request.names()

    def find() -> tuple[int, int, list[str]]:
        units = list(dict.fromkeys(reading.Units.of(samples).values([])[0]))
        there = subsets_of_units(reading.root_dataset(samples), units, names, request.field)
        torn = next((each for each in there if len(each) > 1), [])
        return len(units), sum(map(bool, there)), torn

    n_units, placed, torn = _remember(ctx, ["placed", request.field, *names], find)
    if torn:
        raise EvoSplitError(f"a sample is in {torn[0]!r} and in {torn[1]!r} already; remove all but one of them")
    if placed == n_units:
        raise EvoSplitError("every sample is in a subset already, so nothing is left to place; replace the split")
    return int(placed)


def _lost(ctx: Any, samples: Any, request: SplitRequest) -> str:
    """Say why the field cannot be written, or which values it would lose that EvoSplit did not write."""

    def find() -> str:
        try:
            request.check_field(samples)
        except EvoSplitError as error:
            return str(error)
        return ""

    asked = ["lost", request.field, request.writing.overwrite, request.keep_existing, *request.request.names()]
    said: str = "" if request.field is None else _remember(ctx, asked, find)
    return said


def _together(ctx: Any, samples: Any, request: SplitRequest) -> str:
    """Say how many groups there are, unless finding out would keep the user waiting."""
    by, source = request.request.groups, request.reading.near_duplicates
    threshold = request.reading.duplicate_threshold
    if not by and source is None:
        return ""
    large = reading.flattened(reading.root_dataset(samples)).count() > _COMPARED_AT_MOST
    if source is not None and large and duplicates.is_run(samples, source):
        return "; near duplicates are looked for when it runs"

    def find() -> str:
        units = list(dict.fromkeys(reading.Units.of(samples).values([])[0]))
        known = fields.read_fields(samples, units, {}, groups=by, strata=())
        near, _ = duplicates.find_links(samples, units, [None] * len(units), source, threshold)
        links = [Links(values, f"{name}=" if len(by) > 1 else "") for name, values in known.groups.items()]
        sizes = Counter(name for name in joined([*links, *near]) or () if name is not None)
        if not sizes:
            return " (no groups were found)"
        largest = reading.plural(max(sizes.values()), "sample")
        return f" ({reading.plural(len(sizes), 'group')}, the largest of {largest})"

    said: str = _remember(ctx, ["groups", *by, source, threshold], find)
    return said


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
    offered: list[str] = _remember(ctx, ["duplicates"], lambda: duplicates.duplicate_sources(samples))
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
    inputs.bool("more", default=False, label="More options", view=types.SwitchView())
    if params.get("more"):
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
        inputs.bool(
            "group_copies",
            default=True,
            label="Keep copies of one picture together",
            description="Samples with the same file, and copies of one source by Roboflow",
            view=types.SwitchView(),
        )
    row = inputs.h_stack("search", gap=2)
    effort = types.DropdownView(space=8)
    for name, label in EFFORTS.items():
        effort.add_choice(name, label=label)
    row.enum("effort", effort.values(), default="normal", label="Effort", view=effort)
    row.int("seed", default=0, label="Seed", min=0, view=types.FieldView(space=4))


def _remember(ctx: Any, what: Sequence[Any], find: Callable[[], Any]) -> Any:
    """Ask the database once per prompt and question: the form is built at every keystroke."""
    if ctx.prompt_id is None:
        return find()
    request = ctx.request_params
    asked = [request.get(key) for key in ("dataset_name", "view_target", "view", "filters", "extended", "selected")]
    key = json.dumps([ctx.prompt_id, asked, list(what)], default=str)
    if key not in _remembered:
        _remembered[key] = find()
    while len(_remembered) > _REMEMBERED_AT_MOST:
        _remembered.popitem(last=False)
    return _remembered[key]
