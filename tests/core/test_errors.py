"""What is raised and warned on purpose: for whom it speaks, and at which line it points."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import evosplit
from evosplit import EvoSplitError, EvoSplitWarning, MissingExtraError, kfold, split
from evosplit.errors import needing

EMPTY = np.zeros((6, 2), dtype=int)


def test_an_error_carries_the_parameters_it_speaks_of():
    """One name or several; none by default. The message stays as it is."""
    assert EvoSplitError("x").parameters == ()
    assert EvoSplitError("x", parameter="seed").parameters == ("seed",)
    error = EvoSplitError("a= and b=", parameter=("a", "b"))
    assert (str(error), error.parameters) == ("a= and b=", ("a", "b"))


def test_a_missing_extra_is_caught_either_way():
    """It is an ImportError for those who look for one, and an EvoSplitError for all others; it names the pip line."""
    for kind in (ImportError, EvoSplitError):
        with pytest.raises(kind, match=r'^COCO files need msgspec; run: pip install "evosplit-plugins\[coco\]"$'):
            raise MissingExtraError("COCO files need msgspec", "coco")


def test_a_package_that_is_broken_is_not_called_missing():
    """Only the package itself, or a part of it, is what the extra brings; any other error is its own."""
    for name in ("host", "host.part"):
        refusal = pytest.raises(MissingExtraError, match=r"^files need host; run: pip install .*\[files\]")
        with refusal, needing("host", "files need host", "files"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    for error in (
        ModuleNotFoundError("No module named 'its_own_need'", name="its_own_need"),
        ModuleNotFoundError("No module named 'hostess'", name="hostess"),
        ImportError("libhost.so: cannot open shared object file", name="host"),
    ):
        with pytest.raises(ImportError, match=str(error)) as raised, needing("host", "files need host", "files"):
            raise error
        assert raised.value is error


@pytest.mark.parametrize("verb", [split, kfold])
def test_an_unknown_keyword_is_named_with_the_verb_and_what_was_meant(verb):
    """Not an inner function, and not without a hint."""
    message = rf"^{verb.__name__}\(\) got an unexpected keyword argument 'efort'; did you mean 'effort'\?$"
    with pytest.raises(TypeError, match=message):
        verb(EMPTY, 2, efort="fast")
    with pytest.raises(TypeError, match=rf"^{verb.__name__}\(\) got an unexpected keyword argument 'zzz'$"):
        verb(EMPTY, 2, zzz=1)


def test_kfold_takes_what_split_takes():
    """The same keywords with the same defaults, spelled out for whoever looks at the signature."""

    def keywords(verb):
        every = inspect.signature(verb).parameters.values()
        return {each.name: each.default for each in every if each.kind is each.KEYWORD_ONLY}

    assert keywords(kfold) == keywords(split)


def test_a_warning_points_at_the_line_of_the_caller():
    """However deep inside it was given."""
    mine = inspect.currentframe().f_lineno
    with pytest.warns(EvoSplitWarning, match="no sample carries any label") as caught:
        split(EMPTY, (0.5, 0.5))
    assert (caught[0].filename, caught[0].lineno) == (__file__, mine + 2)
    with pytest.warns(EvoSplitWarning, match="locked into 'fold1'") as caught:
        evosplit.kfold(np.eye(6, dtype=int), 2, locked={"fold1": range(4)}, effort="fast")
    assert (caught[0].filename, caught[0].lineno) == (__file__, mine + 5)
