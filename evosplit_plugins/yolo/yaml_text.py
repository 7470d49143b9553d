"""Edit a yaml file as text, so that unknown keys, comments, order and quotes stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evosplit_plugins.ultralytics import yaml_value

__all__ = ["edited"]


def edited(text: str, content: Mapping[str, Any], new: Mapping[str, Any], dropped: Sequence[str]) -> str:
    r"""Replace some keys by new ones; comments on the lines that are replaced go with them.

    Parameters
    ----------
    text, content
        The file as text and as parsed values; an empty text is written from the values.
    new
        The keys to set. They stand together, where the first of them or of `dropped` was.
    dropped
        The keys to remove.

    Examples
    --------
    >>> text = "# mine\ntrain: a  # old\nval: b\nnc: 2  # two\n"
    >>> print(edited(text, {"train": "a", "val": "b", "nc": 2}, {"train": "train.txt"}, ["val"]), end="")
    # mine
    train: train.txt
    nc: 2  # two
    """
    import yaml

    expected = {**{key: value for key, value in content.items() if key not in dropped}, **new}
    end = "\r\n" if "\r\n" in text else "\n"
    made = _edited(yaml, text, new, {*dropped, *new}, end) if text else None
    if made is not None:
        try:
            if yaml.safe_load(made) == expected:
                return made
        except yaml.YAMLError:
            pass
    # Flow style, or an anchor on a removed line: only the values can be kept.
    return str(yaml.safe_dump(expected, sort_keys=False, allow_unicode=True, default_flow_style=None))


def _edited(yaml: Any, text: str, new: Mapping[str, Any], gone: set[str], end: str) -> str | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += end
    block = [f"{key}: {yaml_value(value)}{end}" for key, value in new.items()]
    cuts = [(key.start_mark.line, _last_line(yaml, value, lines)) for key, value in root.value if key.value in gone]
    kept: list[str] = []
    at = cuts[0][0] if cuts else len(lines)
    for number, line in enumerate(lines):
        if number == at:
            kept += block
        if not any(first <= number <= last for first, last in cuts):
            kept.append(line)
    return "".join(kept if cuts else [*kept, *block])


def _last_line(yaml: Any, node: Any, lines: Sequence[str]) -> int:
    """Return the last line of a value, without the comments and empty lines after it."""
    if not isinstance(node, yaml.ScalarNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(yaml, last[1] if isinstance(last, tuple) else last, lines)
    line = node.end_mark.line - (node.end_mark.column == 0)
    while line > node.start_mark.line and not lines[line].strip():
        line -= 1
    return int(max(node.start_mark.line, line))
