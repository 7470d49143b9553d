"""Adapters by name: EvoSplit's own, and those of others by entry points."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from file_systems import no_privileges

from evosplit import EvoSplitError
from evosplit_plugins.registry import adapter_names, described, detect, get_adapter

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("name", adapter_names())
def test_names(name):
    """Each is found by the name that it gives itself, and is what the help says before it is loaded."""
    adapter = get_adapter(name)
    assert adapter.name == name
    assert described()[name] == (adapter.summary, adapter.verbs)


def test_unknown():
    """The names there are are listed."""
    with pytest.raises(EvoSplitError, match="there is no adapter 'nope'; there are coco, "):
        get_adapter("nope")


def test_nothing_recognises(tmp_path):
    """What no adapter knows is named."""
    path = tmp_path / "notes.docx"
    path.touch()
    with pytest.raises(EvoSplitError, match=r"no adapter recognises .*notes.docx'; name one: coco"):
        detect([str(path)])


@pytest.mark.parametrize("shut", ["a.json", "folder", "folder/annotations"])
def test_what_may_not_be_read_is_not_unknown(tmp_path, shut):
    """The cause is named: nobody needs to look for another adapter."""
    inside = tmp_path / "folder" / "annotations"
    inside.mkdir(parents=True)
    for path in (tmp_path / "a.json", inside / "instances_train.json"):
        path.write_text('{"images": []}')
    path = tmp_path / shut
    given = str(tmp_path / shut.partition("/")[0])
    assert detect([given]) == "coco"
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        with no_privileges(), pytest.raises(EvoSplitError, match=rf"cannot read .*{shut}: Permission denied; make"):
            detect([given])
    finally:
        path.chmod(mode)


def test_what_is_asked_decides(tmp_path):
    """A CSV file is split as a table; its audit needs no further package."""
    pytest.importorskip("duckdb")
    path = tmp_path / "rows.csv"
    path.touch()
    assert [detect([str(path)], verb) for verb in ("split", "apply", "audit")] == ["table", "table", "csv"]


@pytest.fixture
def installed(tmp_path):
    """Install a package with an adapter of its own, as pip leaves it, and one that is broken."""
    home = tmp_path / "site"
    for name, points in (("tags", "tags = own_format:TagsAdapter\n"), ("broken", "broken = no_such_module:Adapter\n")):
        info = home / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[evosplit.adapters]\n{points}")
    (home / "own_format.py").write_bytes((EXAMPLES / "own_format.py").read_bytes())
    return home


def run(home, *words):
    """Run the command line where that package is installed."""
    code = f"import sys; sys.path.insert(0, {str(home)!r}); from evosplit_plugins.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def test_an_adapter_of_others_gets_everything(installed, tmp_path):
    """Found by an entry point: its commands, all shared flags, detection, the audit; a broken one only warns."""
    (tmp_path / "all.tags").write_text("".join(f"{i}.jpg: {'cat' if i % 2 else 'dog'}\n" for i in range(20)))
    words = ["--ratios", "8:2", "--effort", "fast", "--group-regex", "^(.)"]
    done = run(installed, "split", tmp_path / "all.tags", "-o", tmp_path / "out", *words)
    assert done.returncode == 0, done.stderr
    assert "the adapter 'broken' cannot be loaded: No module named 'no_such_module'" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").glob("*.tags")) == ["test.tags", "train.tags"]
    audited = run(installed, "tags", "audit", *sorted((tmp_path / "out").glob("*.tags")), "--no-compare")
    assert audited.returncode == 0, audited.stderr
    assert "--stratify-by" in run(installed, "tags", "split", "--help").stdout
