"""Compiling: what cannot be kept is compiled all the same."""

from __future__ import annotations

from evosplit._kernels._jit import jit


def test_kernels_do_without_a_cache():
    """Where compiled code cannot be kept, as of a function without a file, it is compiled all the same."""
    space = {}
    exec("def plus_one(number): return number + 1", space)
    assert jit(space["plus_one"])(1) == 2
