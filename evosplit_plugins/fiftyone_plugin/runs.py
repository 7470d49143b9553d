"""Records of splits, stored as custom runs of the dataset: what the panel shows and undo restores."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import secrets
import time
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit import EvoSplitError, LabelCounts, ParetoFront, Split, __version__
from evosplit.constraints import Constraints, GroupIndex, Stratum

__all__ = [
    "DESCRIPTION",
    "SplitRun",
    "delete_run",
    "load_run",
    "next_key",
    "run_keys",
    "run_number",
    "save_run",
    "tags_on",
    "written_fields",
    "written_tags",
]

METHOD = "evosplit"
DESCRIPTION = "Subset assigned by EvoSplit"  # of the fields that it creates
_PREFIX = "evosplit_"
_KEY = re.compile(rf"{_PREFIX}[0-9]+_[0-9a-f]+")
_TRIES, _PAUSE = 50, 0.1  # to read a record that has been begun, and seconds between two of them
_CSR_PARTS = ("data", "indices", "indptr")  # in the order in which scipy takes them


@dataclass(frozen=True)
class SplitRun:
    """One split of a dataset as it was recorded.

    Attributes
    ----------
    key
        The key of the custom run.
    split
        The split with its front and its label counts.
    label_fields
        The fields whose labels were spread.
    field
        The field that the split was written into; None for tags.
    created_field
        Whether the split created that field.
    managed
        The tags that the split replaced wherever they were.
    taken
        Further tags that it took away, by sample id.
    samples
        The ids of all samples that were written to.
    before
        What samples carried before, where the split replaced something.
    keep_tags
        Whether the tags of earlier splits with other names were left.
    views
        The names of the views of its subsets that the split saved.
    """

    key: str
    split: Split
    label_fields: tuple[str, ...]
    field: str | None
    created_field: bool
    managed: frozenset[str]
    samples: tuple[str, ...]
    before: Mapping[str, Any]
    taken: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    keep_tags: bool = False
    views: tuple[str, ...] = ()


def run_keys(dataset: Any) -> list[str]:
    """List the keys of the splits recorded on a dataset, oldest first."""
    keys = [key for key in dataset.list_runs(method=METHOD) if _KEY.fullmatch(key)]
    numbers = Counter(map(run_number, keys))

    def when(key: str) -> tuple[int, Any]:
        twice = numbers[run_number(key)] > 1  # two processes recorded splits at the same time
        return run_number(key), dataset.get_run_info(key).timestamp if twice else None

    return sorted(keys, key=when)


def next_key(dataset: Any) -> str:
    """Return a key for a new run: the next number, and a random suffix in case another process takes it too."""
    return f"{_PREFIX}{max(map(run_number, run_keys(dataset)), default=0) + 1}_{secrets.token_hex(3)}"


def run_number(key: str) -> int:
    """Return the number of a recorded split.

    Examples
    --------
    >>> run_number("evosplit_12_a1b2c3")
    12
    """
    return int(key.removeprefix(_PREFIX).partition("_")[0])


def written_tags(dataset: Any) -> set[str]:
    """Collect the tags that recorded splits wrote."""
    configs = (dataset.get_run_info(key).config for key in run_keys(dataset))
    return {name for config in configs if config.field is None for name in config.sizes}


def tags_on(dataset: Any, members: Mapping[str, Sequence[str]], wanted: Collection[str]) -> dict[str, set[str]]:
    """Return which of the wanted tags EvoSplit put on which samples and has not replaced since, by the records.

    A tag that a sample had before belongs to the user, even if a split put the sample into the subset of that name.

    Parameters
    ----------
    dataset
        The dataset.
    members
        The sample ids of each unit.
    wanted
        The tags to look for.
    """
    found: dict[str, set[str]] = {}
    for key in run_keys(dataset) if wanted else ():
        config = dataset.get_run_info(key).config
        if config.field is not None or (not found and not any(name in wanted for name in config.sizes)):
            continue
        run = _read(dataset, key)
        if run is None:  # what it wrote is unknown, so none of it is removed
            continue
        names = np.array(run.split.names, dtype=object)[run.split.assignment].tolist()
        for unit, name in zip(run.split.sample_ids.tolist(), names, strict=True):
            for sample in members.get(unit, ()):
                own = found.get(sample, set())
                new = name in own or name not in run.before.get(sample, ())
                left = own.difference(run.managed, run.taken.get(sample, ()))
                if new and name in wanted:
                    left.add(name)
                if left or own:
                    found[sample] = left
    return found


def written_fields(dataset: Any) -> set[str]:
    """Collect the fields that splits were written into."""
    configs = (dataset.get_run_info(key).config for key in run_keys(dataset))
    created = {name for name, field in dataset.get_field_schema().items() if field.description == DESCRIPTION}
    return created | {config.field for config in configs if config.field is not None}


def save_run(dataset: Any, run: SplitRun) -> None:
    """Record a split on the dataset; the configuration is what a reader of `get_run_info` sees."""
    split = run.split
    config = dataset.init_run(
        method=METHOD,
        evosplit=__version__,
        sizes=dict(zip(split.names, split.sizes, strict=True)),
        label_fields=list(run.label_fields),
        field=run.field,
        created_field=run.created_field,
        managed=sorted(run.managed),
        keep_tags=run.keep_tags,
        views=list(run.views),
        settings={**split.settings, "near_duplicates": split.source.get("reading", {}).get("near_duplicates")},
    )
    dataset.register_run(run.key, config)
    try:
        # One string, because FiftyOne walks through every item of anything else.
        # The dataset knows the files of its samples, so that the record does not repeat them.
        packed = pack_split(replace(split, file_names=None))
        record = {"split": packed, "samples": run.samples, "before": run.before, "taken": run.taken}
        results = dataset.init_run_results(run.key, record=_squeeze(json.dumps(record).encode()))
        dataset.save_run_results(run.key, results, cache=False)
    except BaseException:
        dataset.delete_run(run.key)
        raise


def load_run(dataset: Any, key: str | None = None) -> SplitRun:
    """Read the record of a split, by default of the latest."""
    keys = run_keys(dataset)
    if not keys:
        raise EvoSplitError(f"no split by EvoSplit is recorded on dataset {dataset.name!r}; split it first")
    if key is None:
        key = keys[-1]
    if key not in keys:
        raise EvoSplitError(f"{key!r} is no recorded split of dataset {dataset.name!r}; recorded: {', '.join(keys)}")
    run = _read(dataset, key)
    if run is None:
        raise EvoSplitError(
            f"the record of the split {key!r} of dataset {dataset.name!r} is not complete: another process is writing "
            f"it, or was killed; try again, or delete it with dataset.delete_run({key!r})"
        )
    return run


def _read(dataset: Any, key: str) -> SplitRun | None:
    """Read a record, waiting for another process that may be saving it; None if it never does."""
    for _ in range(_TRIES):
        results = dataset.load_run_results(key, cache=False, load_view=False)
        if results is not None:
            break
        time.sleep(_PAUSE)
        dataset.reload()
    else:
        return None
    config = dataset.get_run_info(key).config
    record = json.loads(_stretch(results.record))
    return SplitRun(
        key=key,
        split=unpack_split(record["split"]),
        label_fields=tuple(config.label_fields),
        field=config.field,
        created_field=config.created_field,
        managed=frozenset(config.managed),
        samples=tuple(record["samples"]),
        before=record["before"],
        taken=record["taken"],
        keep_tags=config.keep_tags,
        views=tuple(config.views),
    )


def delete_run(dataset: Any, key: str) -> None:
    """Delete the record of a split."""
    dataset.delete_run(key)


def pack_split(split: Split) -> dict[str, Any]:
    """Turn a split, its front and its label counts into JSON-able data; arrays are compressed.

    Examples
    --------
    >>> import evosplit
    >>> made = evosplit.split([[1], [1], [0], [0]], (0.5, 0.5), method="random")
    >>> again = unpack_split(pack_split(made))
    >>> again.sizes == made.sizes, again.measures == made.measures
    (True, True)
    """
    packed: dict[str, Any] = {"manifest": split.to_manifest(), "chosen": split.chosen}
    if split.front is not None:
        packed["front"] = {
            "objectives": split.front.objectives.tolist(),
            "objective_names": list(split.front.objective_names),
            "reference": split.front.reference.tolist(),
            "assignments": _pack(split.front.assignments),
        }
    if split.counts is not None:
        packed["counts"] = _pack_counts(split.counts)
    if split.constraints is not None:
        packed["constraints"] = {**_pack_constraints(split.constraints), "best_ed": split.best_ed}
    return packed


def unpack_split(packed: Mapping[str, Any]) -> Split:
    """Undo `pack_split`."""
    split = Split.from_manifest(packed["manifest"], source="the recorded split")
    front, counts = packed.get("front"), packed.get("counts")
    if front is not None:
        found = ParetoFront(
            objectives=np.asarray(front["objectives"], dtype=np.float64),
            objective_names=tuple(front["objective_names"]),
            placements=_unpack(front["assignments"]),
            reference=np.asarray(front["reference"], dtype=np.float64),
        )
        split = replace(split, front=found, chosen=packed["chosen"])
    if counts is not None:
        split = replace(split, counts=_unpack_counts(counts, split.sample_ids))
    asked = packed.get("constraints")
    if asked is not None:
        constraints = _unpack_constraints(asked, split.sample_ids)
        split = replace(split, constraints=constraints, best_ed=asked["best_ed"])
    return split


def _pack_constraints(constraints: Constraints) -> dict[str, Any]:
    groups = constraints.groups
    return {
        "groups": None if groups is None else {"names": list(groups.names), "codes": _pack(groups.code_of_sample)},
        "locked": _pack(constraints.locked),
        "strata": [{"name": stratum.name, "counts": _pack_counts(stratum.counts)} for stratum in constraints.strata],
        "min_per_label": constraints.min_per_label,
        "label_weights": dict(constraints.label_weights),
    }


def _unpack_constraints(packed: Mapping[str, Any], ids: npt.NDArray[Any]) -> Constraints:
    groups = packed["groups"]
    return Constraints(
        groups=None if groups is None else GroupIndex(tuple(groups["names"]), _unpack(groups["codes"])),
        locked=_unpack(packed["locked"]),
        strata=tuple(Stratum(each["name"], _unpack_counts(each["counts"], ids)) for each in packed["strata"]),
        min_per_label=packed["min_per_label"],
        label_weights=packed["label_weights"],
    )


def _pack_counts(counts: LabelCounts) -> dict[str, Any]:
    parts = {name: _pack(getattr(counts.matrix, name)) for name in _CSR_PARTS}
    return {"labels": list(counts.labels), **parts}


def _unpack_counts(packed: Mapping[str, Any], ids: npt.NDArray[Any]) -> LabelCounts:
    arrays = tuple(_unpack(packed[name]) for name in _CSR_PARTS)
    matrix = sp.csr_array(arrays, shape=(len(ids), len(packed["labels"])))
    return LabelCounts(matrix, ids=ids, labels=packed["labels"])


def _pack(array: npt.NDArray[Any]) -> dict[str, Any]:
    raw = np.ascontiguousarray(array)
    return {"dtype": raw.dtype.str, "shape": list(raw.shape), "zlib": _squeeze(raw.tobytes())}


def _unpack(packed: Mapping[str, Any]) -> npt.NDArray[Any]:
    shape: Sequence[int] = packed["shape"]
    return np.frombuffer(_stretch(packed["zlib"]), dtype=np.dtype(packed["dtype"])).reshape(shape)


def _squeeze(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw, 1)).decode("ascii")


def _stretch(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
