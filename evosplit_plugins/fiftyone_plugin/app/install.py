"""Make FiftyOne find an installed EvoSplit: two small files in its plugins directory point at the package."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import fiftyone as fo

from evosplit import EvoSplitError, __version__
from evosplit_plugins.fiftyone_plugin.app.base import PLUGIN
from evosplit_plugins.fiftyone_plugin.app.operators import OPERATORS
from evosplit_plugins.fiftyone_plugin.app.output import PANEL
from evosplit_plugins.files import PathLike

__all__ = ["install", "plugin_definition"]

_LINK = '''"""Written by `evosplit fiftyone install`: the plugin is the installed package evosplit_plugins."""

from evosplit_plugins.fiftyone_plugin.app.entry import register

__all__ = ["register"]
'''


def plugin_definition() -> dict[str, Any]:
    """Return what fiftyone.yml says of the plugin."""
    return {
        "fiftyone": {"version": ">=1.11"},
        "name": PLUGIN,
        "type": "plugin",
        "author": "The EvoSplit developers",
        "version": __version__,
        "description": "Split a dataset into subsets that share labels, instances and label pairs evenly",
        "license": "MIT",
        "operators": [operator().config.name for operator in OPERATORS],
        "panels": [PANEL],
    }


def install(plugins_dir: PathLike | None = None, *, overwrite: bool = False) -> Path:
    """Link the plugin into a plugins directory, by default FiftyOne's own; returns the plugin's directory.

    Linking again renews the link; a downloaded copy of the plugin is replaced with `overwrite` only.
    """
    home = Path(plugins_dir if plugins_dir is not None else fo.config.plugins_dir) / PLUGIN
    if home.is_symlink() or (home.exists() and not _is_link(home)):
        if not overwrite:
            raise EvoSplitError(f"{str(home)!r} holds another copy of the plugin; remove it, or pass overwrite=True")
        if home.is_symlink():
            home.unlink()
        else:
            shutil.rmtree(home)
    home.mkdir(parents=True, exist_ok=True)
    (home / "__init__.py").write_text(_LINK, encoding="utf-8")
    # The definition comes last: FiftyOne looks for it, and then finds the rest in place.
    text = json.dumps(plugin_definition(), indent=2)  # JSON is YAML
    (home / "fiftyone.yml").write_text(text, encoding="utf-8")
    return home


def _is_link(home: Path) -> bool:
    entry = home / "__init__.py"
    return entry.is_file() and entry.read_text(encoding="utf-8") == _LINK
