"""The COCO door: re-split annotation files, every image and annotation byte-identical to the input.

>>> from evosplit_plugins import evosplit_coco
>>> split = evosplit_coco("instances.json", "out", {"train": 0.8, "val": 0.2})  # doctest: +SKIP
>>> print(split.report())  # doctest: +SKIP
"""

from evosplit import MissingExtraError

try:
    from evosplit_plugins.coco.dataset import CocoData, read_coco
    from evosplit_plugins.coco.door import apply_split, audit, evosplit_coco, read_counts
except ModuleNotFoundError as error:
    if error.name != "msgspec":
        raise
    raise MissingExtraError("COCO files need msgspec", "coco") from error

__all__ = ["CocoData", "apply_split", "audit", "evosplit_coco", "read_coco", "read_counts"]
