"""A FiftyOne of its own for the tests: private database, private directories, App server and browser.

`prepare` must run before anything imports fiftyone, because FiftyOne reads its environment once, at import.
Everything that is started here is stopped here.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no web fonts and the like: the App works offline
]


@dataclass
class FiftyOneSession:
    """Directories, environment and database process of one test run."""

    directory: Path
    port: int
    mongod: subprocess.Popen[bytes] | None = None

    @property
    def plugins(self) -> Path:
        """The plugins directory: the project is linked into it."""
        return self.directory / "plugins"

    def environment(self) -> dict[str, str]:
        """Return what keeps this FiftyOne apart from the user's."""
        return {
            "FIFTYONE_DATABASE_URI": f"mongodb://127.0.0.1:{self.port}",
            "FIFTYONE_DATABASE_NAME": "evosplit_tests",
            "FIFTYONE_DATABASE_VALIDATION": "false",
            "FIFTYONE_PLUGINS_DIR": str(self.plugins),
            "FIFTYONE_CONFIG_PATH": str(self.directory / "config.json"),
            "FIFTYONE_APP_CONFIG_PATH": str(self.directory / "app_config.json"),
            "FIFTYONE_DEFAULT_DATASET_DIR": str(self.directory / "datasets"),
            "FIFTYONE_DO_NOT_TRACK": "true",
            "FIFTYONE_SHOW_PROGRESS_BARS": "false",
            # The App offers "Schedule" in open source only with this.
            "FIFTYONE_ALLOW_LEGACY_ORCHESTRATORS": "true",
        }

    def start_database(self) -> None:
        """Start the mongod that FiftyOne brings, once."""
        if self.mongod is not None:
            return
        data = self.directory / "db"
        data.mkdir()
        with (self.directory / "mongod.log").open("wb") as log:
            self.mongod = subprocess.Popen(
                [
                    str(bundled_mongod()),
                    "--dbpath",
                    str(data),
                    "--port",
                    str(self.port),
                    "--bind_ip",
                    "127.0.0.1",
                    "--nounixsocket",
                    "--wiredTigerCacheSizeGB",
                    "0.5",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for_port(self.port, self.mongod, self.directory / "mongod.log")

    def stop(self) -> None:
        """Stop the database and delete everything."""
        if self.mongod is not None:
            stop_process(self.mongod)
        shutil.rmtree(self.directory, ignore_errors=True)


def prepare() -> FiftyOneSession:
    """Choose a port and directories and point FiftyOne at them; starts nothing yet."""
    if "fiftyone" in sys.modules:
        raise RuntimeError("fiftyone was imported before its test environment was prepared")
    session = FiftyOneSession(Path(tempfile.mkdtemp(prefix="evosplit-fiftyone-")), free_port())
    session.plugins.mkdir()
    (session.plugins / "evosplit").symlink_to(ROOT, target_is_directory=True)
    os.environ.update(session.environment())
    # Registered before fiftyone is imported, so it runs after FiftyOne's own exit handlers, which need it.
    atexit.register(session.stop)
    return session


def bundled_mongod() -> Path:
    """Find the mongod inside the fiftyone package, without importing it."""
    spec = importlib.util.find_spec("fiftyone")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("fiftyone is not installed; run `make setup`")
    mongod = Path(next(iter(spec.submodule_search_locations))) / "db" / "bin" / "mongod"
    if not mongod.exists():
        raise RuntimeError(f"FiftyOne's database is missing ({mongod}); run `make setup`")
    return mongod


def find_chromium() -> str | None:
    """Find an installed Chromium."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def free_port() -> int:
    """Find a free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path, timeout: float = 180) -> None:
    """Wait until the process listens; show its log when it dies instead."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    stop_process(process)
    raise RuntimeError(f"{process.args} did not listen on port {port} within {timeout:.0f} s")


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """End a process politely, then firmly."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=20)


@contextlib.contextmanager
def app_server(session: FiftyOneSession) -> Iterator[str]:
    """Run FiftyOne's own App server; yields its address."""
    session.start_database()
    spec = importlib.util.find_spec("fiftyone")
    if spec is None or spec.origin is None:
        raise RuntimeError("fiftyone is not installed; run `make setup`")
    main = Path(spec.origin).parent / "server" / "main.py"
    port = free_port()
    log = session.directory / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(main), "--port", str(port), "--address", "127.0.0.1"],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **session.environment()},
        )
    try:
        wait_for_port(port, process, log)
        address = f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(address, timeout=60) as answer:
            answer.read(1)
        yield address
    finally:
        process.kill()  # told to end, it would take seconds to tidy up a database that is thrown away
        process.wait(timeout=20)
