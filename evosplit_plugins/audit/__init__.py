"""Judge splits that exist: how even they are, what leaks, what EvoSplit would give instead.

>>> import numpy as np
>>> from evosplit import LabelCounts
>>> from evosplit_plugins.source import Placement, Source
>>> counts = LabelCounts.from_lists([["cat"], ["dog"], ["cat"], ["dog"], ["cat"], ["dog"]])
>>> files = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "a.jpg", "f.jpg"]
>>> subsets = Placement(("train", "val"), np.array([0, 0, 0, 0, 1, 1]))
>>> judged = audit(Source(counts=counts, adapter="mine", files=files, subsets=subsets), effort="fast")
>>> print(*judged.leaks)
train and val share 1 file name: a.jpg.
>>> judged.failures()
['train and val share 1 file name: a.jpg.']
"""

from evosplit_plugins.audit.leaks import Leak, find_leaks
from evosplit_plugins.audit.result import Audit, audit

__all__ = ["Audit", "Leak", "audit", "find_leaks"]
