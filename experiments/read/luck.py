"""How much of what a sweep found is luck: by how much its best led, and what fresh random seeds say of it."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.plan.identity import decisive
from experiments.read.configurations import Configuration, best_configurations, by_configuration, varied
from experiments.read.experiments import Experiment, read_experiment
from experiments.read.statistics import Estimate, difference
from experiments.read.trial import Trial, together
from experiments.read.windows import millions
from experiments.record.decisions import mean
from experiments.record.folders import RECORD
from experiments.record.spec import Confirm
from trainables.checks import ConfigError
from trainables.texts import counted

INTERVAL = 1.96  # standard errors of a 95% interval
SUFFIX = "-confirm"  # what the confirmation's name adds to its sweep's


class Lead(NamedTuple):
    """The best configuration of a halved sweep beside the next one, where they last met."""

    next: list[Trial]  # a trial for each seed
    at: int  # in the budget's time_attr
    compared: int  # configurations
    points: float  # difference of their mean returns
    spread: float  # half the 95% interval of such a difference by the luck of the games alone; NaN if unknown
    seeds: Estimate | None  # the difference with its 95% interval by their seeds, where both have several


def lead(experiment: Experiment) -> Lead | None:
    """None where nobody was compared with the best configuration."""
    winner = experiment.best_seeds
    if not winner or not experiment.decisions:
        return None
    at, scores = _last_compared(experiment)
    means = [(_mean(scores, trials), trials) for trials in together(experiment.trials)]
    compared = [(score, trials) for score, trials in means if score is not None]
    others = [each for each in compared if each[1][0].key != winner[0].key]
    mine = _mean(scores, winner)
    if not others or mine is None:
        return None
    score, second = max(others, key=lambda each: (each[0], -each[1][0].number))
    ours, theirs = (
        {t.seed: scores[t.number] for t in sorted(seeds, key=lambda t: t.seed) if t.number in scores}
        for seeds in (winner, second)
    )
    by_seeds = None
    if min(len(ours), len(theirs)) > 1:
        by_seeds = difference(np.array([*theirs.values()]), np.array([*ours.values()]), paired=[*ours] == [*theirs])
    return Lead(second, at, len(compared), mine - score, _spread(second[0]), by_seeds)


def _last_compared(experiment: Experiment) -> tuple[int, dict[int, float]]:
    """Where several configurations were last compared, and the score of each trial there, by its number."""
    last = [trial for trial in experiment.furthest if trial.state != "failed"]
    ended = {trial.key for trial in last} if experiment.compared_at_end else set()
    if len(ended) > 1 and experiment.best_seeds[0].key in ended:  # several went to the end
        return (experiment.spec.rungs or [0])[-1], {trial.number: trial.last for trial in last}
    for decision in reversed(experiment.decisions):
        scores = {number: score for number, score in enumerate(decision.scores) if score is not None}
        if sum(_mean(scores, trials) is not None for trials in together(experiment.trials)) > 1:
            return decision.at, scores
    return 0, {}


def _mean(scores: Mapping[int, float], seeds: Sequence[Trial]) -> float | None:
    return mean(scores.get(trial.number) for trial in seeds)


def _spread(trial: Trial) -> float:
    """Of the difference of two means, each of as many games as this trial's newest checkpoint has, and as various."""
    newest = trial.checkpoints.newest
    returns = newest.state.episodes.scored_returns if newest else []
    return INTERVAL * math.sqrt(2 / len(returns)) * float(np.std(returns, ddof=1)) if len(returns) > 1 else math.nan


class Confirmation(NamedTuple):
    """A configuration's score in a sweep, and with fresh seeds."""

    chosen: Configuration  # as the sweep has it
    end: int  # where the sweep's trial ended; ``sweep`` and ``fresh`` are taken there
    where: str  # the same in words
    sweep: float
    fresh: np.ndarray  # one score for each fresh seed that came so far (n,)
    final: np.ndarray  # where the fresh seeds ended (n,), NaN until all did; later if the sweep's trial was cut short

    @property
    def drop(self) -> float:
        """How much higher the sweep's score is: an estimate of its selection bias."""
        return self.sweep - float(self.fresh.mean())


