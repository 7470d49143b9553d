"""The ways to solve a `SplitProblem`: one module a method, one registry.

A method is an object with `solve(problem, run) -> Solution`; the strings that `evosplit.split` takes name one
with its default parameters. Modules load only when their method is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from evosplit.errors import EvoSplitError
from evosplit.methods.base import Method, Run, Solution

__all__ = ["METHODS", "Method", "Run", "Solution", "resolve_method"]

METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ea-ld": ("evosplit.methods.ea", "EvolutionaryAlgorithm", {"objective": "instances"}),
    "ea-lpd": ("evosplit.methods.ea", "EvolutionaryAlgorithm", {"objective": "pairs"}),
    "evosplit": ("evosplit.methods.evosplit", "EvoSplit", {}),
    "is": ("evosplit.methods.iterative", "IterativeStratification", {"order": 1}),
    "nsga2": ("evosplit.methods.nsga2", "NSGA2", {}),
    "random": ("evosplit.methods.random", "Random", {}),
    "sois": ("evosplit.methods.iterative", "IterativeStratification", {"order": 2}),
}


def resolve_method(method: str | Method) -> Method:
    """Return the method of that name; an object that can solve is passed through."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise EvoSplitError(f"method={method!r} is unknown; choose from {', '.join(map(repr, METHODS))}")
    module, name, parameters = METHODS[method]
    made: Any = getattr(import_module(module), name)(**parameters)
    return made  # type: ignore[no-any-return]
