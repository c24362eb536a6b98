"""Who leads, and why: the one ordered list of an experiment's configurations that all else reads.

Who went on at more rungs is ahead. Among those that went on at equally many, scores decide: those of the rung where all
were last compared, and the latest ones as soon as all have come to their end, or where no rung compared them. At a rung
a configuration is what halving treats as one, so trials that drew the same settings by chance are apart. By latest
results it is all trials of equal keys (``plan/identity.py``) that went equally far.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.disk.decisions import Decision, over_seeds, ranking
from experiments.disk.spec import ExperimentSpec
from experiments.disk.trial import Trial
from experiments.plan.identity import ConfigurationKey


class Standing(NamedTuple):
    """A configuration's place in the order, and what it follows from."""

    trials: list[Trial]  # those of the configuration's seeds that went furthest
    score: float  # over the seeds; minus infinity without results
    rung: int = 0  # rungs of halving at which it was among those that go on
    at: int | None = None  # where it was compared, in the budget's time_attr; None: each seed at its latest result
    among: int = 1  # configurations that were compared there

    @property
    def order(self) -> tuple[int, bool, float]:
        """What standings are sorted by, the greatest first: one whose seeds all failed is behind those equally far."""
        sound = any(not trial.failed for trial in self.judged_by)
        return self.rung, sound, self.score

    @property
    def judged_by(self) -> list[Trial]:
        """The trials by which it is judged: those with results, each run once, and none that failed unless all did."""
        played = [trial for trial in self.trials if trial.rows]
        sound = [trial for trial in played if not trial.failed]
        return each_run_once(sound or played)

    @property
    def best(self) -> Trial:
        """The best of its trials by the latest result; one that failed is behind the others."""
        return max(self.trials, key=_latest_order)

    @property
    def numbers(self) -> list[int]:
        """The trials' numbers."""
        return [trial.number for trial in self.trials]


def by_latest(trials: Sequence[Trial]) -> Standing:
    """The standing of one configuration's trials by their latest results."""
    unscored = Standing([*trials], -math.inf)
    score = over_seeds(trial.last for trial in unscored.judged_by)
    if score is None:
        return unscored
    return unscored._replace(score=score)


def each_run_once(trials: Iterable[Trial]) -> list[Trial]:
    """Of trials of one configuration, for each run the one that went furthest: equal random seeds make one run.

    Two experiments may have the same run; and in a Tuner of somebody's own, population based training copies trials.
    """
    found: dict[tuple[int, int | None], Trial] = {}
    for trial in trials:
        run = trial.seed, trial.forked_at
        if run not in found or trial.iterations > found[run].iterations:
            found[run] = trial
    return list(found.values())


def _latest_order(trial: Trial) -> tuple[int, bool, float]:
    """What the trials of one configuration are sorted by, the greatest first."""
    return by_latest([trial]).order


def together(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Trials of one experiment or of several, those of equal keys in one experiment together."""
    found: dict[tuple[Path, ConfigurationKey], list[Trial]] = {}
    for trial in trials:
        found.setdefault((trial.folder.parent, trial.key), []).append(trial)
    return list(found.values())


def _trials_of(configurations: Iterable[Sequence[int]], trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials of each of the ``configurations``, which name theirs by number, as far as they are among ``trials``.

    A configuration that has no trial among these is left out.
    """
    by_number = {trial.number: trial for trial in trials}
    found = []
    for numbers in configurations:
        there = [by_number[number] for number in numbers if number in by_number]
        if there:
            found.append(there)
    return found


def standings(trials: Sequence[Trial], spec: ExperimentSpec, decisions: Sequence[Decision]) -> list[Standing]:
    """The configurations that have results, the best first; of equal ones the first."""
    played = [trial for trial in trials if trial.rows]
    most_rungs = max((trial.rung for trial in played), default=0)
    furthest = [trial for trial in played if trial.rung == most_rungs]
    if most_rungs and not all(trial.played_out for trial in furthest):
        found = _at_rung(played, most_rungs, decisions[most_rungs - 1], spec)
    else:
        found = _at_the_end(played, most_rungs)
    return sorted(found, key=lambda standing: standing.order, reverse=True)


def _at_rung(played: Sequence[Trial], most_rungs: int, decision: Decision, spec: ExperimentSpec) -> list[Standing]:
    """The standings of those that went on at the ``decision`` by their scores there, and of others by their latest.

    It is the last decision at which any of them went on, which they did at ``most_rungs`` rungs.
    """
    among = len(ranking(decision.scored, spec.configurations))
    found = []
    for seeds in _trials_of(spec.configurations, played):
        standing = _furthest(seeds)
        if standing.rung == most_rungs:
            (ranked,) = ranking(decision.scored, [standing.numbers])  # whoever went on there has a score
            standing = standing._replace(score=ranked.score, at=decision.at, among=among)
        found.append(standing)
    return found


def _at_the_end(played: Sequence[Trial], most_rungs: int) -> list[Standing]:
    """All standings by their latest results; those that went on at ``most_rungs`` were compared with each other."""
    found = [_furthest(seeds) for seeds in together(played)]
    among = len([standing for standing in found if standing.rung == most_rungs])
    for index, standing in enumerate(found):
        if standing.rung == most_rungs:
            found[index] = standing._replace(among=among)
    return found


def _furthest(seeds: Sequence[Trial]) -> Standing:
    """The standing, by their latest results, of those of a configuration's seeds that went on at the most rungs."""
    rung = max(trial.rung for trial in seeds)
    return by_latest([trial for trial in seeds if trial.rung == rung])._replace(rung=rung)


def last_compared(
    now: Sequence[Standing],
    trials: Sequence[Trial],
    spec: ExperimentSpec,
    decisions: Sequence[Decision],
    wanted: Sequence[int] = (),
) -> list[Standing]:
    """The standings where several configurations were last compared, the best first; empty if they never were.

    That is at the end if several came there, the leader of the present standings ``now`` among them, and else at the
    last rung with several. A configuration that failed after that rung stands as it did there. Where trials are
    ``wanted``, by number, only comparisons count that one of these was in.
    """
    at_the_end = _beside_the_leader(now)
    if len(at_the_end) > 1 and now[0].at is None and _has_any(at_the_end, wanted):
        end = (spec.rungs or [0])[-1]
        found = []
        for standing in at_the_end:
            found.append(standing._replace(trials=standing.judged_by, at=end, among=len(at_the_end)))
        return found
    for decision in reversed(decisions):
        ranked = ranking(decision.scored, spec.configurations)
        if len(ranked) < 2:
            continue
        found = []
        for each in ranked:
            for seeds in _trials_of([each.trials], trials):  # none where their folders are gone
                found.append(Standing(seeds, each.score, at=decision.at, among=len(ranked)))
        if _has_any(found, wanted):
            return found
    return []


def _beside_the_leader(now: Sequence[Standing]) -> list[Standing]:
    """The standings of those that went on at as many rungs as the leader, and did not fail."""
    found = []
    for standing in now:
        rung, sound, _ = standing.order
        if sound and rung == now[0].rung:
            found.append(standing)
    return found


def _has_any(standings: Iterable[Standing], wanted: Sequence[int]) -> bool:
    """Whether one of the ``wanted`` trials, given by number, is among these; True if none is wanted."""
    for standing in standings:
        if not {*wanted}.isdisjoint(standing.numbers):
            return True
    return not wanted
