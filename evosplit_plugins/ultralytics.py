"""The file conventions of Ultralytics: where label files are, how lines are written, what a yaml file contains."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evosplit import EvoSplitError
from evosplit.wording import listed

__all__ = ["VAL", "box_line", "label_line", "label_path", "subset_keys", "subset_values", "yaml_value"]

VAL = ("val", "valid", "validation")  # names of what Ultralytics calls val
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")  # with a digit first it could be a number or a date
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def label_path(image: str) -> str:
    """Return where Ultralytics looks for the label file of an image: labels/ for the last images/, or beside it.

    Examples
    --------
    >>> label_path("/images/set/images/a/x.y.jpg"), label_path("/set/Images/x.jpg")
    ('/images/set/labels/a/x.y.txt', '/set/Images/x.txt')
    """
    head, found, tail = image.rpartition("/images/")
    path = f"{head}/labels/{tail}" if found else image
    return f"{path.rpartition('.')[0]}.txt"


def box_line(label: int, box: Any, size: tuple[float, float], *, corners: bool = False) -> str | None:
    """Write a box, cut at the edges of the image; None if nothing is left of it.

    With `corners` it is written as a polygon.

    Examples
    --------
    >>> box_line(2, [10, 20, 30, 40], (100, 200))
    '2 0.25 0.2 0.3 0.2'
    >>> box_line(2, [90, 0, 30, 40], (100, 200), corners=True)
    '2 0.9 0 1 0 1 0.2 0.9 0.2'
    """
    if not isinstance(box, list) or len(box) != 4:
        return None
    if any(not isinstance(value, (int, float)) or isinstance(value, bool) for value in box):
        return None
    x, y, width, height = (value / side for value, side in zip(box, (*size, *size), strict=True))
    left, right = max(x, 0.0), min(x + width, 1.0)
    top, bottom = max(y, 0.0), min(y + height, 1.0)
    if not (right > left and bottom > top):
        return None
    if corners:
        return label_line(label, [left, top, right, top, right, bottom, left, bottom])
    return label_line(label, [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top])


def label_line(label: int, values: Sequence[float]) -> str:
    """Write a line of a label file.

    Examples
    --------
    >>> label_line(3, [0.5, 1 / 3])
    '3 0.5 0.333333'
    """
    return " ".join([str(label), *(f"{value:.6g}" for value in values)])


def subset_keys(names: Sequence[str]) -> dict[str, str]:
    """Return the subset behind each key of a yaml file; train and val have to be there.

    Examples
    --------
    >>> subset_keys(["train", "validation"]), subset_keys(["train", "test"])
    ({'train': 'train', 'val': 'validation'}, {'train': 'train', 'val': 'test', 'test': 'test'})
    """
    keys = {"val" if name in VAL else name: name for name in names}
    if len(keys) < len(names):
        alike = " and ".join(name for name in names if name in VAL)
        raise EvoSplitError(f"{alike} are one subset for Ultralytics; rename one of them")
    if "train" not in keys or not {"val", "test"} & set(keys):
        raise EvoSplitError(
            f"Ultralytics trains on 'train' and validates on 'val', but the subsets are {listed(names)}; name them so"
        )
    return {"train": keys["train"], "val": keys.get("val") or keys["test"], **keys}


def subset_values(where: Mapping[str, str], fold: str | None = None) -> dict[str, Any]:
    """Return the subset entries of a yaml file, given the path of each; that of a fold trains on the others.

    Examples
    --------
    >>> subset_values({"train": "train.txt", "val": "val.txt"})
    {'train': 'train.txt', 'val': 'val.txt'}
    >>> subset_values({"fold0": "a", "fold1": "b", "fold2": "c"}, "fold1")
    {'train': ['a', 'c'], 'val': 'b'}
    """
    if fold is not None:
        return {"train": [place for name, place in where.items() if name != fold], "val": where[fold]}
    return {key: where[name] for key, name in subset_keys(list(where)).items()}


def yaml_value(value: Any) -> str:
    """Write a text, or a list of texts, as a value in a yaml file.

    Examples
    --------
    >>> yaml_value("images/train"), yaml_value(["a.txt", "no", "x: y"])
    ('images/train', '[a.txt, "no", "x: y"]')
    """
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if plain else _quoted(value)
    return f"[{', '.join(map(yaml_value, value))}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
