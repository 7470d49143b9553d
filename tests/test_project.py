"""The files around the code agree with it: the tree of tests, the workflow of the forge, the citation, the versions."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

import pytest
import yaml

import evosplit

ROOT = Path(__file__).resolve().parents[1]
TESTS_OF = {
    "core/evosplit": "tests/core",
    "evosplit_plugins/fiftyone_plugin": "tests/plugins/fiftyone",
    "evosplit_plugins": "tests/plugins",
}
SMALL = 15  # lines: a module of constants
TESTED_ELSEWHERE = {
    "evosplit_plugins/fiftyone_plugin/app/*.py": "driven as a whole, in test_app.py and test_operators.py",
}
MAKEFILE = (ROOT / "Makefile").read_text()
PYPROJECT = (ROOT / "pyproject.toml").read_text()


@pytest.fixture(scope="module")
def jobs():
    """Give the jobs of the workflow."""
    return yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]


def pythons():
    """Give the versions of Python that the package declares."""
    return re.findall(r"Python :: (3\.\d+)", PYPROJECT)


def test_each_module_has_its_test_file():
    """The tree of tests mirrors the code; what is tested elsewhere says where."""
    missing = []
    for home in ("core/evosplit", "evosplit_plugins"):
        for path in sorted((ROOT / home).rglob("*.py")):
            module = path.relative_to(ROOT).as_posix()
            known = path.name == "__init__.py" or any(PurePath(module).match(each) for each in TESTED_ELSEWHERE)
            if known or len(path.read_text(encoding="utf-8").splitlines()) <= SMALL:
                continue
            above = next(above for above in TESTS_OF if module.startswith(f"{above}/"))
            inside = (ROOT / TESTS_OF[above] / module.removeprefix(f"{above}/")).parent
            if not (inside / f"test_{path.name.lstrip('_')}").exists():
                missing.append(module)
    assert missing == []
    assert all(list(ROOT.glob(module)) for module in TESTED_ELSEWHERE)


def test_workflow_makes_what_there_is(jobs):
    """Each command of the workflow is a target of the Makefile, and all that has to pass are there."""
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    named = {word for line in lines for word in re.findall(r"make ([a-z-]+)", line)}
    named |= {each["target"] for each in jobs["make"]["strategy"]["matrix"]["include"]}
    assert named <= targets
    assert {"core", "lint", "docs", "test", "test-lowest", "release"} <= named


def test_workflow_takes_every_python(jobs):
    """The engine is tested with each Python that the package declares, on Linux and macOS."""
    matrix = jobs["core"]["strategy"]["matrix"]
    assert matrix["python"] == pythons()
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}
    assert re.search(r"^PYTHONS \?= (.+)$", MAKEFILE, re.MULTILINE)[1].split() == pythons()


def test_versions_agree():
    """The version is the same wherever it is written."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    plugin = yaml.safe_load((ROOT / "fiftyone.yml").read_text())
    assert citation["version"] == plugin["version"] == evosplit.__version__


def test_citation_is_the_one_of_the_readme():
    """The README and CITATION.cff name the same paper."""
    paper = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["preferred-citation"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f'"{paper["title"]}", {paper["journal"]} {paper["volume"]}({paper["issue"]}), {paper["year"]}' in readme
    assert paper["authors"][0]["family-names"] in readme


def test_nothing_of_the_packages_is_ignored():
    """No rule of .gitignore, which the build obeys too, hides a folder of the packages."""
    rules = {line.strip() for line in (ROOT / ".gitignore").read_text().splitlines()}
    packages = [path for name in ("core/evosplit", "evosplit_plugins") for path in (ROOT / name).rglob("*")]
    folders = {path.name for path in packages if path.is_dir() and path.name != "__pycache__"}
    assert folders
    assert not {f"{name}/" for name in folders} & rules
