"""The form of the EvoSplit operator: what the user asks for, checked while it is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fiftyone.operators.types as types

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import duplicates, fields, reading, runs
from evosplit_plugins.fiftyone_plugin.app.base import CAPTIONS
from evosplit_plugins.fiftyone_plugin.app.counting import Counter
from evosplit_plugins.fiftyone_plugin.app.inputs import add_one, add_several, add_switch
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
from evosplit_plugins.fiftyone_plugin.writing import check_field

__all__ = ["add_label_field", "add_overwrite", "build_form"]

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
    paths = add_label_field(inputs, samples, "Labels to spread evenly")
    _add_subsets(inputs, ctx.params)
    add_preview(inputs, ctx, samples, counter)
    _add_more(inputs, ctx.params)
    if ctx.params.get("more"):
        _add_groups(inputs, ctx, samples, counter)
        _add_strata(inputs, ctx, samples, paths)
        _add_output(inputs, ctx)
        _add_search(inputs, ctx.params)
        refused = inputs.properties.get("request_error")
        if refused is not None:  # the first one is out of sight where the last fields are filled in
            inputs.view("request_error_again", refused.view)
    view = types.PromptView(label="EvoSplit", submit_button_label="Execute")
    return types.Property(inputs, view=view)


def add_label_field(inputs: Any, samples: Any, label: str) -> Mapping[str, str]:
    """Ask for the fields with labels; returns the paths of all that there are."""
    paths = reading.label_paths(samples)
    known = reading.label_fields(paths)
    kinds = {name: " (masks)" if isinstance(path, MaskPath) else " (text)" for name, path in paths.items()}
    called = {name: name if name in known else name + kind for name, kind in kinds.items()}
    likely = reading.likely_field(known)
    default = [] if likely is None else [likely]
    add_several(inputs, "label_field", called, default=default, label=label)
    return paths


def _add_subsets(inputs: Any, params: Mapping[str, Any]) -> None:
    presets = {name: " / ".join(ratios) for name, ratios in PRESETS.items()}
    add_one(inputs, "subsets", {**presets, "custom": "Other names", "folds": "k folds"}, radio=True, label="Subsets")
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
        inputs.int("folds", default=DEFAULT_FOLDS, label=CAPTIONS["folds"])


def _add_more(inputs: Any, params: Mapping[str, Any]) -> None:
    try:
        said = SplitRequest.from_params(params).in_one_line
    except EvoSplitError:  # it is said above
        said = "what stays together, what else is balanced, where it is written, how long it is searched"
    add_switch(inputs, "more", "More", plain(said))


def _add_groups(inputs: Any, ctx: Any, samples: Any, counter: Counter) -> None:
    add_several(
        inputs,
        "group_by",
        {name: _CALLED.get(name, name) for name in fields.group_fields(samples)},
        label=CAPTIONS["group_by"],
        description="For example frames of one video or pictures of one patient: they never cross subsets",
    )
    inputs.str(
        "group_regex",
        label=CAPTIONS["group_regex"],
        description="A regular expression; the text of its first parentheses counts, if there are any",
        allow_empty=True,
    )
    about = "Samples with the same file, and copies of one source by Roboflow"
    add_switch(inputs, "group_copies", "Keep copies of one picture together", about, default=True)
    offered = counter.ask(["duplicates"], lambda: duplicates.duplicate_sources(samples))
    if not offered:
        return
    row = inputs.h_stack("duplicates", gap=2)
    chosen = (ctx.params.get("duplicates") or {}).get("near_duplicates")
    takes_threshold = chosen is not None and chosen != NO_DUPLICATES and duplicates.is_run(samples, chosen)
    kinds = {name: "similarity run" if duplicates.is_run(samples, name) else "field" for name in offered}
    called = {NO_DUPLICATES: "Do not look for them", **{name: f"{name} ({kind})" for name, kind in kinds.items()}}
    label = "Keep near duplicates together, as told by"
    add_one(row, "near_duplicates", called, label=label, space=8 if takes_threshold else 12)
    if takes_threshold:
        row.float(
            threshold_of(chosen),
            default=duplicates.DEFAULT_THRESHOLD,
            min=0,
            label="Distance up to",
            view=types.FieldView(space=4),
        )


def _add_strata(inputs: Any, ctx: Any, samples: Any, paths: Mapping[str, str]) -> None:
    chosen = several(ctx.params.get("label_field")) or (reading.likely_field(reading.label_fields(paths)) or "",)
    add_several(
        inputs,
        "stratify_by",
        {name: _CALLED.get(name, name) for name in fields.strata_fields(samples, chosen)},
        label=CAPTIONS["stratify_by"],
        description="Further fields that every subset is to share: weather, camera, box sizes",
    )


def _add_output(inputs: Any, ctx: Any) -> None:
    add_one(inputs, "write", {"tags": "Sample tags", "field": "A field"}, radio=True, label="Write the subsets as")
    earlier = plain(", ".join(sorted(runs.written_tags(ctx.dataset))))
    replaced = f"Removes the tags that it wrote{f' ({earlier})' if earlier else ''} first; all other tags stay"
    if ctx.params.get("write") == "field":
        inputs.str("field", default=DEFAULT_FIELD, label=CAPTIONS["field"], allow_empty=True)
        field = ctx.params.get("field") or DEFAULT_FIELD
        if not _can_be_written(ctx.dataset, field):
            replaced = "No tag is changed"
        elif ctx.dataset.get_field(field) is None:
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
        label=CAPTIONS["locked"],
        description="Only the other samples are placed, so that the whole comes out balanced",
    )
    inputs.enum("existing", existing.values(), default="replace", label="Earlier splits", view=existing)
    about = "Under the subset's name, where no view has it; undo takes them away again"
    add_switch(inputs, "saved_views", "Save a view of each subset", about)


def _can_be_written(dataset: Any, field: str) -> bool:
    """Tell whether a field can hold subsets; why not is said above."""
    try:
        check_field(dataset, field)
    except EvoSplitError:
        return False
    return True


def add_overwrite(inputs: Any) -> None:
    """Ask whether values of a field may be replaced that EvoSplit did not write."""
    about = "EvoSplit did not write them; undo brings them back"
    add_switch(inputs, "overwrite", CAPTIONS["overwrite"], about)


def _add_search(inputs: Any, params: Mapping[str, Any]) -> None:
    about = "Each subset gets every label that has enough samples"
    add_switch(inputs, "cover", CAPTIONS["cover"], about, default=True)
    if params.get("cover", True) is not False:
        inputs.int(
            "min_per_label",
            default=1,
            min=1,
            label=CAPTIONS["min_per_label"],
            description="Where a label has enough of them",
        )
    inputs.str(
        "label_weights",
        label=CAPTIONS["label_weights"],
        description="Labels that matter more than 1, for example: rare: 5, traffic light: 2",
        allow_empty=True,
    )
    row = inputs.h_stack("search", gap=2)
    add_one(row, "effort", EFFORTS, default="normal", label=CAPTIONS["effort"], space=8)
    row.int("seed", default=0, label=CAPTIONS["seed"], min=0, view=types.FieldView(space=4))
