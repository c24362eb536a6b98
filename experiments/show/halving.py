"""What successive halving found, in words and in a table: for the end of a sweep and for its report."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from experiments.ask.words import short
from experiments.plan.seeds import in_words
from experiments.read.configurations import SPEED_ONLY
from experiments.read.experiments import Experiment
from experiments.read.luck import Lead, lead
from experiments.read.next_command import confirm_command, plan_command
from experiments.read.statistics import mean_interval
from experiments.read.trial import AT_END, Trial, arrived, mean_last
from experiments.record.decisions import means
from experiments.record.spec import members
from experiments.show.table import Rows
from experiments.show.text import number

MAX_NAMED = 6
"""Trials that are named as those which went on."""


def rung_table(experiment: Experiment) -> Rows:
    """Each decision: how many were compared, how many went on, and the returns on both sides of the cut.

    Of configurations with several seeds these are means, and counts are of configurations.
    """
    rows, configuration_of = [], experiment.spec.configuration_of
    for decision in experiment.decisions:
        trials_of = members(configuration_of, len(decision.scores))
        scores = {index: score for index, score in enumerate(means(decision.scores, trials_of)) if score is not None}
        of = {trial: index for index, trials in enumerate(trials_of) for trial in trials}
        went_on = [*dict.fromkeys(of[trial] for trial in decision.kept)]
        stopped = [score for index, score in scores.items() if index not in went_on]
        kept = [scores[index] for index in went_on]
        which = [in_words(trials_of[index]) for index in went_on[:MAX_NAMED]]
        rows.append(
            {
                f"at {_unit(experiment)}": f"{decision.at:,}",
                "compared": str(len(scores)),
                "went on": str(len(kept)),
                "best": number(kept[0]),
                "last that went on": number(kept[-1]),
                "best that was stopped": number(max(stopped)) if stopped else "",
                "which": ("; " if configuration_of else " ").join(which) + " ..." * (len(went_on) > MAX_NAMED),
            }
        )
    return rows


def winner_lines(experiment: Experiment, mark: Callable[[str], str] = str) -> list[str]:
    """Who won, how it plays, and how sure it is that it is the best: a paragraph each. Empty before the first rung.

    ``mark`` makes of a text from a file what is shown of it.
    """
    best = experiment.best
    if best is None or not experiment.decisions:
        return []
    several = bool(experiment.spec.configuration_of)
    leading = [trial for trial in experiment.trials if trial.rung == best.rung]
    swept = experiment.spec.swept
    hidden = {*SPEED_ONLY, "seed"} if several else SPEED_ONLY
    settings = ", ".join(
        f"{name}={short(best.config.get(name))}" for name in swept if name in best.config and name not in hidden
    )
    won = experiment.winner is not None
    who = in_words([trial.number for trial in experiment.best_seeds]) if several else best.name
    lines = [f"{'Winner' if won else 'Leader'}: {mark(who)}" + (f" with {mark(settings)}" if settings else "") + "."]
    if not won:
        more = sum(trial.state not in AT_END for trial in leading)
        lines[0] += f" The sweep is not finished: {more} {'trial has' if more == 1 else 'trials have'} more to play."
    lines.append(_play(experiment, best, mark))
    if found := lead(experiment):
        lines.append(_certainty(found, experiment, mark))
    if command := plan_command(experiment.spec):
        lines.append(f"The same plan on any machine: {mark(command)}")
    return lines


def seeds_in_words(trials: Sequence[Trial]) -> str:
    """How each seed of a configuration plays by its training games, and their mean with its interval."""
    seeds = arrived(trials)
    steps = sorted({trial.rows[-1]["timesteps_total"] for trial in seeds})
    after = " to ".join(f"{end:,}" for end in dict.fromkeys((steps[0], steps[-1])))
    each = ", ".join(f"{trial.last:.1f} with seed {trial.config.get('seed', 0)}" for trial in seeds)
    text = f"After {after} agent steps the last 100 training games returned {each}"
    if len(seeds) < 2:
        return f"{text}."
    low, high = mean_interval(np.array([trial.last for trial in seeds]))
    return f"{text}: {mean_last(seeds):.1f} on average (95% interval {low:.1f} to {high:.1f})."


def _play(experiment: Experiment, best: Trial, mark: Callable[[str], str]) -> str:
    """How the best plays: in its games at the sweep's end, else by its last evaluation, else by training alone.

    Of several seeds the best one has played.
    """
    row, played = best.rows[-1], experiment.played
    text = f"After {row['timesteps_total']:,} agent steps its last 100 training games returned {best.last:.1f}."
    it, its = "it", "Its"
    if experiment.spec.configuration_of:
        text, it, its = seeds_in_words(experiment.best_seeds), mark(best.name), f"The best seed's ({mark(best.name)})"
    if played and (played.trial, played.iteration) == (best.number, best.iterations):
        return f"{text} Then {it} played {played.games} games each way: {_returns(played.metrics)}; 95% intervals."
    after = row.get("eval/iteration")
    if (words := _returns(row)) and isinstance(after, int | float):
        text += f" {its} evaluation after iteration {after:.0f} of {best.iterations}: {words}; 95% intervals."
    return text


def _returns(metrics: Mapping[str, object]) -> str:
    """The returns of an evaluation in words; empty without one."""
    words = []
    for how in ("sampled", "greedy"):
        mean, low, high = (
            _number(metrics.get(f"eval/return_{how}_{key}")) for key in ("mean", "ci95_low", "ci95_high")
        )
        if mean:
            what = "actions sampled" if how == "sampled" else "the most probable action"
            words.append(f"{mean} with {what} ({low} to {high})")
    return ", ".join(words)


def _certainty(found: Lead, experiment: Experiment, mark: Callable[[str], str]) -> str:
    several = bool(experiment.spec.configuration_of)
    what = f"{found.compared} {'configurations' if several else 'trials'}"
    other = in_words([trial.number for trial in found.next]) if several else found.next[0].name
    compared = f"How sure: when {what} were last compared, at {found.at:,} {_unit(experiment)}, it"
    if found.points < 0:  # those ahead of it failed later
        return f"{compared} was {-found.points:.1f} points behind {mark(other)}, which has come to no later result."
    text = f"{compared} led {mark(other)} by {found.points:.1f} points."
    if found.seeds:
        text += f" By their seeds that is {found.seeds.low:.1f} to {found.seeds.high:.1f} with 95%."
    elif spread := number(found.spread):
        luck = "more" if found.points > found.spread else "no more"
        text += f" That is {luck} than the luck of the games alone, up to {spread} with 95%."
    if several:
        text += " It was chosen for the luck of these seeds, too; to play the best again with others:"
    else:
        text += " Each had one random seed, and its luck is larger still; to play the best again with others:"
    return f"{text} {mark(confirm_command(experiment.folder, experiment.spec))}"


def _number(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, int | float) else ""


def _unit(experiment: Experiment) -> str:
    return "agent steps" if experiment.spec.budget.unit == "timesteps" else "iterations"
