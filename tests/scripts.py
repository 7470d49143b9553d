"""Runs scripts as a user would: in a process and a directory of their own, with a FiftyOne of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fiftyone_session import FiftyOneSession, free_port


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
    assert done.returncode == 0, f"{arguments} failed:\n{done.stderr}"
    return done.stdout


def needs_fiftyone(*arguments: str | Path) -> bool:
    """Tell whether a script or a piece of code names FiftyOne."""
    texts = [path.read_text() if isinstance(path, Path) else path for path in arguments]
    return any("fiftyone" in text for text in texts)
