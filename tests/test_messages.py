"""Messages speak the language of their reader: parameters to callers from Python, flags at the shell."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from evosplit import EvoSplitError
from evosplit_plugins.cli.parser import build_parser, known_flags
from evosplit_plugins.cli.wording import PYTHON_ONLY, in_flags

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = [
    path
    for folder in ("core/evosplit", "evosplit_plugins")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "cli" not in path.parts
]
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
WRITTEN = re.compile(r"(?<![\w.'\"/-])([a-z][a-z_]*)=(?!=)")
FLAGS = known_flags(build_parser())
# FiftyOne's own command line, and CSS.
OTHERS = {"--install", "--accent", "--s", "--c", "--t"}


def texts(path):
    """Give the texts of a file, each with its line; what f-strings fill in is X.

    Docstrings are left out, and what describes an option for the shell.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "option":
            docstrings |= {id(part) for part in ast.walk(node)}
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            docstrings.add(id(node.body[0].value))
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | inside:
            yield node.lineno, node.value


def raised(path):
    """Give the texts inside of `EvoSplitError(...)`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "EvoSplitError" and node.args:
            for part in ast.walk(node.args[0]):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield node.lineno, part.value


def has_flag(parameter):
    """Tell whether the shell writes a parameter as a flag."""
    message = f"{parameter}= is wrong"
    return in_flags(EvoSplitError(message), FLAGS) != message


def test_the_library_names_no_flags():
    """Whoever calls from Python has no flags."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:80]}"
        for path in LIBRARY
        for line, text in texts(path)
        if set(FLAG.findall(text)) - OTHERS
    ]
    assert found == []


def test_parameters_in_messages_have_flags():
    """What a message of the library writes as a parameter is a flag at the shell, or is known to Python alone."""
    unknown = [
        f"{path.relative_to(ROOT)}:{line}: {name}="
        for path in LIBRARY
        for line, text in raised(path)
        for name in WRITTEN.findall(text)
        if name not in PYTHON_ONLY and not has_flag(name)
    ]
    assert unknown == []


def test_the_shell_names_no_parameters():
    """The command line's own messages speak of flags alone."""
    found = [
        f"{path.name}:{line}: {text}"
        for path in sorted((ROOT / "evosplit_plugins" / "cli").glob("*.py"))
        for line, text in raised(path)
        for name in WRITTEN.findall(text)
        if has_flag(name)
    ]
    assert found == []


def test_an_interrupt_while_loading_is_one_line(tmp_path):
    """Ctrl-C before the command has begun: no traceback, exit code 130."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("raise KeyboardInterrupt")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = "import sys; from evosplit_plugins.cli import main; sys.exit(main(['--version']))"
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=env)
    assert (done.returncode, done.stderr) == (130, "evosplit: interrupted\n")