def confirmations(sweep: Experiment, confirm: Experiment) -> list[Confirmation]:
    """Scores in the sweep beside those of fresh seeds at equal steps (or iterations), the sweep's best first.

    They are compared where the first of the sweep's trials ended that did not diverge, or at the fresh seeds' budget if
    the sweep was extended beyond it. A seed that diverged counts on; another one that has not come so far is left out,
    and so is a configuration without any that has, or one of whose trials has no result until there.
    """
    budget, time_attr = confirm.spec.budget, sweep.spec.budget.time_attr
    limit = budget.limits.get(time_attr, math.inf) if budget != sweep.spec.budget else math.inf
    fresh = {decisive(again.config): again.trials for again in by_configuration([confirm])}
    found = []
    for chosen in best_configurations(sweep, len(sweep.trials)):
        ends = [trial.rows[-1][time_attr] for trial in chosen.arrived if not trial.diverged]
        end = min(limit, *(ends or [max(trial.rows[-1][time_attr] for trial in chosen.arrived)]))
        trials = [trial for trial in fresh.get(decisive(chosen.config), []) if trial.rows]
        arrived = [t for t in trials if t.state in ("finished", "diverged") or t.rows[-1][time_attr] >= end]
        after = np.array([trial.score_at(time_attr, end) for trial in arrived])
        after = after[np.isfinite(after)]  # a first result can come after the end
        before = float(np.mean([trial.score_at(time_attr, end) for trial in chosen.arrived]))
        if len(after) and math.isfinite(before):
            final = [trial.last if confirm.over else math.nan for trial in trials if trial.state != "failed"]
            where = f"{millions(end)} steps" if time_attr == "timesteps_total" else counted(int(end), "iteration")
            found.append(Confirmation(chosen, int(end), where, before, after, np.array(final or [math.nan])))
    return found


def verdict(found: Sequence[Confirmation], mark: Callable[[str], str] = str) -> str:
    """Which of the configurations is best by its fresh seeds, and how sure that is.

    Empty unless there are two, all of whose seeds have come to their end. ``mark`` makes of a configuration's label
    what is shown of it.
    """
    if len(found) < 2 or not all(np.isfinite(c.final).all() for c in found):
        return ""
    best, next_best = sorted(found, key=lambda c: float(c.final.mean()), reverse=True)[:2]
    names = varied(c.chosen for c in found)
    ahead = difference(next_best.final, best.final, paired=False)
    text = (
        f"By the end of its fresh seeds {mark(best.chosen.label(names))} is best: by {ahead.value:.1f} points over"
        f" {mark(next_best.chosen.label(names))}"
    )
    if math.isnan(ahead.low):
        return f"{text}, and one seed does not say how much of that is luck."
    told = "which is more than luck" if ahead.excludes(0) else "so the two cannot be told apart"
    return f"{text} (95% interval {ahead.low:.1f} to {ahead.high:.1f}), {told}."


def wanted(sweep: Experiment) -> Confirm | None:
    """The confirmation that a sweep was started with, once it can begin."""
    return sweep.spec.confirm if sweep.settled and best_configurations(sweep, 1) else None


def state_with_confirmation(experiment: Experiment) -> str:
    """An experiment's state; "confirming" or "unconfirmed" while it is over, but not the confirmation it promised."""
    if experiment.running or not wanted(experiment):
        return experiment.state
    again = experiment.folder.with_name(experiment.name + SUFFIX)
    try:
        confirm = read_experiment(again) if os.path.isfile(again / RECORD) else None
    except ConfigError:  # which its own line says
        confirm = None
    if confirm and confirm.running:
        return "confirming"
    return experiment.state if confirm and confirm.over else "unconfirmed"
