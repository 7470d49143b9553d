"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = [
    "evosplit_plugins",
    *(f"evosplit_plugins.{name}" for name in ("coco", "yolo", "table", "hf", "fiftyone_plugin")),
]


@pytest.mark.parametrize("name", PACKAGES)
def test_names_are_listed_before_they_are_loaded(name):
    """`dir` lists them in a fresh process, which loads no adapter for it; what is not there is named."""
    code = (
        f"import sys, {name} as package\n"
        "assert set(package.__all__) <= set(dir(package))\n"
        "assert not [name for name in sys.modules if name.startswith('evosplit') and name.endswith('.api')]\n"
        "try:\n    package.nope\n"
        "except AttributeError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == f"module {name!r} has no attribute 'nope'\n"


@pytest.mark.parametrize("name", ["evosplit_plugins.coco", "evosplit_plugins.yolo", "evosplit_plugins.table"])
def test_every_name_is_there(name):
    """Each leads to what it names."""
    pytest.importorskip({"coco": "msgspec", "yolo": "yaml", "table": "duckdb"}[name.rpartition(".")[2]])
    package = import_module(name)
    assert [getattr(package, each).__name__ for each in package.__all__] == package.__all__


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("msgspec", "coco", "evosplit_coco('a.json', 'out', (8, 2))"),
        ("yaml", "yolo", "evosplit_yolo('data.yaml', 'out', (8, 2))"),
        ("duckdb", "table", "evosplit_table('a.csv', (8, 2), output='out')"),
        ("pyspark", "spark", "evosplit_table('a.csv', (8, 2), output='out', engine='spark')"),
        ("datasets", "hf", "evosplit_hf(None, (8, 2))"),
        ("fiftyone", "fiftyone", "evosplit_fiftyone(None, (8, 2))"),
        ("fiftyone", "fiftyone", "fiftyone_plugin.read_counts(None)"),
        ("fiftyone", "fiftyone", "fiftyone_plugin.audit(None)"),
        ("sklearn", "sklearn", "EvoSplitKFold(5)"),
    ],
)
def test_without_what_an_extra_brings(tmp_path, package, extra, use):
    """Each public function raises one kind of error, which names the extra, whatever it would load first."""
    (tmp_path / "a.csv").write_text("id,labels\n1,cat\n2,dog\n")
    (tmp_path / "data.yaml").write_text("train: images\nnames: [cat]\n")
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import evosplit, evosplit_plugins\nfrom evosplit_plugins import fiftyone_plugin\n"
        f"try:\n    {use if use.startswith('fiftyone_plugin') else f'evosplit_plugins.{use}'}\n"
        "except evosplit.MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300, cwd=tmp_path
    )
    assert done.stdout.endswith(f'; run: pip install "evosplit-plugins[{extra}]"\n')
