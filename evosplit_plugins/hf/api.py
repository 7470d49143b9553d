"""Hugging Face data sets from Python: `evosplit_hf` splits, `apply_split` replays, `audit` judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, overload

from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.errors import checked_keywords
from evosplit.methods.base import Method
from evosplit.rng import Seed
from evosplit_plugins.audit import Audit
from evosplit_plugins.audit import audit as judge
from evosplit_plugins.files import PathLike
from evosplit_plugins.hf.adapter import HfReading, HuggingFaceAdapter
from evosplit_plugins.hf.reading import needed_key, read_dataset, read_divided
from evosplit_plugins.hf.rows import AnyDataset, check_key, is_stream, leaves_of, merged, splits_of
from evosplit_plugins.hf.writing import check_split_names, divided
from evosplit_plugins.options import call_with
from evosplit_plugins.progress import OnProgress, Phases
from evosplit_plugins.request import Request
from evosplit_plugins.walk import check_locked_names, replay, run

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["SplitOptions", "apply_split", "audit", "evosplit_hf", "read_counts"]

Tables: TypeAlias = "Dataset | DatasetDict"
Streams: TypeAlias = "IterableDataset | IterableDatasetDict"
Saved: TypeAlias = "Split | PathLike"
Ratios: TypeAlias = "Mapping[str, float] | Sequence[float]"

_READING = "reading the data set"


class SplitOptions(TypedDict, total=False):
    """The options of `evosplit_hf` that do not decide what it returns; see there."""

    label_column: str | Sequence[str] | None
    key: str | None
    multi_hot: bool | None
    threshold: float | None
    delimiter: str | None
    group_by: str | Sequence[str] | None
    group_regex: str | None
    group_copies: bool
    stratify_by: str | Sequence[str] | None
    locked: Mapping[str, Any] | Sequence[str] | None
    method: str | Method
    objectives: Sequence[str] | None
    cover: bool | str
    min_per_label: int
    label_weights: Mapping[str, float] | None
    pick: str | int
    effort: str
    time_limit: float | None
    n_jobs: int
    seed: Seed
    keep_in_memory: bool
    on_progress: OnProgress | None


@checked_keywords()
def read_counts(
    ds: AnyDataset,
    *,
    label_column: str | Sequence[str] | None = None,
    key: str | None = None,
    multi_hot: bool | None = None,
    threshold: float | None = None,
    delimiter: str | None = None,
    on_progress: OnProgress | None = None,
) -> LabelCounts:
    """Count the labels of each row, on Arrow, without decoding anything.

    Parameters
    ----------
    ds, label_column, multi_hot, threshold, delimiter
        As for `evosplit_hf`.
    key
        The column with the ids of the rows; by default they are the row numbers.
    on_progress
        Called with the fraction done and a message.

    Examples
    --------
    >>> from datasets import Dataset
    >>> ds = Dataset.from_dict({"labels": [["cat", "cat", "dog"], [], None]})
    >>> counts = read_counts(ds)
    >>> counts.labels, counts.matrix.toarray().tolist()
    (('cat', 'dog'), [[2, 1], [0, 0], [0, 0]])
    """
    given = locals()
    phases = Phases(on_progress, reading=1)
    phases("reading")(0.0, _READING)
    counts = read_dataset(ds, call_with(HfReading, given), read_files=False).counts
    phases.finish()
    return counts


# `datasets` publishes no types: for mypy a stream is what a table is, so that it finds the overloads of streams idle.
@overload
def evosplit_hf(
    ds: Tables, ratios: Ratios, *, return_split: Literal[False] = False, **options: Unpack[SplitOptions]
) -> DatasetDict: ...
@overload
def evosplit_hf(
    ds: Tables, ratios: Ratios, *, return_split: Literal[True], **options: Unpack[SplitOptions]
) -> tuple[DatasetDict, Split]: ...
@overload
def evosplit_hf(
    ds: Tables, *, folds: int, return_split: Literal[False] = False, **options: Unpack[SplitOptions]
) -> list[DatasetDict]: ...
@overload
def evosplit_hf(
    ds: Tables, *, folds: int, return_split: Literal[True], **options: Unpack[SplitOptions]
) -> tuple[list[DatasetDict], Split]: ...
@overload
def evosplit_hf(  # type: ignore[overload-cannot-match]
    ds: Streams, ratios: Ratios, *, return_split: Literal[False] = False, **options: Unpack[SplitOptions]
) -> IterableDatasetDict: ...
@overload
def evosplit_hf(  # type: ignore[overload-cannot-match]
    ds: Streams, ratios: Ratios, *, return_split: Literal[True], **options: Unpack[SplitOptions]
) -> tuple[IterableDatasetDict, Split]: ...
@overload
def evosplit_hf(  # type: ignore[overload-cannot-match]
    ds: Streams, *, folds: int, return_split: Literal[False] = False, **options: Unpack[SplitOptions]
) -> list[IterableDatasetDict]: ...
@overload
def evosplit_hf(  # type: ignore[overload-cannot-match]
    ds: Streams, *, folds: int, return_split: Literal[True], **options: Unpack[SplitOptions]
) -> tuple[list[IterableDatasetDict], Split]: ...


@checked_keywords()
def evosplit_hf(
    ds: AnyDataset,
    ratios: Ratios | None = None,
    *,
    folds: int | None = None,
    label_column: str | Sequence[str] | None = None,
    key: str | None = None,
    multi_hot: bool | None = None,
    threshold: float | None = None,
    delimiter: str | None = None,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    group_copies: bool = True,
    stratify_by: str | Sequence[str] | None = None,
    locked: Mapping[str, Any] | Sequence[str] | None = None,
    method: str | Method = "evosplit",
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    min_per_label: int = 1,
    label_weights: Mapping[str, float] | None = None,
    pick: str | int = "balanced",
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    keep_in_memory: bool = False,
    return_split: bool = False,
    on_progress: OnProgress | None = None,
) -> Any:
    """Split a data set so that every subset has the same labels, instances and label pairs, at exact sizes.

    Parameters
    ----------
    ds
        A `Dataset`, whatever was selected, shuffled, filtered or formatted before; a `DatasetDict`, whose
        splits are joined and split again; or an `IterableDataset`, which needs `key` and is read once.
    ratios
        `{"train": 0.8, "validation": 0.1, "test": 0.1}`, or a sequence: two are train and test, three train,
        validation and test. Fractions sum to 1; whole numbers are exact sizes if they sum to the number of rows, else
        proportions.
    folds
        Instead of `ratios`: the number of folds of a cross-validation.
    label_column
        The column with the labels, with dots into structs and lists of structs (`"objects.category"`). Labels
        are ClassLabel, integers or strings, alone or in lists; a label that a row has twice counts twice;
        null, and -1 in a ClassLabel, is no label. A boolean column is one label. Several columns together: a
        list, where each label gets its column as prefix and columns of 0 and 1 are one label each. By default
        the column is found, and named in the report.
    key
        A column of unique integers or strings that names the rows, in the manifest too. An `IterableDataset`
        needs it: it has no row numbers that stay the same when it is shuffled or divided among workers.
    multi_hot
        True: each list has one entry per label, 0 or 1. False: lists of 0 and 1 are class numbers. By
        default, integers that could be either are refused.
    threshold
        For columns (or, with `multi_hot=True`, lists) of scores: from which value on a score counts as its
        label.
    delimiter
        For strings that hold several labels: what stands between them. Spaces around labels are dropped.
    group_by
        Rows with the same integer or string in this column, or in one of several, stay together (dotted as above),
        such as the frames of a video. A row without it is on its own.
    group_regex
        Rows stay together whose file names match with the same text (of the first parentheses, if there are any).
    group_copies
        Keep rows of the same picture together, because they would leak from one subset into another. The picture is
        the same if its path is, in a column called `file_name`, `path` or the like, else in the pictures themselves
        or in ids that are names of images; Roboflow's copies of one source are one picture. Of a stream no files are
        known.
    stratify_by
        What to balance beside the labels: one column or several (dotted as above) of strings, booleans,
        numbers or ClassLabel, or of lists of them.
    locked
        Rows that stay where they are, while the others are placed so that the whole comes out balanced. For a
        `DatasetDict`, the names of splits, such as `["test"]`. Or a mapping from subset names to their rows: row
        numbers; with `key`, ids or a `Dataset` with that column; the path of a text file with a file name or id in each
        line, or of a saved split; or None for those of the split of that name.
    method, objectives, cover, min_per_label, label_weights, pick, effort, time_limit, n_jobs
        As in `evosplit.split`.
    seed
        Same seed, same rows, same fingerprints, in every process: a later `.map` finds its cache.
    keep_in_memory
        Passed on to `Dataset.select`.
    return_split
        Also return the `evosplit.Split`, with its report, its trade-offs and `save`.
    on_progress
        Called with the fraction done and a message; returning False stops with the best split so far.

    Returns
    -------
    DatasetDict
        The subsets in the order asked for, rows in the order of `ds`; with `folds` a list of `DatasetDict`,
        each with train and test; for a stream `IterableDatasetDict`. With `return_split=True` a tuple of that
        and the `Split`.

    Examples
    --------
    >>> from datasets import Dataset
    >>> ds = Dataset.from_dict({"labels": [["cat"], ["dog"], ["cat", "dog"], []] * 5})
    >>> splits = evosplit_hf(ds, {"train": 0.8, "test": 0.2}, effort="fast")
    >>> {name: len(part) for name, part in splits.items()}
    {'train': 16, 'test': 4}
    """
    given = locals()
    request = call_with(Request, given)
    names = request.names(HuggingFaceAdapter.default_names)
    check_split_names(names)
    check_locked_names(request, names)
    phases = Phases(on_progress, reading=1, searching=9)
    phases("reading")(0.0, _READING)
    source = read_dataset(ds, call_with(HfReading, given), groups=request.groups, strata=request.strata)
    split = run(source, request, adapter=HuggingFaceAdapter, on_progress=phases("searching"))
    made = divided(source.ds, split, key, split.is_kfold, keep_in_memory)
    phases.finish()
    result = made if split.is_kfold else made[0]
    return (result, split) if return_split else result


@overload
def apply_split(
    ds: Tables,
    split: Saved,
    *,
    key: str | None = None,
    folds: Literal[False],
    keep_in_memory: bool = False,
    on_progress: OnProgress | None = None,
) -> DatasetDict: ...
@overload
def apply_split(
    ds: Tables,
    split: Saved,
    *,
    key: str | None = None,
    folds: Literal[True],
    keep_in_memory: bool = False,
    on_progress: OnProgress | None = None,
) -> list[DatasetDict]: ...
@overload
def apply_split(
    ds: AnyDataset,
    split: Saved,
    *,
    key: str | None = None,
    folds: bool | None = None,
    keep_in_memory: bool = False,
    on_progress: OnProgress | None = None,
) -> Any: ...


@checked_keywords()
def apply_split(
    ds: AnyDataset,
    split: Saved,
    *,
    key: str | None = None,
    folds: bool | None = None,
    keep_in_memory: bool = False,
    on_progress: OnProgress | None = None,
) -> Any:
    """Divide a data set as a split says, also one that another adapter made and saved.

    Parameters
    ----------
    ds
        The rows that were split: all of them, in any order if something names them.
    split
        The split, or the path of a saved one.
    key
        The column that holds the split's ids, or the file names that it knows. Without it rows are found by the key
        that the split was made with, by `image_id` or `id`, or by their files; else the ids are taken for row numbers.
    folds
        Give a list with one `DatasetDict` of train and test per subset, each subset being the test set once; by
        default if the split was made by folds.
    keep_in_memory
        Passed on to `Dataset.select`.
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    DatasetDict
        See `evosplit_hf`. The rows of a stream are checked while they are read.

    Examples
    --------
    >>> import evosplit
    >>> from datasets import Dataset
    >>> ds = Dataset.from_dict({"image_id": [7, 8, 9], "label": [0, 1, 0]})
    >>> split = evosplit.split(read_counts(ds, key="image_id"), (2, 1), method="random")
    >>> {name: len(part) for name, part in apply_split(ds.shuffle(seed=3), split, key="image_id").items()}
    {'train': 2, 'test': 1}
    """
    phases = Phases(on_progress, reading=5, dividing=5)
    phases("reading")(0.0, _READING)
    made = split if isinstance(split, Split) else Split.load(split)
    folds = made.is_kfold if folds is None else folds
    if not folds:
        check_split_names(made.names)
    whole = merged(splits_of(ds))
    if is_stream(whole):
        key = needed_key(key or (made.source.get("reading") or {}).get("key"))
        check_key(key, leaves_of(whole))
        if made.sample_ids.dtype.kind not in "iuU":
            raise EvoSplitError("the ids of the split are integers and strings mixed; no column of a stream holds both")
    else:
        has_files = made.file_names is not None or made.sample_ids.dtype.kind == "U"
        made = replay(made, read_dataset(whole, HfReading(key=key), read_labels=False, read_files=has_files))
    phases("dividing")(0.0, "dividing")
    result = divided(whole, made, key, folds, keep_in_memory)
    phases.finish()
    return result if folds else result[0]


@checked_keywords()
def audit(
    ds: DatasetDict,
    *,
    label_column: str | Sequence[str] | None = None,
    key: str | None = None,
    multi_hot: bool | None = None,
    threshold: float | None = None,
    delimiter: str | None = None,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    same_bytes: bool = False,
    compare: bool = True,
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Audit:
    """Judge the existing splits of a `DatasetDict`: how even they are, and what leaks.

    Parameters
    ----------
    ds
        The splits, two or more.
    label_column, multi_hot, threshold, delimiter
        As for `evosplit_hf`.
    key
        The column that identifies the rows; by default one with a usual name, such as `file_name` or `image_id`,
        unless it only numbers the rows of each split.
    group_by, group_regex, same_bytes, compare, effort, time_limit, n_jobs, seed, on_progress
        As for `evosplit_plugins.audit.audit`; `same_bytes` compares pictures and sounds.

    Examples
    --------
    >>> from datasets import Dataset, DatasetDict
    >>> ds = Dataset.from_dict({"labels": [["cat"], ["dog"], ["cat"], ["dog"]]})
    >>> judged = audit(DatasetDict({"train": ds.select([0, 1]), "test": ds.select([2, 3])}), compare=False)
    >>> judged.split.measures.ld, judged.leaks
    (0.0, ())
    """
    given = locals()
    phases = Phases(on_progress, reading=2, judging=8)
    phases("reading")(0.0, _READING)
    source = read_divided(ds, call_with(HfReading, given))
    return call_with(judge, given, source=source, on_progress=phases("judging"))
