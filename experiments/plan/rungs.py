"""Successive halving (Jamieson and Talwalkar 2016): where trials are compared, and how many of them go on.

Each round costs as much as the others: a third of the trials go on, with three times the steps. Nine trials with the
rungs r, 4 r and 13 r cost 9 r + 3 * 3 r + 1 * 9 r = 27 r.

Where configurations have several seeds, these go on together, and "trials" stands for configurations here.
"""

ETA = 3
"""One trial of so many goes on at a rung, and plays so many times the steps of the round before."""

MAX_RUNGS = 3
"""The last of them is the end of the budget. The last trial's first comparison is at a thirteenth of its budget."""


def rungs(num_trials: int, limit: int, start: int = 0, eta: int = ETA, most: int = MAX_RUNGS) -> list[int]:
    """The values of the budget's unit at which trials are compared, ascending; the last one is the ``limit``.

    Three with 9 trials or more, two with 3 or more, one with less; with another ``eta`` with its powers; never more
    than ``most``. ``start`` is where the trials begin. A limit of a few iterations has fewer.
    """
    count = next(count for count in range(most, 0, -1) if num_trials >= eta ** (count - 1))
    parts = [sum(eta**round_ for round_ in range(last + 1)) for last in range(count)]
    return sorted({start + max(1, round((limit - start) * part / parts[-1])) for part in parts})


def trials_of_round(num_trials: int, round_: int, eta: int = ETA) -> int:
    """How many trials play in a round, counted from 0. Those that fail count as if they played."""
    return max(1, num_trials // eta**round_)
