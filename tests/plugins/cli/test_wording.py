"""Errors of the library with flags in the place of parameters."""

from __future__ import annotations

import pytest

import evosplit
from evosplit import EvoSplitError
from evosplit_plugins.cli import main
from evosplit_plugins.cli.parser import build_parser, known_flags
from evosplit_plugins.cli.wording import in_flags

FLAGS = known_flags(build_parser())


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("group_by='clip' gives 3", "--group-by clip gives 3"),
        ("group_by= and group_regex= exclude each other", "--group-by and --group-regex exclude each other"),
        ("n_jobs=0 is no number", "--jobs 0 is no number"),
        ("pass drop_orphans=True to leave", "pass --drop-orphans to leave"),
        ("or cover=False for none", "or --no-cover for none"),
        ("label_weights={'a': 2} is", "--label-weight a=2 is"),
        ("image_root=, or", "--image-root, or"),
        ("delimiter='' is no text", "--delimiter '' is no text"),
        ("objectives=('pairs',) is", "--objectives pairs is"),
        ("random_state=3 is", "random_state=3 is"),  # the shell has none
        ("locked={'test': None} keeps", "--lock test keeps"),
        ("the file x/seed=3.json", "the file x/seed=3.json"),
    ],
)
def test_parameters_become_flags(message, shown):
    """With their values as one types them."""
    assert in_flags(EvoSplitError(message), FLAGS) == shown


def test_one_sentence_serves_both(capsys, tmp_path):
    """The same error, once to a caller and once at the shell."""
    with pytest.raises(EvoSplitError, match=r"^time_limit=-1.0 is no time; give positive seconds, or leave it out$"):
        evosplit.split([[1], [0]], (1, 1), time_limit=-1.0)
    table = tmp_path / "s.csv"
    table.write_text("id,subset,labels\na,train,x\nb,val,y\n")
    assert main(["audit", str(table), "--time-limit", "-1"]) == 2
    told = "evosplit: error: --time-limit -1.0 is no time; give positive seconds, or leave it out\n"
    assert capsys.readouterr().err == told
