"""What the form of the EvoSplit operator asks for, read from its parameters: `SplitRequest`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evosplit import EvoSplitError, Split
from evosplit_plugins.fiftyone_plugin.adapter import FiftyOneAdapter, FiftyOneReading, FiftyOneWriting
from evosplit_plugins.fiftyone_plugin.api import check_asked, refuse_values
from evosplit_plugins.fiftyone_plugin.app.proposals import SAME_NAME
from evosplit_plugins.fiftyone_plugin.reading import root_dataset
from evosplit_plugins.fiftyone_plugin.runs import SplitRun
from evosplit_plugins.fiftyone_plugin.writing import check_field, write_split
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.request import Request
from evosplit_plugins.walk import split_with

__all__ = [
    "DEFAULT_CUSTOM",
    "DEFAULT_FIELD",
    "DEFAULT_FOLDS",
    "NO_DUPLICATES",
    "PRESETS",
    "SplitRequest",
    "in_groups",
    "parse_subsets",
    "parse_weights",
    "several",
    "threshold_of",
]

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
    """What the user asks for.

    Attributes
    ----------
    request, reading, writing
        The options that every adapter takes, and those of this one.
    keep_existing
        Whether what is in a subset already stays there, in whichever of the subsets there are.
    saved_views
        Whether a view of each subset is saved too.
    """

    request: Request
    reading: FiftyOneReading
    writing: FiftyOneWriting
    keep_existing: bool = False
    saved_views: bool = False

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> SplitRequest:
        """Read the parameters of the form, or those of a caller from Python, who leaves out what is default.

        Examples
        --------
        >>> SplitRequest.from_params({"subsets": "folds", "folds": 3}).request.folds
        3
        >>> SplitRequest.from_params({"ratios": {"train": 0.9, "test": 0.1}}).request.ratios
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
        weights = params.get("label_weights")
        least = params.get("min_per_label") if cover else None
        if least is not None and int(least) < 1:
            raise EvoSplitError(f"{least} samples of each label make no minimum; give at least 1")
        seed = params.get("seed")
        request = Request(
            ratios=ratios,
            folds=folds,
            group_by=several(params.get("group_by")),
            group_regex=params.get("group_regex") or None,
            group_copies=params.get("group_copies", True) is not False,
            stratify_by=several(params.get("stratify_by")),
            locked=several(params.get("locked")),
            cover=cover,
            min_per_label=1 if least is None else int(least),
            label_weights=parse_weights(weights) if isinstance(weights, str) else weights or None,
            effort=params.get("effort") or "normal",
            seed=0 if seed is None else int(seed),
        )
        reading = FiftyOneReading(
            label_field=None if params.get("label_field") is None else several(params["label_field"]),
            field=(params.get("field") or DEFAULT_FIELD) if write == "field" else None,
            near_duplicates=near_duplicates,
            duplicate_threshold=None if threshold is None else float(threshold),
        )
        kept = existing == "keep"
        writing = FiftyOneWriting(
            overwrite=bool(params.get("overwrite")),
            keep_tags=kept or bool(params.get("keep_tags")),
            dry_run=True,
        )
        return cls(request, reading, writing, kept, bool(params.get("saved_views")))

    @property
    def field(self) -> str | None:
        """The field to write into; None for tags."""
        return self.reading.field

    @property
    def in_one_line(self) -> str:
        """Say what is set beyond labels and subsets.

        Examples
        --------
        >>> SplitRequest.from_params({"group_by": ["clip"], "effort": "fast"}).in_one_line
        'together: clip · into sample tags, replacing an earlier split · fast, seed 0'
        >>> SplitRequest.from_params({"group_regex": SAME_NAME, "write": "field"}).in_one_line
        'together: files of equal names · into the field split, replacing an earlier split · normal, seed 0'
        """
        asked = self.request
        together = in_groups(asked.groups, self.reading.near_duplicates, asked.group_regex)
        weights = [f"{name}: {weight:g}" for name, weight in (asked.label_weights or {}).items()]
        where = "sample tags" if self.field is None else f"the field {self.field}"
        said = [
            f"together: {together}" if together else "",
            "" if asked.group_copies else "copies of one picture may part",
            f"balanced too: {', '.join(asked.strata)}" if asked.strata else "",
            f"into {where}, " + ("keeping what is there" if self.keep_existing else "replacing an earlier split"),
            "" if asked.cover else "rare labels where they fit",
            f"at least {asked.min_per_label} of each label" if asked.min_per_label > 1 else "",
            f"weights {', '.join(weights)}" if weights else "",
            "saved views" if self.saved_views else "",
            f"{asked.effort}, seed {asked.seed}",
        ]
        return " · ".join(filter(None, said))

    def resolved(self, samples: Any) -> Request:
        """Return the request with the subsets that stay, where all that are there do."""
        if not self.keep_existing:
            return self.request
        dataset, field = root_dataset(samples), "tags" if self.field is None else self.field
        known = set() if dataset.get_field(field) is None else set(dataset.distinct(field))  # a new field holds nothing
        there = [name for name in self.request.names() if name in known]
        return replace(self.request, locked={name: name for name in there})

    def check_field(self, samples: Any) -> None:
        """Refuse a field that cannot be written, or whose values would be lost."""
        if self.field is not None:
            check_field(root_dataset(samples), self.field)
            if not self.writing.overwrite:
                refuse_values(samples, self.field, self.resolved(samples))

    def search(self, samples: Any, on_progress: OnProgress | None = None) -> Split:
        """Make the split without changing the dataset."""
        self.check_field(samples)
        check_asked(self.reading.label_field, self.request)
        outcome = split_with(
            FiftyOneAdapter(),
            [samples],
            self.resolved(samples),
            reading=self.reading,
            writing=self.writing,
            on_progress=on_progress,
        )
        return outcome.split

    def write(self, samples: Any, split: Split) -> SplitRun:
        """Write the split and record it."""
        return write_split(
            samples,
            split,
            field=self.field,
            label_fields=split.source["reading"].get("label_field", ()),
            keep_tags=self.writing.keep_tags,
            overwrite=self.writing.overwrite,
            saved_views=self.saved_views,
        )


def threshold_of(run: str | None) -> str:
    """Name the form's entry for the threshold of a run: what was typed for one does not hold for another."""
    return f"threshold_{run}"


def in_groups(fields: Sequence[str], near_duplicates: str | None, regex: str | None) -> str:
    """Name what keeps samples together.

    Examples
    --------
    >>> in_groups(["clip"], "similar", SAME_NAME)
    'clip, near duplicates by similar, files of equal names'
    """
    near = None if near_duplicates is None else f"near duplicates by {near_duplicates}"
    files = "files of equal names" if regex == SAME_NAME else regex
    return ", ".join(each for each in (*fields, near, files) if each)


def several(chosen: Any) -> tuple[str, ...]:
    """Take one name for a list of one."""
    return (chosen,) if isinstance(chosen, str) else tuple(chosen or ())


def _subsets_of(params: Mapping[str, Any]) -> tuple[Mapping[str, float] | Sequence[float] | None, int | None]:
    given: Mapping[str, float] | Sequence[float] | None = params.get("ratios")
    if given is not None:
        return given, None
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
