"""One progress bar from 0 to 1 for a whole command, in named phases."""

from __future__ import annotations

from itertools import accumulate

from evosplit.methods.base import OnProgress

__all__ = ["OnProgress", "Phases", "Steps", "part_of"]


class Phases:
    """Divides one progress bar among phases that follow one another.

    Parameters
    ----------
    on_progress
        Called with the fraction of the whole that is done, which never decreases, and a message; None for no progress.
    **shares
        How much of the bar each phase takes, in the order in which they come.

    Examples
    --------
    >>> seen = []
    >>> phases = Phases(lambda done, message: seen.append((done, message)), reading=1, searching=3)
    >>> phases("reading")(1.0, "reading a.json")
    >>> phases("searching")(0.5, "searching")
    >>> seen
    [(0.25, 'reading a.json'), (0.625, 'searching')]
    """

    def __init__(self, on_progress: OnProgress | None, **shares: float) -> None:
        ends = list(accumulate(shares.values()))
        self._range = {
            name: ((end - share) / ends[-1], end / ends[-1])
            for (name, share), end in zip(shares.items(), ends, strict=True)
        }
        self._on_progress = on_progress
        self._done = 0.0

    def __call__(self, phase: str) -> OnProgress:
        """Return the callable of one phase, which takes the fraction done of that phase."""
        start, stop = self._range[phase]
        return lambda done, message: self._report(start + (stop - start) * done, message)

    def finish(self) -> None:
        """Report that everything is done."""
        self._report(1.0, "done")

    def _report(self, done: float, message: str) -> bool | None:
        self._done = max(self._done, min(done, 1.0))
        return None if self._on_progress is None else self._on_progress(self._done, message)


class Steps:
    """Reports progress of work that is done in many small steps, at most a hundred times.

    Parameters
    ----------
    on_progress
        Called with the fraction done and a message; None for no progress.
    total
        The amount of work in all.

    Examples
    --------
    >>> seen = []
    >>> steps = Steps(lambda done, message: seen.append(done), 1000)
    >>> for _ in range(1000):
    ...     steps.add("writing")
    >>> len(seen), seen[:2], seen[-1]
    (100, [0.01, 0.02], 1.0)
    """

    def __init__(self, on_progress: OnProgress | None, total: float) -> None:
        self._on_progress = on_progress
        self._total = max(total, 1)
        self._done = 0.0
        self._percent = 0

    def add(self, message: str, amount: float = 1) -> None:
        """Report that this amount more is done."""
        self._done += amount
        percent = min(100, int(100 * self._done / self._total))
        if self._on_progress is not None and percent > self._percent:
            self._percent = percent
            self._on_progress(percent / 100, message)


def part_of(on_progress: OnProgress | None, number: int, total: int) -> OnProgress | None:
    """Return the callback for one of several equal parts, such as one file of many.

    Examples
    --------
    >>> seen = []
    >>> second = part_of(lambda done, message: seen.append(done), 1, 4)
    >>> second(0.0, "b.json"), second(1.0, "b.json")
    (None, None)
    >>> seen
    [0.25, 0.5]
    """
    if on_progress is None:
        return None
    return lambda done, message: on_progress((number + done) / total, message)
