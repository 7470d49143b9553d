"""Split multi-label data sets into disjoint subsets of exact size with the same labels and pairs everywhere.

>>> import evosplit
>>> counts = evosplit.LabelCounts.from_lists([["cat"], ["dog", "dog"], ["cat", "dog"], []])
>>> evosplit.split(counts, {"train": 0.5, "test": 0.5}).sizes
(2, 2)
"""

from evosplit._version import __version__
from evosplit.counts import LabelCounts
from evosplit.describe import Description, describe
from evosplit.errors import EvoSplitError, EvoSplitWarning, MissingExtraError
from evosplit.front import ParetoFront
from evosplit.measures import Measures, measure
from evosplit.report import Nouns, SplitReport
from evosplit.result import Split
from evosplit.splitting import kfold, split

__all__ = [
    "Description",
    "EvoSplitError",
    "EvoSplitWarning",
    "LabelCounts",
    "Measures",
    "MissingExtraError",
    "Nouns",
    "ParetoFront",
    "Split",
    "SplitReport",
    "__version__",
    "describe",
    "kfold",
    "measure",
    "split",
]
