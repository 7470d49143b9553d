"""Output directories: subsets, manifest and report are planned together, and written all or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from evosplit import EvoSplitError, Split
from evosplit.manifest import as_text
from evosplit_plugins.adapter import Destination
from evosplit_plugins.files import PathLike
from evosplit_plugins.staging import Plan, Staging
from evosplit_plugins.staging.paths import folded

if TYPE_CHECKING:
    from evosplit.report import SplitReport

__all__ = ["MANIFEST", "Output", "check_subset_names", "plan_page"]

MANIFEST = PurePosixPath("split.json")
_FORBIDDEN = '/\\:*?"<>|'
_LONGEST = 100  # bytes of a name, so that there is space for a suffix


def check_subset_names(names: Sequence[str], *, forbidden: str = "") -> None:
    """Refuse subset names that are not portable as part of a file name, or that differ only in case.

    `forbidden` are further characters that the host does not allow.

    Examples
    --------
    >>> check_subset_names(["train", "val"])
    >>> check_subset_names(["Train", "train"])
    Traceback (most recent call last):
    evosplit.errors.EvoSplitError: the subset names 'Train' and 'train' would be one file; give one another name
    """
    seen: dict[str, str] = {}
    for name in names:
        usual = isinstance(name, str) and 0 < len(name.encode("utf-8", "replace")) <= _LONGEST and name.isprintable()
        if not usual or name.startswith(".") or name != name.strip() or set(name) & {*_FORBIDDEN, *forbidden}:
            raise EvoSplitError(f"the subset name {name!r} cannot be part of a file name; use letters, digits, - and _")
        other = seen.setdefault(folded(name), name)
        if other != name:
            raise EvoSplitError(f"the subset names {other!r} and {name!r} would be one file; give one another name")


def plan_page(path: PathLike | None, inputs: Sequence[Path] = ()) -> Callable[[SplitReport], None] | None:
    """Refuse a page that would replace an input, or anything else but a report; returns what writes it.

    None without a path.
    """
    if path is None:
        return None
    page = Path(path)
    plan = Plan(None, reports=[page], inputs=inputs)
    plan.check()

    def write(report: SplitReport) -> None:
        with plan.stage() as staging:
            _write_page(staging, page, report)
            staging.commit()

    return write


def _write_page(staging: Staging, page: Path, report: SplitReport) -> None:
    from evosplit.report.html import report_page  # with all that draws a page, which few commands need

    staging.write(page, report_page(report))


@dataclass(frozen=True)
class Output:
    """The directory that a split is written into, with `split.json` beside the subsets.

    An adapter replaces its own earlier outputs there, never those of another. A manifest that is replayed from there
    is kept as it is.

    Attributes
    ----------
    to
        What is to be written where.
    read, folders
        The files of the data that were read, and the folders that are read from: never written to.
    """

    to: Destination[Any, Any]
    read: Sequence[Path] = ()
    folders: Sequence[Path] = ()

    @property
    def root(self) -> Path:
        """The directory."""
        return self.to.root

    @property
    def page(self) -> Path | None:
        """Where the report goes."""
        return None if self.to.options.report is None else Path(self.to.options.report)

    @property
    def keeps_manifest(self) -> bool:
        """Whether the manifest stays as it is, because it is the one that is replayed."""
        own = self.root / MANIFEST
        return own.exists() and any(path.exists() and path.samefile(own) for path in self.to.inputs)

    def plan(self, files: Sequence[str | PurePosixPath], inputs: Sequence[Path] = ()) -> Plan:
        """List all that will be written, given the files of the subsets; `inputs` are further files that are read."""
        return Plan(
            self.root,
            writer=self.to.source.adapter,
            files=[*files, *([] if self.keeps_manifest else [MANIFEST])],
            reports=[] if self.page is None else [self.page],
            inputs=[*self.read, *self.to.inputs, *inputs],
            input_folders=self.folders,
            keep=[MANIFEST] if self.keeps_manifest else [],
            overwrite=self.to.options.overwrite,
        )

    def write(self, plan: Plan, split: Split, make: Callable[[Staging], None]) -> tuple[Path, ...]:
        """Write everything, or nothing.

        Parameters
        ----------
        plan
            What `plan` returned.
        split
            The split, for manifest and page.
        make
            Makes the files of the subsets in a staging.

        Returns
        -------
        tuple of Path
            The manifest, unless it is there already, and the page; with `dry_run` only the page is written.
        """
        page = [] if self.page is None else [self.page]
        if self.to.options.dry_run:
            plan.check()
            plan = Plan(None, reports=page, inputs=plan.inputs)
        if page or not self.to.options.dry_run:
            with plan.stage() as staging:
                if not self.to.options.dry_run:
                    make(staging)
                    if not self.keeps_manifest:
                        staging.write(MANIFEST, as_text(split.to_manifest()))
                for path in page:
                    _write_page(staging, path, split.report(nouns=self.to.nouns))
                staging.commit()
        manifest = [] if self.keeps_manifest else [self.root / MANIFEST]
        return (*manifest, *page)
