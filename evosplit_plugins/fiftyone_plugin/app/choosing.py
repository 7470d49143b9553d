"""A list of the panel to choose from: a button that says what is chosen, and unfolds a button for each choice.

FiftyOne's own lists write into the state of the panel. The App loads the dataset anew for each change of that, and
clears the filters of the sidebar; it does so before the panel hears of the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import fiftyone.operators.types as types

from evosplit_plugins.fiftyone_plugin.app.output import plain

__all__ = ["add_choice"]

# Long names break; many choices scroll.
_WIDE = {"width": "100%", "justifyContent": "flex-start", "textAlign": "left", "fontSize": "0.9rem"}
_LINES = {"& .MuiTypography-root": {"fontSize": "0.9rem", "overflowWrap": "anywhere"}}
_CLOSED = {"button": {"sx": {**_WIDE, **_LINES, "px": 1.5, "py": 0.75, "justifyContent": "space-between"}}}
_CHOICE = {"button": {"sx": {**_WIDE, **_LINES, "px": 1.5, "py": 0.25, "backgroundColor": "transparent"}}}
_CHOICES = {
    "grid": {"sx": {"maxHeight": "40vh", "overflowY": "auto", "gap": 0, "border": 1, "borderColor": "divider"}},
    "item": {"sx": {"width": "100%"}},
}


def add_choice(
    panel: Any,
    name: str,
    choices: Mapping[str, str],
    chosen: str,
    called: str,
    unfolded: bool,
    *,
    on_unfold: Callable[..., Any],
    on_choose: Callable[..., Any],
) -> None:
    """Say what is `chosen`, in the words of `called`; where it is `unfolded`, offer all choices.

    `on_choose` finds the key of the choice in `ctx.params["value"]`. Where there is but one, it is only named.
    """
    if len(choices) < 2:
        panel.view(name, types.HeaderView(description=plain(called)))
        return
    icon = "expand_less" if unfolded else "expand_more"
    look = {"variant": "outlined", "icon_position": "right", "componentsProps": _CLOSED}
    panel.btn(name, label=called, icon=icon, on_click=on_unfold, **look)
    if not unfolded:
        return
    column = panel.v_stack(f"{name}_choices", gap=0, componentsProps=_CHOICES)
    for at, (value, label) in enumerate(choices.items()):
        icon = "radio_button_checked" if value == chosen else "radio_button_unchecked"
        column.btn(
            f"{name}_{at}",
            label=label,
            icon=icon,
            on_click=on_choose,
            params={"value": value},
            componentsProps=_CHOICE,
        )
