"""The report as one self-contained HTML page: no network, no script, dark and light, narrow and wide."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evosplit.report import SplitReport

__all__ = ["report_page"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5d6b7e; --line: #d9dfe7; --page: #fff; --bar: #3d7dd8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7ecf3; --soft: #9aa8bb; --line: #38424f; --page: #151a21; --bar: #6ea8ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p, li { max-width: 46rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
thead th { color: var(--soft); font-weight: 600; position: sticky; top: 0; background: var(--page); }
.bar { display: block; height: .45rem; border-radius: .2rem; background: var(--bar); margin-left: auto; }
"""


def report_page(report: SplitReport) -> str:
    """Return the page; every name that comes from the data is escaped."""
    sections = [
        "<h1>EvoSplit report</h1>",
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in report.summary) + "</ul>",
        _table("Sizes", ("subset", "samples", "asked for", "share"), _size_rows(report)),
        _table("Measures", ("measure", "this split", "random", "floor", "gain"), _measure_rows(report)),
        _table(
            "Classes, rarest first",
            ("class", "images", *(escape(name) for name in report.names), "furthest from its share"),
            _label_rows(report),
        ),
    ]
    made = ", ".join(f"{escape(str(key))}: {escape(str(value))}" for key, value in report.settings.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>EvoSplit report</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(sections)}"
        f'<p class="soft">{made}</p></body></html>\n'
    )


def _size_rows(report: SplitReport) -> list[tuple[str, ...]]:
    total = sum(report.sizes)
    return [
        (escape(name), f"{size:,}", f"{target:,}", f"{100 * size / total:.2f} %")
        for name, size, target in zip(report.names, report.sizes, report.target_sizes, strict=True)
    ]


def _measure_rows(report: SplitReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, meaning, value, random, floor in report.measure_rows():
        gain = f"{random / value:.1f} ×" if value and random else ""
        rows.append((f"{escape(name)}, {escape(meaning)}", f"{value:.3g}", f"{random:.3g}", _optional(floor), gain))
    return rows


def _label_rows(report: SplitReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for row in report.labels:
        width = min(row.deviation, 1.0) * 100
        bar = f'{100 * row.deviation:.1f} %<span class="bar" style="width:{width:.0f}%"></span>'
        rows.append((escape(row.label), f"{sum(row.images):,}", *(f"{n:,}" for n in row.images), bar))
    return rows


def _optional(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Lay out cells that are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<h2>{title}</h2><div class="scroll"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
