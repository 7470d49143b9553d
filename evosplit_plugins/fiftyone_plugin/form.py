"""The form of the EvoSplit operator: what the user asks for, checked while it is typed."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import fiftyone.operators.types as types

from evosplit import EvoSplitError
from evosplit.ratios import Subsets, fold_subsets, resolve_subsets
from evosplit_plugins.fiftyone_plugin import labels, runs, tags
from evosplit_plugins.fiftyone_plugin.output import plain

__all__ = ["SplitRequest", "build_form", "parse_subsets"]

PRESETS = {
    "train_val_test": {"train": 0.8, "val": 0.1, "test": 0.1},
    "train_test": {"train": 0.8, "test": 0.2},
}
EFFORTS = {
    "fast": "Fast: a good split in seconds",
    "normal": "Normal",
    "thorough": "Thorough: the best split, takes longer",
}
DEFAULT_FOLDS = 5
DEFAULT_FIELD = "split"
DEFAULT_CUSTOM = "train: 0.7, val: 0.15, test: 0.15"
_overviews: OrderedDict[str, labels.Overview] = OrderedDict()
_OVERVIEWS_KEPT = 32


@dataclass(frozen=True)
class SplitRequest:
    """What the user asks for, as keywords of `evosplit_fiftyone`."""

    label_field: tuple[str, ...] | None
    ratios: Mapping[str, float] | None
    folds: int | None
    field: str | None
    keep: bool
    cover: bool
    effort: str
    seed: int

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> SplitRequest:
        """Read the parameters of the form, or those of a caller from Python, who leaves out what is default.

        Examples
        --------
        >>> SplitRequest.from_params({"subsets": "folds", "folds": 3}).folds
        3
        >>> dict(SplitRequest.from_params({"ratios": {"train": 0.9, "test": 0.1}}).ratios)
        {'train': 0.9, 'test': 0.1}
        """
        params = {**(params.get("search") or {}), **params}  # the form nests what it shows side by side
        ratios, folds = _subsets_of(params)
        write = params.get("write") or "tags"
        if write not in ("tags", "field"):
            raise EvoSplitError(f"write is {write!r}; choose 'tags' or 'field'")
        existing = params.get("existing") or "replace"
        if existing not in ("replace", "keep"):
            raise EvoSplitError(f"existing is {existing!r}; choose 'replace' or 'keep'")
        chosen = params.get("label_field")
        seed = params.get("seed")
        return cls(
            label_field=(chosen,) if isinstance(chosen, str) else tuple(chosen) if chosen else None,
            ratios=ratios,
            folds=folds,
            field=(params.get("field") or DEFAULT_FIELD) if write == "field" else None,
            keep=existing == "keep",
            cover=params.get("cover", True) is not False,
            effort=params.get("effort") or "normal",
            seed=0 if seed is None else int(seed),
        )

    def subsets(self, n_units: int) -> Subsets:
        """Return names and exact sizes, or raise what is wrong with them."""
        if self.folds is not None:
            if self.folds < 2:
                raise EvoSplitError(f"{self.folds} folds make no split; give at least 2")
            return fold_subsets(self.folds, n_units)
        return resolve_subsets(self.ratios or {}, n_units)

    def options(self) -> dict[str, Any]:
        """Return the keywords of `make_split`."""
        return {
            "ratios": self.ratios,
            "folds": self.folds,
            "label_field": self.label_field,
            "field": self.field,
            "keep": self.keep,
            "cover": self.cover,
            "effort": self.effort,
            "seed": self.seed,
        }


def _subsets_of(params: Mapping[str, Any]) -> tuple[Mapping[str, float] | None, int | None]:
    if params.get("ratios") is not None:
        given = params["ratios"]
        return (given if isinstance(given, Mapping) else tuple(given)), None  # type: ignore[return-value]
    preset = params.get("subsets") or ("folds" if params.get("folds") is not None else "train_val_test")
    if preset == "folds":
        folds = params.get("folds")
        return None, DEFAULT_FOLDS if folds is None else int(folds)
    if preset == "custom":
        return parse_subsets(params.get("custom") or ""), None
    if preset not in PRESETS:
        raise EvoSplitError(f"subsets is {preset!r}; choose from {', '.join([*PRESETS, 'custom', 'folds'])}")
    typed = params.get(preset) or PRESETS[preset]
    ratios = {}
    for name, default in PRESETS[preset].items():
        value = typed.get(name)
        if value is None:
            raise EvoSplitError(f"the ratio of {name!r} is empty; give a number such as {default}")
        ratios[name] = float(value)
    return ratios, None


def parse_subsets(text: str) -> dict[str, float]:
    """Read subsets as a user types them: names and ratios (or sizes), separated by commas.

    Examples
    --------
    >>> parse_subsets("train: 0.7, val: 0.2, held out: 0.1")
    {'train': 0.7, 'val': 0.2, 'held out': 0.1}
    >>> parse_subsets("a 60, b 40")
    {'a': 60, 'b': 40}
    """
    subsets: dict[str, float] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, number = entry.rpartition(":") if ":" in entry else entry.rpartition(" ")
        name = name.strip()
        if not colon or not name:
            raise EvoSplitError(f"{entry!r} needs a name and a ratio, such as train: 0.8")
        if name in subsets:
            raise EvoSplitError(f"the subset {name!r} is named twice; name each subset once")
        subsets[name] = _number(number.strip(), name)
    if not subsets:
        raise EvoSplitError(f"no subset is named; write for example {DEFAULT_CUSTOM}")
    return subsets


def _number(text: str, name: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise EvoSplitError(f"the ratio of {name!r} is {text!r}; give a number such as 0.1") from None


def build_form(ctx: Any) -> Any:
    """Build the form of the EvoSplit operator from what has been filled in so far."""
    inputs = types.Object()
    inputs.view_target(ctx, action_description="Split")
    samples = ctx.target_view()
    paths = labels.label_paths(samples)
    if not paths:
        _refuse(inputs, "labels_error", f"The dataset {ctx.dataset.name!r} has no field with labels to spread.")
        return types.Property(inputs, view=types.View(label="EvoSplit"))
    _add_label_field(inputs, paths)
    _add_subsets(inputs, ctx.params)
    _add_preview(inputs, ctx, samples, paths)
    _add_output(inputs, ctx)
    _add_search(inputs)
    view = types.PromptView(label="EvoSplit", submit_button_label="Execute")
    return types.Property(inputs, view=view)


def _add_label_field(inputs: Any, paths: Mapping[str, str]) -> None:
    dropdown = types.DropdownView(multiple=True)
    for name in paths:
        dropdown.add_choice(name, label=name)
    inputs.list(
        "label_field",
        types.String(),
        default=[labels.likely_field(paths)],
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
            description="Ratios that sum to 1, or whole numbers of samples",
            allow_empty=True,
        )
    else:
        inputs.int("folds", default=DEFAULT_FOLDS, label="Number of folds")


def _add_preview(inputs: Any, ctx: Any, samples: Any, paths: Mapping[str, str]) -> None:
    """Say what will be split and into what sizes, or what is wrong."""
    try:
        request = SplitRequest.from_params(ctx.params)
        chosen = labels.choose_fields(samples, request.label_field)
        found = _overview(ctx, samples, chosen)
        if not found.units:
            raise EvoSplitError("There is no sample to split in this view.")
        subsets = request.subsets(found.units)
        tags.check_field(ctx.dataset, request.field)
    except EvoSplitError as error:
        _refuse(inputs, "request_error", _sentence(error))
        return
    sizes = ", ".join(f"{name} {size:,}" for name, size in zip(subsets.names, subsets.sizes, strict=True))
    inputs.view("preview", types.Notice(label=plain(f"{found} will be split: {sizes}")))


def _add_output(inputs: Any, ctx: Any) -> None:
    write = types.RadioGroup(orientation="horizontal")
    write.add_choice("tags", label="Sample tags")
    write.add_choice("field", label="A field")
    inputs.enum("write", write.values(), default="tags", label="Write the subsets as", view=write)
    if ctx.params.get("write") == "field":
        inputs.str("field", default=DEFAULT_FIELD, label="Field name", allow_empty=True)
    existing = types.RadioGroup()
    earlier = plain(", ".join(sorted(runs.written_tags(ctx.dataset))))
    existing.add_choice(
        "replace",
        label="Replace an earlier split",
        description=f"Removes its tags{f' ({earlier})' if earlier else ''} first; all other tags stay",
    )
    existing.add_choice(
        "keep",
        label="Keep what is already in a subset",
        description="Only the other samples are split, around those that stay",
    )
    inputs.enum("existing", existing.values(), default="replace", label="Earlier splits", view=existing)


def _add_search(inputs: Any) -> None:
    inputs.bool(
        "cover",
        default=True,
        label="Rare labels in every subset",
        description="Each subset gets every label that has enough samples",
        view=types.SwitchView(),
    )
    row = inputs.h_stack("search", gap=2)
    effort = types.DropdownView(space=8)
    for name, label in EFFORTS.items():
        effort.add_choice(name, label=label)
    row.enum("effort", effort.values(), default="normal", label="Effort", view=effort)
    row.int("seed", default=0, label="Seed", min=0, view=types.FieldView(space=4))


def _refuse(inputs: Any, name: str, sentence: str) -> None:
    """Show what is wrong, and keep the form from being executed."""
    prop = inputs.view(name, types.Error(label=plain(sentence)))
    prop.invalid = True
    prop.error_message = sentence


def _sentence(error: EvoSplitError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _overview(ctx: Any, samples: Any, chosen: dict[str, str]) -> labels.Overview:
    """Count what is to be split, once per prompt and choice: the form is built at every keystroke."""
    request = ctx.request_params
    asked = [request.get(key) for key in ("dataset_name", "view_target", "view", "filters", "extended", "selected")]
    key = json.dumps([ctx.prompt_id, asked, list(chosen)], default=str)
    if ctx.prompt_id is not None and key in _overviews:
        return _overviews[key]
    found = labels.overview(samples, chosen)
    _overviews[key] = found
    while len(_overviews) > _OVERVIEWS_KEPT:
        _overviews.popitem(last=False)
    return found
