"""One search: improve a split for one weight vector, by exchanges while the temperature falls, and by mending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.measures import logarithm
from evosplit.methods.evosplit.landscape import Candidate, Landscape
from evosplit.rng import Stream

Floats = npt.NDArray[np.float64]

__all__ = ["Search", "exponential_quantiles"]

STEPS = 20  # temperatures; then a quarter as many steps in which only gains are accepted
LOSSES = 200  # proposals whose median loss is the unit of the temperature
REACH = 3  # how far apart in an order of similarity the partners of an exchange lie
MENDING = 0.3  # part of the work that goes into mending labels
EMPHASIS = 60.0  # on labels while they are mended, where there were few trials for each unit and much is left to mend
NEVER = 1e6  # price of a missing label where groups are whole: few exchanges would bring it back at the right sizes


@dataclass(frozen=True)
class Search:
    """Improve a split for one weight vector.

    Attributes
    ----------
    landscape, weights, parent
        What is searched, for which weights of the objectives, and from where.
    seed
        Of all chance in this search.
    work
        Columns evaluated in all, about.
    hot
        The first temperature, in units of the median loss of a proposal.
    patience
        See `Budget`.
    """

    landscape: Landscape
    weights: tuple[float, ...]
    parent: Candidate
    seed: int
    work: int
    hot: float
    patience: float

    def run(self, go_on: Callable[[int], bool]) -> Candidate:
        """Return the improved split; `go_on` hears of the work done and says whether to go on."""
        from evosplit._kernels import exchange

        land, stream = self.landscape, Stream(self.seed)
        rng, quantiles, none = stream.state(), exponential_quantiles(), np.empty(0)
        state = land.state(self.parent)
        per_step = int((1.0 - MENDING) * self.work / (STEPS + STEPS // 4))

        def any_order() -> Any:
            return land.orders[stream.below(len(land.orders))]

        def cover() -> int:
            """Bring the labels that are missing; return the work done."""
            done, made = 0, 1
            while made:
                more, made = exchange.mend(
                    land.units, true, state, any_order(), REACH, *land.carriers, True, per_step, rng
                )
                done += more
            return done

        def search(cells: Any, work: int, temperature: float, strict: bool, missing: float, losses: Floats) -> Any:
            return exchange.search(
                land.units, cells, state, any_order(), REACH, work, temperature, quantiles, strict, missing, losses, rng
            )

        attained, losses = land.attained(state), np.empty(LOSSES)
        true = land.cells(self.weights, attained)
        enough = int(20 * LOSSES * (exchange.TRIAL + 2.0 * land.columns_per_unit))
        found = search(land.cells(self.weights, attained, 1.0), enough, 0.0, False, 0.0, losses)[1]
        unit = float(np.sort(losses[:found])[found // 2]) if found else 0.0
        pricing = state.counts.size // 2  # columns: to price all cells anew takes a small part of their time
        since, going = pricing, True
        missing = NEVER * unit if land.problem.uneven else unit
        done = cover() if land.problem.uneven and land.problem.cover else 0  # of what mending may take
        for step in range(STEPS):
            # Rare columns first: they have few places to be right, and the frequent ones settle around them.
            left = 1.0 - step / STEPS
            if since >= pricing:
                cells, since = land.cells(self.weights, land.attained(state), left), 0
                if land.problem.uneven:
                    land.price_sizes(cells, unit)
            since += search(cells, per_step, self.hot * unit * (left * left), False, missing, none)[0]
            going = go_on(per_step)
            if not going:
                break
        if land.problem.uneven and state.excess.any():
            state = land.state(land.mend_sizes(Candidate(state.unit_at), stream))
        if land.problem.cover:
            done += cover()
        since = pricing
        for _ in range(STEPS // 4 if going else 0):
            if since >= pricing:
                true, since = land.cells(self.weights, land.attained(state)), 0
            since += search(true, per_step, 0.0, True, 0.0, none)[0]
            going = going and go_on(per_step)
        if land.problem.cover:
            done += cover()
        emphasis = 1.0 + EMPHASIS * (1.0 - self.patience)
        made, for_mending = 1, int(MENDING * self.work)
        while going and done < for_mending and made:
            cells = land.cells(emphasise(self.weights, land.problem.objectives, emphasis), land.attained(state))
            work = min(for_mending // 4, for_mending - done)
            spent, made = exchange.mend(land.units, cells, state, any_order(), REACH, *land.carriers, False, work, rng)
            done += spent
            going = go_on(spent)
        candidate = Candidate(state.unit_at)
        land.score(candidate, state)  # here, beside the other threads
        return candidate


def emphasise(weights: Sequence[float], objectives: Sequence[str], factor: float) -> tuple[float, ...]:
    """Raise the weights of the objectives that are about labels."""
    return tuple(
        weight * (factor if name in ("samples", "instances") else 1.0)
        for weight, name in zip(weights, objectives, strict=True)
    )


@cache
def exponential_quantiles() -> npt.NDArray[np.float64]:
    """Return 1,024 quantiles of the exponential distribution, by operations that every machine rounds alike."""
    return -logarithm(np.asarray((np.arange(1024) + 0.5) / 1024.0, dtype=np.float64))
