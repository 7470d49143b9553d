"""The README does not lie: its code runs, its commands parse, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from scripts import run_script

from evosplit_plugins.cli import build_parser
from evosplit_plugins.demo import draw_demo

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(*languages):
    """Give the code blocks in these languages."""
    return [
        code
        for language, code in re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
        if language in languages
    ]


def commands():
    """Give the lines of the shell blocks, continuations joined and comments dropped."""
    for block in blocks("bash", "sh", "console"):
        for line in block.replace("\\\n", " ").splitlines():
            for command in line.split("&&"):
                words = shlex.split(command.removeprefix("$ "), comments=True)
                if words:
                    yield words


def words_of(program):
    """Give the arguments of every call of a program."""
    return [words[1:] for words in commands() if words[0] == program]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Draw a little of the demo data."""
    return draw_demo(tmp_path_factory.mktemp("demo"), n_images=60)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.strip().splitlines()[0])
def test_python_runs(code, demo, tmp_path):
    """Each Python block runs by itself beside the demo data and an `instances.json`."""
    shutil.copytree(demo.root, tmp_path / "demo" / "data")
    shutil.copy(demo.annotations, tmp_path)
    run_script("-c", code, directory=tmp_path)


@pytest.mark.parametrize("words", words_of("evosplit"), ids=" ".join)
def test_command_exists(words):
    """Each `evosplit` line is understood by the command line."""
    assert callable(build_parser().parse_args(words).run)


@pytest.mark.parametrize("words", words_of("make"), ids=" ".join)
def test_make_target_exists(words):
    """Each `make` line names targets of the Makefile."""
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {word for word in words if "=" not in word} <= set(targets)


@pytest.mark.parametrize("words", words_of("pip"), ids=" ".join)
def test_extra_exists(words):
    """Each `pip install` line names an extra of the package."""
    extras = re.search(
        r"\[project.optional-dependencies\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.DOTALL
    )
    asked = re.fullmatch(r"evosplit-plugins(?:\[([\w,]+)\])?", words[-1])
    assert asked, f"{words[-1]!r} is not this package"
    assert set(asked[1].split(",") if asked[1] else ()) <= set(
        re.findall(r"^(\w+) =", extras[1], re.MULTILINE)
    )


def test_there_is_something_to_check():
    """The README has Python blocks, commands, make targets and install lines."""
    assert blocks("python")
    assert words_of("evosplit")
    assert words_of("make")
    assert words_of("pip")


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!https?:|#)([^)#]+)", README))))
def test_link_leads_somewhere(link):
    """Each relative link or picture is a file of the repository."""
    assert (ROOT / link).exists()
