"""How much of what a sweep found is luck: by how much its best led, and what fresh random seeds say of it."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from experiments.analysis.configurations import Configuration, best_configurations, by_configuration, varied
from experiments.analysis.statistics import Estimate, difference, welch_half
from experiments.analysis.windows import millions
from experiments.disk.decisions import Spread, over_seeds, spread
from experiments.disk.experiments import Experiment
from experiments.disk.standings import Standing
from experiments.disk.trial import Trial
from experiments.plan.identity import decisive
from trainables.texts import counted


class Lead(NamedTuple):
    """The best configuration of a halved sweep beside the next one, where they last met."""

    best: Standing
    next: Standing  # the best of the other configurations there; its score can be above the best one's
    games: float  # half the 95% interval of their difference by the luck of the games alone; NaN if unknown
    seeds: Estimate | None  # difference of the means over their seeds, with its 95% interval, where both have several

    @property
    def points(self) -> float:
        """By how much the best one's score was higher."""
        return self.best.score - self.next.score

    @property
    def digits(self) -> int:
        """Decimals that tell the points from 0 and from the luck of the games: one, or two where one does not."""
        shown = f"{abs(self.points):.1f}"
        return 2 if self.points and shown in ("0.0", f"{self.games:.1f}") else 1


def lead(experiment: Experiment) -> Lead | None:
    """The best configuration of a halved sweep beside the best other one; None where they were never compared."""
    return _lead(experiment, experiment.last_compared)


def lead_over_baseline(experiment: Experiment) -> Lead | None:
    """The best configuration beside the baseline; None if it is the baseline, or where the two were never compared."""
    baseline = {*experiment.baseline}
    if not experiment.leader or baseline & {*experiment.leader.numbers}:
        return None
    return _lead(experiment, experiment.last_beside_baseline, baseline)


def _lead(experiment: Experiment, compared: Sequence[Standing], among: Collection[int] = ()) -> Lead | None:
    """The best configuration of a halved sweep beside the best of the others that were ``compared`` with it.

    ``among`` are the numbers of the trials that count as others, if not all do. None where one of the two is missing.
    """
    if not experiment.leader or not experiment.decisions:
        return None
    numbers = {*experiment.leader.numbers}
    ours = [standing for standing in compared if numbers & {*standing.numbers}]
    others = [standing for standing in compared if not numbers & {*standing.numbers}]
    if among:
        others = [standing for standing in others if {*among} & {*standing.numbers}]
    if not ours or not others:
        return None
    best, second = ours[0], others[0]
    fewer, more = sorted((len(best.trials), len(second.trials)))
    if fewer > 1:
        return Lead(best, second, math.nan, _by_seeds(experiment, best, second))
    if more > 1:  # Of one seed beside several nothing says how much is luck.
        return Lead(best, second, math.nan, None)
    return Lead(best, second, _by_games(experiment, best, second), None)


def _by_seeds(experiment: Experiment, best: Standing, second: Standing) -> Estimate:
    """The difference of two configurations' means over their seeds where they were compared; of equal seeds paired."""
    ours, theirs = _scores_by_seed(experiment, best), _scores_by_seed(experiment, second)
    return difference(np.array([*theirs.values()]), np.array([*ours.values()]), paired=[*ours] == [*theirs])


def _scores_by_seed(experiment: Experiment, standing: Standing) -> dict[int, float]:
    """The scores of a configuration's trials where it was compared, by random seed in ascending order."""
    decision = experiment.decision_at(standing.at)
    found = {}
    for trial in standing.trials:
        if decision:
            found[trial.seed] = decision.scored[trial.number]
        else:
            found[trial.seed] = trial.last
    return dict(sorted(found.items()))


def _by_games(experiment: Experiment, best: Standing, second: Standing) -> float:
    """Half of Welch's interval of the difference of two trials' mean returns, by the games of each; NaN if unknown."""
    ours, theirs = _spread(experiment, best), _spread(experiment, second)
    if not ours or not theirs or min(ours.games, theirs.games) < 2:
        return math.nan
    return welch_half(ours, theirs) or math.nan  # games that all return the same say nothing of luck


def _spread(experiment: Experiment, standing: Standing) -> Spread | None:
    """How much the games behind a trial's score differ: as the rung's decision says, or the trial's newest checkpoint.

    None if neither is known.
    """
    trial = standing.trials[0]
    decision = experiment.decision_at(standing.at)
    if decision:
        return decision.spread_of(trial.number)
    newest = trial.checkpoints.newest
    if newest is None:
        return None
    return spread(newest.state.episodes.scored_returns)


