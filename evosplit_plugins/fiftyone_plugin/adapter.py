"""The FiftyOne adapter: a dataset or a saved view of it in, sample tags or a field out."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evosplit import Split
from evosplit.manifest import as_text
from evosplit_plugins.adapter import Adapter, Destination, Location, Outcome, Write, WriteOptions
from evosplit_plugins.files import PathLike
from evosplit_plugins.options import option
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Source
from evosplit_plugins.staging import Plan

if TYPE_CHECKING:
    from evosplit_plugins.fiftyone_plugin.source import FiftyOneSource

__all__ = ["FiftyOneAdapter", "FiftyOneReading", "FiftyOneWriting"]


@dataclass(frozen=True, kw_only=True)
class FiftyOneReading:
    """How to read a dataset; `evosplit_fiftyone` describes the options."""

    label_field: str | Sequence[str] | None = option(
        None,
        "a field whose labels are spread, frames.FIELD for frame labels; repeat it for several (default: the most "
        "likely one)",
        kind="list",
        short="-l",
        metavar="FIELD",
    )
    view: str | None = option(None, "a saved view instead of the whole dataset", kind="text", metavar="NAME")
    field: str | None = option(
        None,
        "the field that holds the subsets, instead of tags: a split is written into it, locks and audits read it",
        kind="text",
        metavar="NAME",
    )
    tags: str | Sequence[str] | None = option(
        None,
        "a tag that names a subset, or a value of the field, for an audit; repeat it for all of them (default: those "
        "of the latest split)",
        kind="list",
        flag="--tag",
        short="-t",
        metavar="NAME",
    )
    near_duplicates: Any = option(
        None,
        "near duplicates belong together: a similarity run of FiftyOne Brain, or a field with the id of each sample's "
        "original",
        kind="text",
        metavar="KEY",
    )
    duplicate_threshold: float | None = option(
        None,
        "the distance up to which samples of that run are near duplicates (default 0.2)",
        kind="number",
        metavar="X",
    )


@dataclass(frozen=True, kw_only=True)
class FiftyOneWriting(WriteOptions):
    """How to write a split.

    Attributes
    ----------
    overwrite
        Replace values of the field that EvoSplit did not write.
    keep_tags
        Leave the tags of earlier splits with other names.
    manifest
        Also write the split to a file, as `save_manifest` does.
    """

    overwrite: bool = option(False, "replace values of the field that EvoSplit did not write", kind="switch")
    keep_tags: bool = option(False, "leave the tags of earlier splits with other names", kind="switch")
    manifest: PathLike | None = option(None, "also write the split to a split.json", kind="path", metavar="PATH")


class FiftyOneAdapter(Adapter):
    """Datasets of FiftyOne; a location is the name of one, or from Python a dataset or view itself."""

    name = "fiftyone"
    summary = "FiftyOne datasets"
    location = Location("DATASET", "the name of the dataset")
    reading = FiftyOneReading
    writing = FiftyOneWriting
    needs_output = False

    def detect(self, paths: Sequence[str]) -> bool:
        """Recognise nothing: datasets are not files, and a mistyped path must not start the database."""
        return False

    def read(
        self, paths: Sequence[Any], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> Source:
        """Read ids, labels and files."""
        return _source(paths[0], options, need_labels=need_labels, on_progress=on_progress)

    def read_subsets(self, paths: Sequence[Any], options: Any, *, on_progress: OnProgress | None = None) -> Source:
        """Read the samples that are in a subset, by their tags or a field; the others are left out."""
        found = _source(paths[0], options, on_progress=on_progress)
        from evosplit_plugins.fiftyone_plugin.source import divided

        return divided(found, (options.tags,) if isinstance(options.tags, str) else options.tags)

    def plan(self, to: Destination[Any, Any]) -> Write:
        """Plan tags or a field, and files; refuse a field that cannot be written."""
        from evosplit_plugins.fiftyone_plugin.writing import check_field, check_values

        found: FiftyOneSource = to.source
        check_field(found.dataset, found.field)
        if not to.options.overwrite:
            # Values that name a subset may be locked; whether one would be lost is known only after the search.
            check_values(found.dataset, found.units, found.field, to.subsets.names)
        files = _planned(to.options, to.inputs, found.provenance)
        if files.reports or files.manifests:
            files.check()
        return lambda split, on_progress: _write(found, to.options, files, split, on_progress)


def _write(
    source: FiftyOneSource, options: FiftyOneWriting, files: Plan, split: Split, on_progress: OnProgress | None
) -> Outcome:
    """Tag the samples or fill the field, and record the split on the dataset; files come last."""
    from evosplit.report.html import report_page
    from evosplit_plugins.fiftyone_plugin.writing import undo_split, write_split

    if on_progress is not None:
        on_progress(0.0, "writing")
    facts = {"dataset": source.dataset.name, "written as": source.field or "tags"}
    named = (*files.reports, *files.manifests)
    if options.dry_run:
        files = replace(files, manifests=())
    with ExitStack() as stack:
        stage = stack.enter_context(files.stage()) if files.reports or files.manifests else None
        if stage is not None:
            for path in files.reports:
                stage.write(path, report_page(split.report()))
            for path in files.manifests:
                with_files = replace(split, file_names=tuple(source.files or ()))
                stage.write(path, as_text(with_files.to_manifest()))
        if not options.dry_run:
            run = write_split(
                source.dataset,
                split,
                field=source.field,
                label_fields=tuple(source.labels),
                keep_tags=options.keep_tags,
                overwrite=options.overwrite,
            )
            facts["run"] = run.key
        if stage is not None:
            try:
                stage.commit()
            except BaseException:
                if not options.dry_run:
                    undo_split(source.dataset)
                raise
    return Outcome(split, files=named, facts=facts, notes=source.notes)


def _source(
    given: Any, options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
) -> FiftyOneSource:
    if isinstance(given, str) and "fiftyone" not in sys.modules:
        os.environ.setdefault("FIFTYONE_SHOW_PROGRESS_BARS", "false")  # one progress bar is shown already
    from evosplit_plugins.fiftyone_plugin.reading import load_samples
    from evosplit_plugins.fiftyone_plugin.source import read_source

    samples = load_samples(given, options.view) if isinstance(given, str) else given
    return read_source(samples, options, need_labels=need_labels, on_progress=on_progress)


def _planned(options: FiftyOneWriting, inputs: Sequence[Path], source: Mapping[str, Any]) -> Plan:
    manifests = [] if options.manifest is None else [Path(options.manifest)]
    reports = [] if options.report is None else [Path(options.report)]
    return Plan(None, writer="fiftyone", reports=reports, manifests=manifests, source=source, inputs=inputs)
