"""The inputs that forms are made of: one of several, several of many, a switch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import fiftyone.operators.types as types

__all__ = ["add_one", "add_several", "add_switch"]

# A list that is closed would cut off the end of a long choice.
_WRAPPED = {"select": {"sx": {".MuiSelect-select": {"whiteSpace": "normal"}}}}


def add_one(inputs: Any, name: str, choices: Mapping[str, str], *, radio: bool = False, **options: Any) -> None:
    """Ask for one of some values, called as `choices` says; by default it is the first."""
    space = {"space": options.pop("space")} if "space" in options else {}
    dropdown = types.DropdownView(componentsProps=_WRAPPED, **space)
    view = types.RadioGroup(orientation="horizontal") if radio else dropdown
    for value, label in choices.items():
        view.add_choice(value, label=label)
    inputs.enum(name, view.values(), view=view, **{"default": next(iter(choices)), **options})


def add_several(inputs: Any, name: str, choices: Mapping[str, str] | Iterable[str], **options: Any) -> None:
    """Ask for any number of values, by default for none."""
    called = choices if isinstance(choices, Mapping) else {value: value for value in choices}
    view = types.DropdownView(multiple=True, allow_duplicates=False)
    for value, label in called.items():
        view.add_choice(value, label=label)
    inputs.list(name, types.String(), required=False, view=view, **{"default": [], **options})


def add_switch(inputs: Any, name: str, label: str, description: str, *, default: bool = False) -> None:
    """Ask for yes or no."""
    inputs.bool(name, default=default, label=label, description=description, view=types.SwitchView())
