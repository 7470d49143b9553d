"""Bring the benchmark table of the README up to date with benchmarks/results/peers.md.

`python docs/benchmark_table.py` rewrites the table below the comment that names the section of that file.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
METHODS = (
    "random",
    "scikit-multilearn, order 2",
    "iterative-stratification",
    "OptiSplit",
    "Datumaro",
    "evosplit",
)
MEASURES = ("LD", "LD′", "LPD")
TABLE = re.compile(r"(<!-- peers: (?P<section>.+?) -->\n.*?\n\n)\|.*?(?=\n\n)", re.DOTALL)


def cells(row: str) -> list[str]:
    """Return the cells of a table's row."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def measured(peers: str, section: str) -> dict[str, dict[str, str]]:
    """Return the rows of a section of the results, by method."""
    rows = peers.split(f"\n## {section}\n", 1)[1].split("\n\n|", 1)[1].split("\n\n", 1)[0].splitlines()
    found = [dict(zip(cells(rows[0]), cells(row), strict=True)) for row in rows[2:]]
    return {row["method"].partition(" (")[0]: row for row in found}


def table(rows: dict[str, dict[str, str]]) -> str:
    """Lay out the rows: CPU seconds of a new process, the measures in parts of random's, the size error.

    What was measured on another machine, and is quoted, has no CPU seconds.
    """
    lines = [f"| method | CPU s | {' | '.join(MEASURES)} | ED |", "|---|--:|--:|--:|--:|--:|"]
    for method in METHODS:
        row = rows[method]
        parts = [float(row[name]) / float(rows["random"][name]) for name in MEASURES]
        size_error = float(f"{float(row['ED']):.2g}")  # two digits, printed without an exponent
        values = [
            method,
            f"{float(row['import s']) + float(row['first call s']):.1f}" if row["import s"] else "–",
            *(f"{part:.2f}" for part in parts),
            f"{size_error:g}",
        ]
        if method == "evosplit":
            values = [f"**{value}**" for value in values]
        lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines)


def updated(readme: str, peers: str) -> str:
    """Return the README with the table that the results give."""
    return TABLE.sub(lambda found: found[1] + table(measured(peers, found["section"])), readme)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    peers = ROOT / "benchmarks" / "results" / "peers.md"
    readme.write_text(updated(readme.read_text(encoding="utf-8"), peers.read_text(encoding="utf-8")), encoding="utf-8")
