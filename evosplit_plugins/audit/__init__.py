"""Judge splits that exist: how good they are, where they hurt, what leaks, what EvoSplit would give instead.

>>> from evosplit import LabelCounts
>>> counts = LabelCounts.from_lists([["cat"], ["dog"], ["cat"], ["dog"], ["cat"], ["dog"]])
>>> files = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "a.jpg", "f.jpg"]
>>> found = Found(("train", "val"), [0, 0, 0, 0, 1, 1], counts, keys={"file name": files})
>>> told = audit(found, effort="fast")
>>> print(*told.leaks)
train and val share 1 file name: a.jpg.
>>> told.failures()
['train and val share 1 file name: a.jpg.']
"""

from evosplit_plugins.audit.hosts import from_coco, from_fiftyone, from_hf, from_lists
from evosplit_plugins.audit.leaks import Leak, find_leaks
from evosplit_plugins.audit.result import Audit, Found, audit
from evosplit_plugins.audit.sources import KINDS, coco_files, detect, list_files
from evosplit_plugins.audit.tables import from_csv

__all__ = [
    "KINDS",
    "Audit",
    "Found",
    "Leak",
    "audit",
    "coco_files",
    "detect",
    "find_leaks",
    "from_coco",
    "from_csv",
    "from_fiftyone",
    "from_hf",
    "from_lists",
    "list_files",
]
