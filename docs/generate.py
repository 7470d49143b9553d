"""Make what the pages show and nobody should copy by hand: figures, outputs, the flags of the command line."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import figures

from evosplit.manifest import manifest_schema
from evosplit_plugins.cli.parser import build_parser

HERE = Path(__file__).resolve().parent
GENERATED = HERE / "_build" / "generated"
SOURCES = {".py", ".json", ".html", ".css", ".js"}
PLAIN = {"COLUMNS": "80", "NO_COLOR": "1"}  # what a terminal of 80 columns shows


def everything(folder: Path) -> None:
    """Make all of it, unless the code has not changed since."""
    stamp = folder / "made-from"
    packages = [path for name in ("core", "evosplit_plugins") for path in (HERE.parent / name).rglob("*.*")]
    sources = [path for path in [*HERE.glob("*.py"), *packages] if path.suffix in SOURCES]
    fingerprint = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    figures.draw(folder)
    outputs(folder)
    (folder / "commands.md").write_text(command_reference(), encoding="utf-8")
    (folder / "manifest.md").write_text(manifest_reference(), encoding="utf-8")
    stamp.write_text(fingerprint)


def outputs(folder: Path) -> None:
    """Split the demo data and keep what the terminal shows, and the page."""
    (folder / "extra").mkdir()
    evosplit("demo", "-o", "demo", cwd=folder)
    split = ["split", "demo/instances.json", "-o", "out", "-s", "train:0.8", "-s", "val:0.1", "-s", "test:0.1"]
    shown = evosplit(*split, "--report", "extra/report.html", cwd=folder)
    (folder / "coco-split.txt").write_text(shown, encoding="utf-8")
    ratios = ["--ratios", "8:1:1", "--method", "random", "--quiet"]
    evosplit("split", "demo/instances.json", "-o", "random", *ratios, cwd=folder)
    shown = evosplit("audit", "random/annotations", "--group-by", "clip", cwd=folder, leaks=True)
    (folder / "coco-audit.txt").write_text(shown, encoding="utf-8")


def evosplit(*words: str, cwd: Path, leaks: bool = False) -> str:
    """Run the command line in a folder and return what it prints; an audit that finds leaks ends with 1."""
    call = [sys.executable, "-c", "import sys; from evosplit_plugins.cli import main; sys.exit(main())", *words]
    done = subprocess.run(call, cwd=cwd, env={**os.environ, **PLAIN}, stdout=subprocess.PIPE, text=True)
    if done.returncode != (1 if leaks else 0):
        raise RuntimeError(f"evosplit {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def command_reference() -> str:
    """Return the help of every command as a page."""
    os.environ.update(PLAIN)
    sections = [
        f"## {parser.prog}\n\n```text\n{parser.format_help().rstrip()}\n```" for parser in leaves(build_parser())
    ]
    return "\n\n".join(sections) + "\n"


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the commands that do something, in the order of the help."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield parser
    for group in groups:
        for child in group.choices.values():
            yield from leaves(child)


def manifest_reference() -> str:
    """Return the keys of the manifest as a table, from its schema."""
    keys = manifest_schema()["properties"]
    rows = [f"| `{key}` | {value['description']} |" for key, value in keys.items()]
    return "\n".join(["| key | holds |", "|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    everything(GENERATED)
