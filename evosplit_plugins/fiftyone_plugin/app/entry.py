"""What FiftyOne loads: registers the operators and the panel, wherever the plugin lies.

FiftyOne imports this file by its location and touches no search path. A downloaded plugin therefore brings
its own packages along; an installed one is importable already.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fiftyone.operators as foo
import fiftyone.operators.types as types

__all__ = ["register"]

_REQUIRED = ("numpy", "scipy", "numba", "pymoo", "joblib")  # the packages of requirements.txt
_INSTALL = "fiftyone plugins requirements @evosplit/evosplit --install"


def register(plugin: Any) -> None:
    """Register everything that fiftyone.yml lists; without the requirements, an operator that names them."""
    _make_importable()
    missing = [package for package in _REQUIRED if find_spec(package) is None]
    if missing:
        _MissingRequirements.missing = ", ".join(missing)
        plugin.register(_MissingRequirements)
        return
    from evosplit_plugins.fiftyone_plugin.app.operators import OPERATORS
    from evosplit_plugins.fiftyone_plugin.app.panel import EvoSplitPanel

    for operator in OPERATORS:
        plugin.register(operator)
    plugin.register(EvoSplitPanel)


def _make_importable() -> None:
    # Early releases of FiftyOne name this module after the plugin's directory, which may be the engine's name.
    if __name__ in ("evosplit", "evosplit_plugins"):
        sys.modules.pop(__name__, None)
    root = Path(__file__).resolve().parents[3]
    for package, home in (("evosplit_plugins", root), ("evosplit", root / "core")):
        if find_spec(package) is None:
            sys.path.insert(0, str(home))


class _MissingRequirements(foo.Operator):  # type: ignore[misc]  # fiftyone is untyped
    """Stands in for the EvoSplit operator while a package that it needs is not installed."""

    missing = ""

    @property
    def config(self) -> Any:
        return foo.OperatorConfig(name="evosplit", label="EvoSplit")

    def resolve_placement(self, ctx: Any) -> Any:
        """Show the button that the user looks for."""
        button = types.Button(label="EvoSplit", icon="call_split", prompt=True)
        return types.Placement(types.Places.SAMPLES_GRID_SECONDARY_ACTIONS, button)

    def resolve_input(self, ctx: Any) -> Any:
        """Say what is missing and how to get it; the form cannot be executed."""
        inputs = types.Object()
        notice = types.Error(
            label=f"EvoSplit needs Python packages that are not installed: {self.missing}.",
            description=f"Run: {_INSTALL}",
        )
        prop = inputs.view("missing", notice)
        prop.invalid = True
        prop.error_message = f"not installed: {self.missing}; run: {_INSTALL}"
        return types.Property(inputs, view=types.View(label="EvoSplit"))

    def execute(self, ctx: Any) -> None:
        """Never reached from the form; says the same to callers from Python."""
        raise ImportError(f"EvoSplit needs {self.missing}; run: {_INSTALL}")
