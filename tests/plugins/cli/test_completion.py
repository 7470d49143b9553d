"""The completion script, sourced by a real shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from coco_files import command

from evosplit_plugins.cli import main

pytest.importorskip("shtab")
ASK = """
source "$1"
shift
function=$(complete -p evosplit | sed -E 's/.*-F ([^ ]+).*/\\1/')
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
$function evosplit "${COMP_WORDS[COMP_CWORD]}" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """Write the script of bash."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    path = tmp_path_factory.mktemp("completion") / "evosplit.bash"
    path.write_text(command("completion", "bash").stdout, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("",), {"split", "apply", "audit", "coco", "yolo", "hf", "fiftyone", "demo"}),
        (("coco", ""), {"split", "apply", "audit"}),
        (("coco", "split", "--group"), {"--group-by", "--group-regex"}),
        (("split", "--strat"), {"--stratify-by"}),
        (("audit", "--fail"), {"--fail-over"}),
        (("hf", "split", "--label-c"), {"--label-column"}),
        (("coco", "split", "--layout", ""), {"coco", "roboflow", "yolo"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",  # a set has another order in each process
)
def test_bash_completes(script, words, some):
    """Commands, flags of all adapters and the values that a flag may have."""
    ran = subprocess.run(
        ["bash", "-c", ASK, "bash", script, "evosplit", *words], capture_output=True, text=True, timeout=60, check=True
    )
    assert some <= set(ran.stdout.split())


def test_other_shells(capsys):
    """Those that shtab knows; another is named with them."""
    for shell in ("zsh", "tcsh"):
        assert main(["completion", shell]) == 0
        assert "evosplit" in capsys.readouterr().out
    assert main(["completion", "fish"]) == 2
    assert "choose from" in capsys.readouterr().err
