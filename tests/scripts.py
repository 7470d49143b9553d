"""Runs scripts and pages as a reader would: in a process and a directory of their own, with a FiftyOne of their own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fiftyone_session import FiftyOneSession, free_port

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<code>.*?)^ *```$", re.DOTALL | re.MULTILINE)
SHELLS = ("bash", "sh", "console")
# What the blocks of a page run in: `space` is shared by its Python blocks, `evosplit` stands for the command. Every
# search is a short one: that the pages run is the point here, not how good their splits are.
PREAMBLE = """
import shutil, sys
from evosplit.methods.evosplit import budget
from evosplit_plugins.cli import main

budget.BASE = 4_000_000

space = {"__name__": "__main__"}

def evosplit(place, words, expected):
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code
    assert code == expected, f"{place}: evosplit {' '.join(words)} gave {code}, not {expected}"
"""


def run_script(*arguments: str | Path, directory: Path, timeout: float = 300) -> str:
    """Run Python with these arguments in a directory and give what it printed; a failure shows its stderr."""
    session = FiftyOneSession(Path(tempfile.mkdtemp(prefix="evosplit-script-")), free_port())
    try:
        session.plugins.mkdir()
        if needs_fiftyone(*arguments):
            session.start_database()
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=directory,
            env={**os.environ, **session.environment()},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    finally:
        session.stop()
    assert done.returncode == 0, f"{arguments[-1]} failed:\n{done.stderr}"
    return done.stdout


def needs_fiftyone(*arguments: str | Path) -> bool:
    """Tell whether a script or a piece of code names FiftyOne."""
    texts = [path.read_text() if isinstance(path, Path) else path for path in arguments]
    return any("fiftyone" in text for text in texts)


class Block(NamedTuple):
    """A code block of a Markdown page."""

    language: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    """Give the code blocks of a page."""
    return [
        Block(found["language"], found["code"], text[: found.start("code")].count("\n") + 1)
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> Iterator[tuple[list[str], int]]:
    """Give the words of each command of a shell block, and the exit code that a comment on its line promises."""
    for line in block.code.replace("\\\n", " ").splitlines():
        for command in line.split("&&"):
            words = shlex.split(command.removeprefix("$ "), comments=True)
            if words:
                promised = re.search(r"# exit code (\d)", command)
                yield words, int(promised[1]) if promised else 0


def page_script(page: Path, demo: Path) -> str:
    """Turn a page into one script: its Python blocks and `evosplit` lines, in order, in one process.

    Instead of drawing the demo pictures again, `evosplit demo` copies those in the directory `demo`, unless it asks for
    another format. A command that opens the App is left out.
    """
    parts = [PREAMBLE]
    for block in blocks(page.read_text(encoding="utf-8")):
        place = f"{page.name}:{block.line}"
        if block.language == "python":
            parts.append(f"exec(compile({block.code!r}, {place!r}, 'exec'), space)")
        elif block.language in SHELLS:
            for words, expected in commands(block):
                if words[:2] == ["evosplit", "demo"] and "--format" not in words:
                    target = words[words.index("-o") + 1]
                    parts.append(f"shutil.copytree({str(demo)!r}, {target!r}, dirs_exist_ok=True)")
                elif words[0] == "evosplit" and words[1:3] != ["fiftyone", "demo"]:
                    parts.append(f"evosplit({place!r}, {words[1:]!r}, {expected})")
    return "\n".join(parts)
