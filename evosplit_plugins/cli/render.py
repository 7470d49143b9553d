"""Print reports, audits and the results of commands."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evosplit.report.tables import Table, overview
from evosplit.report.terminal import clean
from evosplit.report.text import table_lines
from evosplit.wording import Nouns, counted
from evosplit_plugins.cli.terminal import show, width
from evosplit_plugins.cli.wording import note_in_flags

if TYPE_CHECKING:
    from evosplit import Split
    from evosplit_plugins.audit import Audit

__all__ = ["show_audit", "show_report", "tell"]

_LABELS = 100  # of a split that was made; of more labels, those furthest from their shares
_LABELS_OF_AUDIT = 8


def show_report(args: argparse.Namespace, split: Split, done: Mapping[str, Any], *, nouns: Nouns | None = None) -> None:
    """Print the report of a split: its tables, then its summary, which stays in sight; or JSON with `--json`.

    Parameters
    ----------
    args
        The flags of the command.
    split
        The split; it carries its label counts.
    done
        Further results, such as the files that were written; printed one per line, or added to the JSON.
    nouns
        What samples and labels are called.
    """
    if args.json:
        print(json.dumps({**split.report(nouns).to_dict(), **done}, indent=2))
    elif not args.quiet:
        report = split.report(nouns)
        _print_tables(overview(report, labels=_LABELS))
        for line in report.summary:
            show(note_in_flags(line, split.source.get("adapter")) if line in report.notes else line)
        _print_facts(done)


def show_audit(audit: Audit, failures: Sequence[str], *, judged: bool) -> None:
    """Print an audit, what matters first: leaks, the verdict, the comparison with EvoSplit, then the tables.

    Parameters
    ----------
    audit
        The audit.
    failures
        Why it fails; see `Audit.failures`.
    judged
        Whether it was asked to pass or fail.
    """
    for leak in audit.leaks:
        show(str(leak), "LEAK ", "bold red")
    show("", audit.verdict, "bold")
    for line in audit.comparison():
        show(line)
    print()
    beside = None if audit.instead_report is None else ("EvoSplit", audit.instead_report)
    _print_tables(overview(audit.report, labels=_LABELS_OF_AUDIT, beside=beside))
    for line in audit.split.notes:
        show(note_in_flags(line, audit.split.source.get("adapter")))
    if failures:
        leaks = {str(leak) for leak in audit.leaks}  # which were listed before
        reasons = [reason.removesuffix(".") for reason in failures if reason not in leaks]
        n_leaks = len(failures) - len(reasons)
        if n_leaks:
            reasons.insert(0, counted(n_leaks, "leak", "leaks"))
        show("; ".join(reasons), "failed: ", "bold red")
    elif judged:
        show("", "passed", "bold green")


def tell(args: argparse.Namespace, values: Mapping[str, Any], lines: Mapping[str, Any] | None = None) -> None:
    """Print the results of a command: `values` as JSON with `--json`, else `lines` (or the values) one by one."""
    if args.json:
        print(json.dumps(dict(values), indent=2))
    elif not args.quiet:
        _print_facts(values if lines is None else lines)


def _print_facts(facts: Mapping[str, Any]) -> None:
    for key, value in facts.items():
        if isinstance(value, (list, tuple)):
            print("\n  ".join([f"{clean(key)}:", *(clean(str(entry)) for entry in value)]))
        else:
            print(f"{clean(key)}: {clean(str(value))}")


def _print_tables(tables: Iterable[Table]) -> None:
    for table in tables:
        title, head, *rows = table_lines(table, width())
        show("", title, "bold")
        show("", head, "dim")
        for row in rows:
            show(row)
        print()
