"""The report of a split: numbers, from them tables and sentences, and from those text, a page and plots.

`building` computes the `numbers`; `tables` and `sentences` say what is shown, in which words; `text`, `html` and
`plotly` only lay it out, and so do the command line and the FiftyOne panel.
"""

from evosplit.report.building import build_report
from evosplit.report.numbers import LabelRow, MeasureRow, PairRow, SplitReport, SubsetRow
from evosplit.report.shares import Part
from evosplit.report.tables import Column, Table
from evosplit.wording import Nouns

__all__ = [
    "Column",
    "LabelRow",
    "MeasureRow",
    "Nouns",
    "PairRow",
    "Part",
    "SplitReport",
    "SubsetRow",
    "Table",
    "build_report",
]
