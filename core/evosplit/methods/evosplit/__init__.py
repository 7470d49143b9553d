"""The default method: a multi-objective evolutionary search that exchanges units between subsets."""

from evosplit.methods.evosplit.solve import EvoSplit

__all__ = ["EvoSplit"]
