"""Fixtures of all tests: a FiftyOne of its own (database, App server) and a browser, started on demand."""

from __future__ import annotations

import os
import signal
import tempfile
from importlib.util import find_spec

import fiftyone_session
import pytest
from hypothesis import settings

from evosplit.methods.evosplit import budget
from evosplit.report import baselines

# The same examples everywhere: what is green here is green elsewhere. New ones: --hypothesis-profile=explore.
# The first example compiles the kernels, so a deadline per example would fail at random.
settings.register_profile("evosplit", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("evosplit")

# Files that take long, the longest first. They are begun before all others, so that all workers end at about the same
# time; what waits for a browser stands beside what computes.
LONG = [
    "test_app.py",
    "test_examples.py",
    "test_spark_engine.py",
    "test_recovery.py",
    "test_stage.py",
    "test_operators.py",
    "test_same_split_everywhere.py",
    "test_docs.py",
    "test_install.py",
    "test_adapters.py",
    "test_readme.py",
    "test_locking.py",
    "test_terminal.py",
]
_sessions: list[fiftyone_session.FiftyOneSession] = []


def pytest_addoption(parser):
    """Let a machine that has everything insist on every test."""
    parser.addoption("--no-skips", action="store_true", help="a test that is skipped is a failure")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail instead of skipping, where that is asked."""
    return _insisting(item.config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Fail instead of skipping a whole file, where that is asked."""
    return _insisting(collector.config, (yield))


def _insisting(config, report):
    if report.outcome == "skipped" and config.getoption("no_skips") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr[-1]}, and --no-skips allows for none"
    return report


def pytest_configure(config):
    """Point FiftyOne and `datasets` at directories of this run, before any module imports them."""
    # What a script starts with & or nohup ignores Ctrl-C, and so would all that the tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Spark's JVMs end too soon for the second compiler to pay: without it they take half of the CPU time.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # What `datasets` makes of the files that it loads: not in the user's cache, and there may be no place for one.
    if not hasattr(config, "workerinput"):
        cache = tempfile.TemporaryDirectory(prefix="evosplit-datasets-", ignore_cleanup_errors=True)
        config.add_cleanup(cache.cleanup)
        os.environ["HF_HOME"] = cache.name
    if find_spec("fiftyone") is not None:
        _sessions.append(fiftyone_session.prepare())


def pytest_collection_modifyitems(items):
    """Put what takes long first."""
    order = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.name, len(LONG)))


@pytest.fixture(autouse=True, scope="module")
def search_length():
    """Give searches a fiftieth of their work, of that for each unit a third, and reports few random splits.

    What tests ask for holds all the same. A module that needs whole searches has a fixture of this name; commands run
    in processes of their own have them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "BASE", 4_000_000)
        patch.setattr(budget, "PER_UNIT", 280)
        patch.setattr(baselines, "MOST_DRAWS", 10)
        yield


@pytest.fixture(scope="session")
def fiftyone():
    """Give FiftyOne's package with a running database."""
    if not _sessions:
        pytest.skip('FiftyOne is not installed; run: pip install "evosplit-plugins[fiftyone]"')
    _sessions[0].start_database()
    import fiftyone as fo

    return fo


@pytest.fixture
def new_dataset(fiftyone):
    """Give a function that makes datasets, which are deleted after the test."""
    made = []

    def make(samples=(), name=None):
        dataset = fiftyone.Dataset(name)
        made.append(dataset)
        dataset.add_samples(list(samples))
        return dataset

    yield make
    for dataset in made:
        if not dataset.deleted:
            dataset.delete()


@pytest.fixture(scope="session")
def fiftyone_home(fiftyone):
    """Give the session of this run: its directories and its environment."""
    return _sessions[0]


@pytest.fixture(scope="session")
def app_address(fiftyone_home):
    """Run FiftyOne's App server and give its address."""
    with fiftyone_session.app_server(fiftyone_home) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    """Start the installed Chromium; without one the test is skipped.

    Not for the whole session: an open Playwright keeps an event loop running, in which FiftyOne's operators behave
    differently.
    """
    executable = fiftyone_session.find_chromium()
    if executable is None or find_spec("playwright") is None:
        missing = "Chromium" if executable is None else "playwright"
        pytest.skip(f"BROWSER TESTS DID NOT RUN: {missing} is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=executable, args=fiftyone_session.CHROMIUM_FLAGS, headless=True
        )
        yield running
        running.close()
