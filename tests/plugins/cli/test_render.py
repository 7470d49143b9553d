"""What the commands print of reports and audits: the tables of the core, in lines that fit the terminal."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from reports import long_tailed

import evosplit
from evosplit import LabelCounts, Nouns
from evosplit_plugins.audit import Audit, find_leaks
from evosplit_plugins.cli.render import show_audit, show_report, tell

IMAGES = Nouns(sample="image", samples="images", label="class", labels="classes")


def flags(**given):
    """Give the flags of a command."""
    return argparse.Namespace(**{"json": False, "quiet": False, **given})


def as_found(assignment, labels=None):
    """Give a split that somebody made."""
    counts = LabelCounts(long_tailed(), labels=labels)
    sizes = tuple(np.bincount(assignment).tolist())
    return evosplit.Split(("train", "val", "test"), assignment, counts.ids, sizes, counts=counts)


@pytest.fixture(scope="module")
def audits():
    """Audit a good split and one that has a label in one subset only, with leaks."""
    made = evosplit.split(long_tailed(), {"train": 0.8, "val": 0.1, "test": 0.1}, method="sois")
    bad = np.repeat([0, 1, 2], [320, 40, 40])[np.argsort(np.argsort(long_tailed()[:, 0], kind="stable"))]
    leaks = find_leaks("file name", [f"{i // 2}.jpg" for i in range(400)], bad, made.names)
    return {
        "good": Audit(as_found(made.assignment), nouns=IMAGES),
        "bad": Audit(as_found(bad), tuple(leaks), made, nouns=IMAGES),
    }


def test_notes_are_in_the_words_of_the_shell(capsys):
    """A note that names a parameter of Python names the flag here, in a report and in an audit."""
    split = evosplit.split(long_tailed(), {"train": 0.8, "val": 0.1, "test": 0.1}, method="sois")
    split = replace(split, notes=("Rare labels are not forced (cover='all' insists).",))
    show_report(flags(), split, {})
    show_audit(Audit(split), [], judged=False)
    out = capsys.readouterr().out
    assert out.count("Rare labels are not forced (--cover all insists).") == 2
    assert "cover='all'" not in out


@pytest.mark.parametrize("width", [70, 80])
def test_a_report_fits_the_terminal(capsys, monkeypatch, width):
    """Tables come first, then the summary and what was done; no line is longer than the terminal is wide."""
    monkeypatch.setenv("COLUMNS", str(width))
    split = evosplit.split(long_tailed(), {"train": 0.8, "val": 0.1, "test": 0.1}, method="sois")
    show_report(flags(), split, {"wrote": ["a.json", "b.json"]}, nouns=IMAGES)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert ("train" in re.search("^class +images.*$", out, flags=re.MULTILINE).group()) == (width == 80)
    order = [
        "What each subset holds",
        "Classes, rarest first",
        "Measures",
        "400 images in 3 subsets",
        "wrote:\n  a.json",
    ]
    assert sorted(order, key=out.index) == order


def test_names_are_text(capsys):
    """Neither control characters nor rich's markup in a name do anything."""
    labels = ["\x1b[31mred", "a\nb", "[bold]rich[/bold]", "\x07bell", "c", "d", "e", "f"]
    show_report(flags(), as_found(np.arange(400) % 3, labels), {"wrote": "x\x1b[0m"})
    out = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in out)
    assert "?[31mred" in out
    assert "[bold]rich[/bold]" in out
    assert "wrote: x?[0m" in out


def test_json_and_quiet(capsys):
    """`--json` prints the report with what was done and nothing else, `--quiet` nothing; together, JSON."""
    split = as_found(np.arange(400) % 3)
    show_report(flags(json=True, quiet=True), split, {"files": ["a.json"]})
    assert json.loads(capsys.readouterr().out) == {**split.report().to_dict(), "files": ["a.json"]}
    show_report(flags(quiet=True), split, {})
    tell(flags(quiet=True), {"done": 1})
    assert capsys.readouterr().out == ""
    tell(flags(), {"done": 1}, {"said": 2})
    tell(flags(json=True), {"done": 1}, {"said": 2})
    assert capsys.readouterr().out == 'said: 2\n{\n  "done": 1\n}\n'


def test_an_audit_says_first_what_matters(capsys, audits):
    """Leaks, the verdict and what EvoSplit would give come before the tables, which have it beside; the end is why."""
    bad = audits["bad"]
    show_audit(bad, bad.failures(2), judged=True)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    order = [
        "LEAK train and val share",
        "Worse than random",
        "EvoSplit at the same sizes",
        "What each subset",
        "failed: ",
    ]
    assert sorted(order, key=out.index) == order
    assert re.search("^measure +this split +EvoSplit +random", out, flags=re.MULTILINE)
    assert re.search("^class +images +off by +EvoSplit", out, flags=re.MULTILINE)
    assert re.search(r"failed: \d leaks?; LD is \d", out)


def test_an_audit_that_passes(capsys, audits):
    """Without failures it says that it passed, if it was asked."""
    good = audits["good"]
    show_audit(good, good.failures(2), judged=True)
    assert capsys.readouterr().out.endswith("passed\n")
    show_audit(good, [], judged=False)
    assert "passed" not in capsys.readouterr().out


def test_verdicts_name_what_was_judged(audits):
    """A good split is good in all that there is to judge; a bad one is measured against random splits."""
    counts = LabelCounts(np.tile([[1, 0], [0, 1]], (20, 1)))  # no pairs
    even = evosplit.Split(("a", "b"), np.arange(40) // 20, counts.ids, (20, 20), counts=counts)
    assert Audit(even).verdict == (
        "Good: labels and instances are at least twice as close to their shares as in the average random split."
    )
    assert audits["good"].verdict.startswith("Good in labels: LD is 0.")
    words = r"is \d+\.\d\d times that of the average random split \(single ones vary by ± 0\.\d\d\)"
    assert re.match(rf"Worse than random.*: LD {words}", audits["bad"].verdict)
    assert re.match(rf"LD {words}, more than 2\.", audits["bad"].failures(2, allow_leaks=True)[0])
    alone = Audit(as_found(np.arange(400) % 3))
    assert alone.comparison() == []
