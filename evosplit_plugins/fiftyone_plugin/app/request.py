"""What the form of the EvoSplit operator asks for, read from its parameters: `SplitRequest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from evosplit import EvoSplitError
from evosplit.ratios import Subsets, fold_subsets, resolve_subsets

__all__ = ["SplitRequest", "parse_subsets", "parse_weights"]

PRESETS = {
    "train_val_test": {"train": 0.8, "val": 0.1, "test": 0.1},
    "train_test": {"train": 0.8, "test": 0.2},
}
DEFAULT_FOLDS = 5
DEFAULT_FIELD = "split"
DEFAULT_CUSTOM = "train: 0.7, val: 0.15, test: 0.15"
NO_DUPLICATES = "_none"  # no field or run can be called so


@dataclass(frozen=True)
class SplitRequest:
    """What the user asks for, as keywords of `evosplit_fiftyone`."""

    label_field: tuple[str, ...] | None
    ratios: Mapping[str, float] | None
    folds: int | None
    field: str | None
    keep: bool
    overwrite: bool
    group_field: tuple[str, ...]
    near_duplicates: str | None
    duplicate_threshold: float | None
    group_copies: bool
    strata_fields: tuple[str, ...]
    cover: bool | str
    min_per_label: int
    label_weights: Mapping[str, float] | None
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
        for row in ("duplicates", "search"):  # the form nests what it shows side by side
            params = {**(params.get(row) or {}), **params}
        near_duplicates = params.get("near_duplicates")
        if near_duplicates == NO_DUPLICATES:
            near_duplicates = None
        threshold = params.get("duplicate_threshold", params.get(threshold_of(near_duplicates)))
        ratios, folds = _subsets_of(params)
        write = params.get("write") or "tags"
        if write not in ("tags", "field"):
            raise EvoSplitError(f"write is {write!r}; choose 'tags' or 'field'")
        existing = params.get("existing") or "replace"
        if existing not in ("replace", "keep"):
            raise EvoSplitError(f"existing is {existing!r}; choose 'replace' or 'keep'")
        asked = params.get("cover")
        cover = True if asked is None else asked
        hidden = params.get("more") is False  # what was typed before the form hid it does not hold
        weights = None if hidden else params.get("label_weights")
        least = params.get("min_per_label") if cover and not hidden else None
        if least is not None and int(least) < 1:
            raise EvoSplitError(f"{least} samples of each label make no minimum; give at least 1")
        seed = params.get("seed")
        return cls(
            label_field=several(params.get("label_field")) or None,
            ratios=ratios,
            folds=folds,
            field=(params.get("field") or DEFAULT_FIELD) if write == "field" else None,
            keep=existing == "keep",
            overwrite=bool(params.get("overwrite")),
            group_field=several(params.get("group_field")),
            near_duplicates=near_duplicates,
            duplicate_threshold=None if threshold is None else float(threshold),
            group_copies=hidden or params.get("group_copies", True) is not False,
            strata_fields=several(params.get("strata_fields")),
            cover=cover,
            min_per_label=1 if least is None else int(least),
            label_weights=parse_weights(weights) if isinstance(weights, str) else weights or None,
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
        return {each.name: getattr(self, each.name) for each in fields(self)}


def threshold_of(run: str | None) -> str:
    """Name the form's entry for the threshold of a run: what was typed for one does not hold for another."""
    return f"threshold_{run}"


def several(chosen: Any) -> tuple[str, ...]:
    """Take one name for a list of one."""
    return (chosen,) if isinstance(chosen, str) else tuple(chosen or ())


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
    subsets = _named_numbers(text, "subset", "ratio", "train: 0.8")
    if not subsets:
        raise EvoSplitError(f"no subset is named; write for example {DEFAULT_CUSTOM}")
    return subsets


def parse_weights(text: str) -> dict[str, float] | None:
    """Read label weights as a user types them; None where nothing is typed.

    Examples
    --------
    >>> parse_weights("rare: 5, traffic light: 2.5")
    {'rare': 5, 'traffic light': 2.5}
    """
    return _named_numbers(text, "label", "weight", "rare: 5") or None


def _named_numbers(text: str, what: str, number: str, example: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, value = entry.rpartition(":") if ":" in entry else entry.rpartition(" ")
        name = name.strip()
        if not colon or not name:
            raise EvoSplitError(f"{entry!r} needs a name and a {number}, such as {example}")
        if name in found:
            raise EvoSplitError(f"the {what} {name!r} is named twice; name each {what} once")
        found[name] = _number(value.strip(), f"the {number} of {name!r}", example.rpartition(" ")[2])
    return found


def _number(text: str, what: str, example: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise EvoSplitError(f"{what} is {text!r}; give a number such as {example}") from None
