"""The ways to get the plugin: downloaded into a fresh plugins directory, or linked to the package."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from evosplit import EvoSplitError

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = "@evosplit/evosplit"
FIFTYONE = "from fiftyone.core.cli import main; main()"  # the `fiftyone` command
SHIPPED = ("fiftyone.yml", "requirements.txt", "core/evosplit", "evosplit_plugins")

# For a process in which nothing of the project is installed: its paths and import hooks are taken away.
WITHOUT_INSTALLATION = """
import sys
from importlib.util import find_spec
from pathlib import Path

root = Path(sys.argv[1])
sys.path[:] = [p for p in sys.path if p and Path(p).resolve() not in (root, root / "core")]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in repr(f).lower()]
assert find_spec("evosplit") is None and find_spec("evosplit_plugins") is None
"""
SPLIT = """
import json
import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.plugins.context import build_plugin_contexts

context = next(c for c in build_plugin_contexts() if c.name == "@evosplit/evosplit")
dataset = fo.Dataset()
label = fo.Classification(label="cat")
dataset.add_samples([fo.Sample(filepath=f"/{i}.jpg", gt=label.copy()) for i in range(10)])
foo.execute_operator("@evosplit/evosplit/evosplit", {"dataset": dataset, "params": {"effort": "fast"}})
import evosplit
print(json.dumps({
    "errors": context.errors,
    "operators": [instance.name for instance in context.instances],
    "tags": dataset.count_sample_tags(),
    "engine": evosplit.__file__,
}))
dataset.delete()
"""
WITHOUT_NUMBA = """
sys.modules["numba"] = None
import json
import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators.executor import ExecutionContext

operator = foo.get_operator("@evosplit/evosplit/evosplit")
form = operator.resolve_input(ExecutionContext({})).to_json()["type"]["properties"]["missing"]
try:
    foo.execute_operator(operator.uri)
except Exception as error:
    failure = str(error)
print(json.dumps({"text": form["view"]["label"], "remedy": form["view"]["description"], "failure": failure}))
"""


@contextmanager
def served(directory):
    """Serve a directory on loopback; gives its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(directory))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def run(plugins, *command, compiled=False):
    """Run Python with another plugins directory; gives what it printed last."""
    environment = {**os.environ, "FIFTYONE_PLUGINS_DIR": str(plugins)}
    environment.pop("PYTHONPATH", None)
    if not compiled:  # a fresh copy would compile everything anew for ten samples
        environment["NUMBA_DISABLE_JIT"] = "1"
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=300, cwd=plugins
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def downloaded(fiftyone_home, tmp_path_factory):
    """Download the plugin with FiftyOne's own command from a zip on loopback."""
    shelf = tmp_path_factory.mktemp("shelf")
    with zipfile.ZipFile(shelf / "evosplit.zip", "w") as archive:
        for part in SHIPPED:
            files = [ROOT / part] if (ROOT / part).is_file() else (ROOT / part).rglob("*")
            for file in files:
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, Path("evosplit-main") / file.relative_to(ROOT))
    plugins = tmp_path_factory.mktemp("plugins")
    with served(shelf) as address:
        run(plugins, "-c", FIFTYONE, "plugins", "download", f"{address}/evosplit.zip")
    return plugins


def test_download_is_enough(downloaded):
    """A downloaded plugin splits with the engine that it brought along."""
    out = run(downloaded, "-c", WITHOUT_INSTALLATION + SPLIT, str(ROOT))
    found = json.loads(out.strip().splitlines()[-1])
    assert found["errors"] == []
    assert {"evosplit", "undo_split", "evosplit_panel"} <= set(found["operators"])
    assert sum(found["tags"].values()) == 10
    assert Path(found["engine"]).is_relative_to(downloaded)


def test_requirements_install(downloaded):
    """FiftyOne's own command installs what the plugin needs."""
    out = run(downloaded, "-c", FIFTYONE, "plugins", "requirements", PLUGIN, "--install")
    assert "numba" in out


def test_missing_requirement_is_named(downloaded):
    """While a requirement is missing, the button opens a form that says how to install it."""
    out = run(downloaded, "-c", WITHOUT_INSTALLATION + WITHOUT_NUMBA, str(ROOT))
    found = json.loads(out.strip().splitlines()[-1])
    assert found["text"].endswith("not installed: numba.")
    assert found["remedy"] == "Run: fiftyone plugins requirements @evosplit/evosplit --install"
    assert "numba" in found["failure"]


def test_link(fiftyone, tmp_path):
    """A linked plugin works, and linking again renews the link."""
    from evosplit_plugins.fiftyone_plugin.app.install import install

    home = install(tmp_path)
    assert install(tmp_path) == home == tmp_path / "@evosplit" / "evosplit"
    path = os.pathsep.join([str(ROOT), str(ROOT / "core")])
    out = run(tmp_path, "-c", f"import sys; sys.path[:0] = {path.split(os.pathsep)!r}\n" + SPLIT, compiled=True)
    found = json.loads(out.strip().splitlines()[-1])
    assert found["errors"] == []
    assert "evosplit_panel" in found["operators"]


@pytest.mark.parametrize("linked", [False, True])
def test_link_does_not_destroy(fiftyone, tmp_path, linked):
    """Another copy of the plugin is replaced on demand only, and a symlink's target is never touched."""
    from evosplit_plugins.fiftyone_plugin.app.install import install

    copy = tmp_path / "copy" if linked else tmp_path / PLUGIN
    copy.mkdir(parents=True)
    (copy / "fiftyone.yml").write_text("name: mine")
    if linked:
        (tmp_path / "@evosplit").mkdir()
        (tmp_path / PLUGIN).symlink_to(copy)
    with pytest.raises(EvoSplitError, match="holds another copy of the plugin; remove it, or pass overwrite=True"):
        install(tmp_path)
    assert (copy / "fiftyone.yml").read_text() == "name: mine"
    install(tmp_path, overwrite=True)
    assert (tmp_path / PLUGIN / "__init__.py").is_file()
    if linked:
        assert (copy / "fiftyone.yml").read_text() == "name: mine"


def test_what_is_started_does_not_hear_ctrl_c(fiftyone):
    """Ctrl-C at the terminal goes to all processes; those that start in the background leave it to the command."""
    from evosplit_plugins.fiftyone_plugin.app.starting import _in_background

    interrupt = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('lives')"
    command = [sys.executable, "-c", interrupt]
    assert _in_background(lambda: subprocess.check_output(command)).result(timeout=60).strip() == b"lives"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())  # the command itself hears it


def test_private_names_of_fiftyone(fiftyone):
    """What starting the App early rests on is there: without it the App still opens, later and with more words."""
    import inspect

    from fiftyone.core.service import ServerService
    from fiftyone.core.session import session

    wait = getattr(ServerService, "_wait_for_child_port", None)
    assert wait is not None, "ServerService._wait_for_child_port is gone: a busy machine gets 60 s for the server again"
    assert list(inspect.signature(wait).parameters) == ["self", "port", "timeout"], "the patience is given otherwise"
    assert isinstance(getattr(session, "_server_services", None), dict), (
        "session._server_services is gone: FiftyOne takes the server that was started early for somebody else's"
    )
    assert inspect.getsource(session._register_session).count("_server_services"), "servers are registered elsewhere"
