"""Which scheduler finds the best configuration in a given time: real trials, played once to their end, replayed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro
from scipy.stats import spearmanr

from experiments.benchmarks.curves import TABLES, Curve, read_curves
from experiments.benchmarks.measure import OutputFlags, Table, progress
from experiments.benchmarks.schedules import Asha, Outcome, halved, in_turn, play_round
from experiments.plan.capacity import ETA, USED, rungs, trials_of_round
from trainables.checks import Bounds

MOST_WORKERS = 16
"""That a trial of halving has, where it is lent cores: as many as the default's slots."""

HALVINGS = [
    *((3, ETA, 2), (9, ETA, 2), (18, ETA, 2), (27, ETA, 2)),
    *((9, ETA, 3), (27, ETA, 3), (8, 2, 2), (16, 4, 2)),
]
"""Trials that begin, of how many of these one goes on at a rung, and how many rungs there are, with the end."""

SHARES = (1 / 13, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
"""Of a whole trial, after which trials may first be compared."""

Scheduler = Callable[[Sequence[Curve], int, float], Outcome]
"""Of trials in the order in which they were drawn, cores, and seconds."""


@dataclass(frozen=True)
class SchedulersFlags(OutputFlags):
    """What is replayed."""

    table: Annotated[
        tuple[Path, ...],
        tyro.conf.arg(metavar="FILE", help_behavior_hint="(default: docs/reports/data/fifo_*.parquet)"),
    ] = tuple(TABLES)
    """Rows of sweeps of --scheduler fifo --seeds 2, one worker a trial, as results.py table --rows writes them."""

    cores: tuple[Annotated[int, Bounds(1)], ...] = (2, 8, 64)
    """Cores of a machine."""

    core_minutes: tuple[Annotated[float, Bounds(0, low_included=False)], ...] = (12.0, 36.0, 108.0)
    """Minutes of a sweep, times its cores."""

    shuffles: Annotated[int, Bounds(2)] = 1000
    """Orders in which the configurations are drawn, with one of their seeds each."""


def benchmark_schedulers(flags: SchedulersFlags) -> Iterator[Table]:
    """Random search, ASHA and halving, replayed on trials that were run to their end: what each would have chosen."""
    configurations = read_curves(flags.table)
    curves = [curve for seeds in configurations for curve in seeds]
    end = min(curve.end for curve in curves)
    mean_s = float(np.mean([curve.core_s for curve in curves]))
    contenders = schedulers(end, mean_s, len(configurations))
    worth = [_worth(seeds, end) for seeds in configurations]
    yield early_order(configurations, end)
    note = (
        "random: agent steps of each trial. asha: the first rung. halving: trials that begin, who goes on, and"
        " at how many agent steps where there is time for all."
        f" Means of {flags.shuffles:,} orders, 95% intervals. policy: the chosen trial's mean return of 100 games when"
        f" the time is over. settings: that of another seed of its configuration after {end / 1e6:.2g} M agent steps,"
        f" where all {len(configurations)} configurations have {np.mean(worth):.1f} and the best one {max(worth):.1f}."
        " played: core-minutes; no trial is longer than those of the table."
    )
    scenes = [(core_minutes, cores) for core_minutes in flags.core_minutes for cores in flags.cores]
    for _, (core_minutes, cores) in zip(progress(len(scenes), "replaying"), scenes, strict=True):
        orders = list(_orders(configurations, flags.shuffles))
        found = {
            name: [scheduler(trials, cores, 60 * core_minutes / cores) for _, trials in orders]
            for name, scheduler in contenders.items()
        }
        rows = [_row(name, outcomes, orders, configurations, end) for name, outcomes in found.items()]
        yield Table(f"{core_minutes:g} core-minutes: {60 * core_minutes / cores:,.0f} s on {cores} cores", rows, note)


def early_order(configurations: Sequence[Sequence[Curve]], end: float) -> Table:
    """How much of the trials' order at the ``end`` is there earlier: who is stopped before that is stopped by luck."""
    pairs = [(seeds[one], seeds[one - 1]) for seeds in configurations for one in range(len(seeds))]
    last = [trial.at(end) for trial, _ in pairs]
    rows = []
    for at in (share * end for share in SHARES):
        own, other = ([trial.at(at) for trial in trials] for trials in zip(*pairs, strict=True))
        same, another = (float(spearmanr(scores, last).statistic) for scores in (own, other))
        rows.append(
            {"agent steps": f"{at / 1e6:.2g} M", "the same trial": same, "another seed of its settings": another}
        )
    title = f"Rank correlation of returns with those after {end / 1e6:.2g} M agent steps"
    return Table(title, rows, "Spearman's: 1 if trials are in the order of the end, 0 if in any. Every trial counts.")


def schedulers(end: float, mean_s: float, count: int) -> dict[str, Scheduler]:
    """The contenders, for ``count`` trials of ``end`` agent steps, each of which takes ``mean_s`` seconds of a core."""
    found: dict[str, Scheduler] = {}
    for part in (1, 4, 13):
        found[f"random {end / part / 1e6:.2g} M"] = partial(in_turn, milestones=[end / part])
    for part in (5, 13):
        found[f"asha {end / part / 1e6:.2g} M"] = partial(_asha, end=end, part=part)
    for begin, eta, most in HALVINGS:
        if begin <= count:
            at = ", ".join(f"{rung / 1e6:.2g}" for rung in rungs(begin, round(end), eta=eta, most=most)[:-1])
            halving = partial(_halving, begin=begin, eta=eta, most=most, end=end, mean_s=mean_s)
            found[f"halving {begin}, 1 of {eta} at {at} M"] = halving
    return found


def _asha(curves: Sequence[Curve], cores: int, seconds: float, end: float, part: int) -> Outcome:
    milestones = [end / part]
    while milestones[-1] * ETA < end:
        milestones.append(milestones[-1] * ETA)
    return in_turn(curves, cores, seconds, [*milestones, end], Asha(ETA))


def _halving(
    curves: Sequence[Curve], cores: int, seconds: float, begin: int, eta: int, most: int, end: float, mean_s: float
) -> Outcome:
    """Planned as a sweep is: as many steps for the last trial as there is time for, at the trials' mean pace."""
    steps = round(min(end, _planned(begin, eta, most, mean_s, cores, USED * seconds)))
    if steps < 1000:
        return Outcome(None, -np.inf, 0.0)
    at = rungs(begin, steps, eta=eta, most=most)
    go_on = [trials_of_round(begin, index, eta) for index in range(1, len(at))]
    return halved(curves[:begin], cores, seconds, at, go_on, MOST_WORKERS)


@cache
def _planned(begin: int, eta: int, most: int, mean_s: float, cores: int, seconds: float) -> float:
    """Agent steps of the last trial."""

    def total(steps: int) -> float:
        spans = [high - low for low, high in pairwise([0, *rungs(begin, steps, eta=eta, most=most)])]
        works = ([span * mean_s] * trials_of_round(begin, round_, eta) for round_, span in enumerate(spans))
        return sum(play_round(work, cores, np.inf, MOST_WORKERS)[0] for work in works)

    one, two = total(10**6), total(2 * 10**6)  # it grows evenly
    return 10**6 * (1 + (seconds - one) / (two - one))


class _Order(NamedTuple):
    """An order in which configurations are drawn, and the seed that each is run with."""

    configurations: list[int]
    seeds: list[int]


def _orders(configurations: Sequence[Sequence[Curve]], count: int) -> Iterator[tuple[_Order, list[Curve]]]:
    """The same orders for every scheduler, each with its trials."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        order = rng.permutation(len(configurations)).tolist()
        seeds = [int(rng.integers(len(configurations[index]))) for index in order]
        yield _Order(order, seeds), [configurations[i][seed] for i, seed in zip(order, seeds, strict=True)]


def _row(
    name: str,
    outcomes: Sequence[Outcome],
    orders: Sequence[tuple[_Order, list[Curve]]],
    configurations: Sequence[Sequence[Curve]],
    end: float,
) -> dict[str, Any]:
    """Of a scheduler. Without figures where some orders have no time for any game."""
    row: dict[str, Any] = {"scheduler": name, "policy": None, "settings": None}
    fresh = []
    for outcome, (order, _) in zip(outcomes, orders, strict=True):
        if outcome.chosen is None:
            break
        others = [*configurations[order.configurations[outcome.chosen]]]
        del others[order.seeds[outcome.chosen]]
        fresh.append(_worth(others, end))
    else:
        row |= {"policy": _interval([outcome.policy for outcome in outcomes]), "settings": _interval(fresh)}
    return row | {"played": float(np.mean([outcome.core_s for outcome in outcomes])) / 60}


def _worth(seeds: Sequence[Curve], end: float) -> float:
    return float(np.mean([curve.at(end) for curve in seeds]))


def _interval(values: Sequence[float]) -> str:
    """A mean and its 95% interval, of many values."""
    mean, half = float(np.mean(values)), 1.96 * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return f"{mean:.1f} ({mean - half:.1f} to {mean + half:.1f})"
