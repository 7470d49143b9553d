"""The form of the EvoSplit operator: what the user asks for, checked while it is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fiftyone.operators.types as types

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import duplicates, fields, reading, runs
from evosplit_plugins.fiftyone_plugin.app.counting import Counter
from evosplit_plugins.fiftyone_plugin.app.output import plain
from evosplit_plugins.fiftyone_plugin.app.preview import add_preview
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
    add_preview(inputs, ctx, samples, counter)
    _add_more(inputs, ctx.params)
    if ctx.params.get("more"):
        _add_groups(inputs, ctx, samples, counter)
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


def _add_more(inputs: Any, params: Mapping[str, Any]) -> None:
    try:
        said = SplitRequest.from_params(params).in_one_line
    except EvoSplitError:  # it is said above
        said = "what stays together, what else is balanced, where it is written, how long it is searched"
    inputs.bool("more", default=False, label="More", description=plain(said), view=types.SwitchView())


def _add_groups(inputs: Any, ctx: Any, samples: Any, counter: Counter) -> None:
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
    offered = counter.ask(["duplicates"], lambda: duplicates.duplicate_sources(samples))
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