class Confirmation(NamedTuple):
    """A configuration's score in a sweep, and with fresh seeds."""

    chosen: Configuration  # as the sweep has it
    end: int  # where the sweep's trial ended; ``sweep`` and ``fresh`` are taken there
    where: str  # the same in words
    sweep: float
    fresh: np.ndarray  # one score for each fresh seed that came there (n,)
    final: np.ndarray  # where the fresh seeds ended (n,), NaN until all did; later if the sweep's trial was cut short
    seeds: list[int]  # whose scores ``final`` has

    @property
    def drop(self) -> float:
        """How much higher the sweep's score is: an estimate of its selection bias."""
        return self.sweep - self.fresh_score

    @property
    def fresh_score(self) -> float:
        """The score over the fresh seeds, where the sweep's trial ended."""
        return _score(self.fresh)

    @property
    def final_score(self) -> float:
        """The score over the fresh seeds at their end; NaN until all came there."""
        return _score(self.final)


def _score(score_n: np.ndarray) -> float:
    """A configuration's score over its seeds', of which there is one at least."""
    score = over_seeds(map(float, score_n))
    assert score is not None
    return score


def confirmations(sweep: Experiment, confirm: Experiment) -> list[Confirmation]:
    """Scores in the sweep beside those of fresh seeds at equal steps (or iterations), the sweep's best first.

    They are compared where the first of the sweep's trials ended that did not diverge, or at the fresh seeds' budget if
    the sweep was extended beyond it. A seed that diverged counts on; another one that has not come so far is left out,
    and so is a configuration without any that has, or one of whose trials has no result until there.
    """
    budget, time_attr = confirm.spec.budget, sweep.spec.budget.time_attr
    limit = math.inf
    if budget != sweep.spec.budget:
        limit = budget.limits.get(time_attr, math.inf)
    fresh = {decisive(again.config): again.trials for again in by_configuration([confirm])}
    found = []
    for chosen in best_configurations(sweep, len(sweep.trials)):
        trials = [trial for trial in fresh.get(decisive(chosen.config), []) if trial.rows]
        end = min(limit, _end(chosen, time_attr))
        before = np.array([trial.score_at(time_attr, end) for trial in chosen.judged_by])
        after = _scores_there(trials, time_attr, end)
        if not len(after) or not np.isfinite(before).all():
            continue
        final = {}
        if confirm.has_ended:
            final = {trial.seed: trial.last for trial in trials if not trial.failed}
        scores = np.array([*final.values()] or [math.nan])
        where = _where(end, time_attr)
        found.append(Confirmation(chosen, int(end), where, _score(before), after, scores, [*final]))
    return found


def _where(end: float, time_attr: str) -> str:
    """So many agent steps or iterations, in words."""
    if time_attr == "timesteps_total":
        return f"{millions(end)} steps"
    return counted(int(end), "iteration")


def _end(chosen: Configuration, time_attr: str) -> float:
    """Where the first of a configuration's trials ended that did not diverge, or if all did where the last one did."""
    ends = [trial.rows[-1][time_attr] for trial in chosen.judged_by if not trial.diverged]
    if ends:
        return min(ends)
    return max(trial.rows[-1][time_attr] for trial in chosen.judged_by)


def _scores_there(trials: Sequence[Trial], time_attr: str, end: float) -> np.ndarray:
    """The scores at an end (n,) of the trials that came there, or had arrived before."""
    found = []
    for trial in trials:
        came = trial.arrived or trial.rows[-1][time_attr] >= end
        score = trial.score_at(time_attr, end)
        if came and math.isfinite(score):  # it is NaN where a trial's first result came after the end
            found.append(score)
    return np.array(found)


def best_by_fresh_seeds(found: Sequence[Confirmation], mark: Callable[[str], str] = str) -> str:
    """Which of the configurations is best by its fresh seeds, also beside the baseline, and how sure that is.

    Empty unless there are two, all of whose seeds have come to their end. ``mark`` makes of a configuration's label
    what is shown of it.
    """
    if len(found) < 2 or not all(np.isfinite(each.final).all() for each in found):
        return ""
    best, next_best, *others = sorted(found, key=lambda each: each.final_score, reverse=True)
    names = varied(each.chosen for each in found)
    text = f"By the end of its fresh seeds {mark(best.chosen.label(names))} is best: by "
    text += _ahead(best, next_best, mark(next_best.chosen.label(names)))
    baseline_was_named = best.chosen.is_baseline or next_best.chosen.is_baseline
    for other in others:
        if other.chosen.is_baseline and not baseline_was_named:
            text += f" It is ahead by {_ahead(best, other, mark(other.chosen.label(names)))}"
    return text


def _ahead(best: Confirmation, other: Confirmation, label: str) -> str:
    """By how much one is ahead of another by the end of their fresh seeds, and whether that is more than luck."""
    points = best.final_score - other.final_score
    ahead = difference(other.final, best.final, paired=best.seeds == other.seeds)  # of their means, for the interval
    text = f"{points:.1f} points over {label}"
    if math.isnan(ahead.low):
        return f"{text}, and one seed does not say how much of that is luck."
    told = "so the two cannot be told apart"
    if ahead.low > 0:
        told = "which is more than luck"
    return f"{text} (95% interval of the means' difference {ahead.low:.1f} to {ahead.high:.1f}), {told}."
