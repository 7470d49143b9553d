"""Options described once become flags, and flags become parameters again."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import pytest

from evosplit import EvoSplitError
from evosplit.wording import Nouns
from evosplit_plugins.adapter import Adapter
from evosplit_plugins.cli.options import add_options, add_request_flags, request_from, shared_options, values_from
from evosplit_plugins.options import option, options_of
from evosplit_plugins.registry import adapter_names, get_adapter
from evosplit_plugins.request import Request


@dataclass(frozen=True, kw_only=True)
class Some:
    """One option of each kind."""

    off: bool = option(False, "a switch", kind="switch", short="-f")
    on: bool = option(True, "turn it off", kind="switch")
    maybe: bool | None = option(None, "either", kind="switch")
    word: str | None = option(None, "a {field} of {samples}, 100 %", kind="text", metavar="{FIELD}")
    choice: str = option("a", "one of them", kind="text", choices=("a", "b"))
    times: int = option(1, "how often", kind="integer", flag="--repeat")
    folders: tuple = option((), "where", kind="paths")
    columns: tuple = option((), "which", kind="list")


def parsed(*words):
    """Parse flags and read the parameters back."""
    parser = argparse.ArgumentParser()
    add_options(parser, options_of(Some))
    return values_from(parser.parse_args(words), options_of(Some))


def test_only_what_is_given():
    """What is not given is left to the defaults of the parameters."""
    assert parsed() == {}


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["--off"], {"off": True}),
        (["-f"], {"off": True}),
        (["--no-on"], {"on": False}),
        (["--maybe"], {"maybe": True}),
        (["--no-maybe"], {"maybe": False}),
        (["--word", "x"], {"word": "x"}),
        (["--choice", "b"], {"choice": "b"}),
        (["--repeat", "3"], {"times": 3}),
        (["--folders", "a", "--folders", "b c"], {"folders": (Path("a"), Path("b c"))}),
        (["--columns", "a,b", "--columns", "c"], {"columns": ("a,b", "c")}),
    ],
    ids=str,
)
def test_flags(words, values):
    """Each kind has its form."""
    assert parsed(*words) == values


def test_words_of_the_adapter():
    """The help speaks of what the adapter calls its fields and samples."""

    class Pictures(Adapter):
        nouns = Nouns(sample="image", samples="images")
        field = "key"

    parser = argparse.ArgumentParser(prog="x")
    add_options(parser, options_of(Some), Pictures)
    assert "--word KEY" in parser.format_help()
    assert "a key of images, 100 %" in parser.format_help()


@pytest.mark.parametrize("name", adapter_names())
def test_options_of_an_adapter_do_not_collide(name):
    """Reading, writing and what all share have different names and flags, each with help."""
    adapter = get_adapter(name)
    every = [*options_of(Request), *options_of(adapter.reading), *options_of(adapter.writing)]
    assert len({each.name for each in every}) == len({each.flag for each in every}) == len(every)
    assert all(each.help for each in every)


def asked(*words):
    """Read a request from flags."""
    parser = argparse.ArgumentParser()
    add_request_flags(parser, Adapter)
    return request_from(parser.parse_args(words))


class TestRequests:
    """The flags that every adapter has."""

    def test_all_options_have_a_flag(self):
        """None is forgotten in the groups of the help."""
        parser = argparse.ArgumentParser()
        add_request_flags(parser, Adapter)
        known = {flag for action in parser._actions for flag in action.option_strings}
        for each in shared_options():
            assert {each.flag, f"--no-{each.flag[2:]}"} & known, each.name

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["-s", "train:0.8", "-s", "a:b:0.2"], {"ratios": {"train": 0.8, "a:b": 0.2}}),
            (["--ratios", "8:1:1"], {"ratios": (8, 1, 1)}),
            (["--ratios", "0.5/0.5"], {"ratios": (0.5, 0.5)}),
            (["--folds", "5", "--jobs", "-1"], {"folds": 5, "n_jobs": -1}),
            (["--folds", "5", "--group-by", "a, b", "--group-by", "c"], {"folds": 5, "group_by": ("a", "b", "c")}),
            (["--folds", "5", "--no-cover"], {"folds": 5, "cover": False}),
            (["--folds", "5", "--cover", "all"], {"folds": 5, "cover": "all"}),
            (["--folds", "5", "--no-group-copies"], {"folds": 5, "group_copies": False}),
            (["--folds", "5", "--pick", "-1"], {"folds": 5, "pick": -1}),
            (["--folds", "5", "--pick", "ld"], {"folds": 5, "pick": "ld"}),
            (["--folds", "5", "--label-weight", "a=b=2"], {"folds": 5, "label_weights": {"a=b": 2.0}}),
            (["--folds", "5", "--lock", "fold0=a=b.txt", "--lock", "fold1"],
             {"folds": 5, "locked": {"fold0": "a=b.txt", "fold1": None}}),
            (["--folds", "5", "--objectives", "samples,pairs"], {"folds": 5, "objectives": ("samples", "pairs")}),
        ],
        ids=str,
    )  # fmt: skip
    def test_read(self, words, expected):
        """As Python would have it."""
        assert asked(*words) == Request(**expected)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "nothing says how to split; give one of -s train:0.8"),
            (["--folds", "2", "--ratios", "1:1"], "--ratios and --folds exclude each other"),
            (["-s", "0.5"], "-s 0.5 names no subset"),
            (["-s", "a:1", "-s", "a:2"], "names the subset 'a' a second time"),
            (["-s", "a:x", "-s", "b:1"], "'x' in -s a:x is not a number"),
            (["-s", "a:nan", "-s", "b:1"], "'nan' in -s a:nan is not a finite number"),
            (["--ratios", "1"], "does not give two or more positive numbers"),
            (["--ratios", "1:-1"], "does not give two or more positive numbers"),
            (["--folds", "2", "--label-weight", "rare"], "names no label; write for example --label-weight rare=5"),
            (["--folds", "2", "--label-weight", "a=1", "--label-weight", "a=2"], "names 'a' a second time"),
            (["--folds", "2", "--lock", "=x"], "does not say what stays where"),
            (["--folds", "2", "--lock", "a=x", "--lock", "a=y"], "names the subset 'a' a second time"),
        ],
        ids=str,
    )
    def test_refused(self, words, message):
        """One sentence with the flag."""
        with pytest.raises(EvoSplitError, match=message):
            asked(*words)
