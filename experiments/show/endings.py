"""How trials ended and how the best one plays, in words."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from experiments.disk.decisions import RULE
from experiments.disk.experiments import Experiment
from experiments.disk.standings import by_latest
from experiments.disk.trial import Trial
from experiments.show.tables import has_score, interval_of_mean, span
from trainables.metrics import METRIC, has_ended_a_game


def seeds_in_words(trials: Sequence[Trial]) -> str:
    """How each seed of a configuration plays by its training games, and its score over them with an interval."""
    standing = by_latest(trials)
    seeds = standing.judged_by
    steps = span([trial.steps for trial in seeds])
    if not has_score(seeds):
        return f"After {steps} agent steps no game had ended."
    each = ", ".join(map(_of_a_seed, seeds))
    text = f"After {steps} agent steps the latest games returned {each}"
    if len(seeds) < 2:
        return f"{text}."
    interval = interval_of_mean(np.array([trial.last for trial in seeds]), str(seeds[0].config.get("env_id")))
    return f"{text}; their {RULE} is {standing.score:.1f} (95% interval of the mean {interval})."


def _of_a_seed(trial: Trial) -> str:
    """A seed's latest score, and what has become of the seed; in a mean it counts as that score."""
    text = f"{trial.last:.1f} with seed {trial.seed}"
    if trial.fell:
        return f"{text} ({trial.fell})"
    if not trial.scored:
        return f"{text} (no game had ended)"
    return text


def ending(trial: Trial) -> str:
    """How a trial plays by its last training games, and whether it diverged or failed then."""
    if trial.diverged:
        text = f"it diverged, which counts as {trial.last:.1f}"
        if len(trial.rows) < 2:
            return text
        if not has_ended_a_game(trial.rows[-2]):
            return f"{text}; before, no game had ended"
        return f"{text}; before, its latest games returned {trial.rows[-2][METRIC]:.1f}"
    text = "no game had ended"
    if trial.scored:
        text = f"its latest games returned {trial.last:.1f}"
    if trial.failed:
        text += ", and then it failed"
    return text


def how_it_plays(experiment: Experiment, mark: Callable[[str], str] = str, seeds: Sequence[Trial] = ()) -> str:
    """How the best plays: in its games at the end, else by its last evaluation, else by training alone.

    Of several seeds the best one has played. ``seeds`` are those of its configuration, where other experiments may have
    some of them, too. There is a best trial.
    """
    leader = experiment.leader
    assert leader
    best = leader.best
    row = best.rows[-1]
    seeds = seeds or leader.trials
    if experiment.joined or len(seeds) > 1:
        text = seeds_in_words(seeds)
        who, whose = mark(best.name), f"The best seed's ({mark(best.name)})"
    else:
        text = f"After {row['timesteps_total']:,} agent steps {ending(best)}."
        who, whose = "it", "Its"
    if games := last_games(experiment, who):
        return f"{text} {games}"
    after = row.get("eval/iteration")
    returns = _returns(row)
    if returns and isinstance(after, int | float):
        earlier = ", of an earlier policy," if after < best.iterations else ""
        evaluation = f"{whose} evaluation{earlier} after iteration {after:.0f} of {best.iterations}"
        text += f" {evaluation}: {returns}; 95% intervals."
    return text


def last_games(experiment: Experiment, who: str) -> str:
    """What the best trial's games at the end returned; empty if it has played none after its last iteration."""
    best, played = experiment.best, experiment.played
    if not best or not played or (played.trial, played.iteration) != (best.number, best.iterations):
        return ""
    return f"Then {who} played {played.games} games each way: {_returns(played.metrics)}; 95% intervals."


def _returns(metrics: Mapping[str, object]) -> str:
    """The returns of an evaluation in words; empty without one."""
    words = []
    for how, what in (("sampled", "actions sampled"), ("greedy", "the most probable action")):
        name = f"eval/return_{how}"
        mean = _one_decimal(metrics, f"{name}_mean")
        low = _one_decimal(metrics, f"{name}_ci95_low")
        high = _one_decimal(metrics, f"{name}_ci95_high")
        if mean:
            words.append(f"{mean} with {what} ({low} to {high})")
    return ", ".join(words)


def _one_decimal(metrics: Mapping[str, object], name: str) -> str:
    """A metric as text; empty if it is no number."""
    value = metrics.get(name)
    return f"{value:.1f}" if isinstance(value, int | float) else ""
