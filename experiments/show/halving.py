"""What successive halving found, in words and in a table: for the end of a sweep and for its report."""

from collections.abc import Callable, Mapping

from experiments.ask.budget import Budget
from experiments.ask.words import short
from experiments.plan.trial_names import number_of
from experiments.read.configurations import SPEED_ONLY
from experiments.read.lead import Lead, lead
from experiments.read.next_command import confirm_command, plan_command
from experiments.read.trials import Experiment, TrialResult
from experiments.record.winner import WinnerGames
from experiments.show.table import Rows
from experiments.show.text import number

MAX_NAMED = 6
"""Trials that are named as those which went on."""


def rung_table(experiment: Experiment) -> Rows:
    """Each decision: how many trials were compared, how many went on, and the returns on both sides of the cut."""
    rows = []
    for decision in experiment.decisions:
        scores = {index: score for index, score in enumerate(decision.scores) if score is not None}
        stopped = [score for index, score in scores.items() if index not in decision.kept]
        kept = [scores[index] for index in decision.kept]
        rows.append(
            {
                f"at {_unit(experiment)}": f"{decision.at:,}",
                "compared": str(len(scores)),
                "went on": str(len(kept)),
                "best": number(kept[0]),
                "last that went on": number(kept[-1]),
                "best that was stopped": number(max(stopped)) if stopped else "",
                "which": " ".join(map(number_of, decision.kept[:MAX_NAMED])) + " ..." * (len(kept) > MAX_NAMED),
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
    leading = [trial for trial in experiment.trials if trial.rung == best.rung]
    swept = experiment.record.get("swept", [])
    settings = ", ".join(
        f"{name}={short(best.config.get(name))}" for name in swept if name in best.config and name not in SPEED_ONLY
    )
    won = experiment.winner is not None
    lines = [
        f"{'Winner' if won else 'Leader'}: {mark(best.name)}" + (f" with {mark(settings)}" if settings else "") + "."
    ]
    if not won:
        lines[0] += f" The sweep is not finished: {len(leading)} trials have more to play."
    lines.append(_play(best, experiment.played))
    if found := lead(experiment):
        lines.append(_certainty(found, experiment, mark))
    if command := plan_command(experiment.record):
        lines.append(f"The same plan on any machine: {mark(command)}")
    return lines


def _play(best: TrialResult, played: WinnerGames | None) -> str:
    """How the trial plays: in its games at the sweep's end, else by its last evaluation, else by training alone."""
    row = best.rows[-1]
    text = f"After {row['timesteps_total']:,} agent steps its last 100 training games returned {best.last:.1f}."
    if played and (played.trial, played.iteration) == (best.number, best.iterations):
        return f"{text} Then it played {played.games} games each way: {_returns(played.metrics)}; 95% intervals."
    after = row.get("eval/iteration")
    if (words := _returns(row)) and isinstance(after, int | float):
        text += f" Its evaluation after iteration {after:.0f} of {best.iterations}: {words}; 95% intervals."
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
    spread = number(found.spread)
    text = (
        f"How sure: when {found.trials} trials were last compared, at {found.at:,} {_unit(experiment)}, it led"
        f" {mark(found.next.name)} by {found.points:.1f} points."
    )
    if spread:
        luck = "more" if found.points > found.spread else "no more"
        text += f" That is {luck} than the luck of the games alone, up to {spread} with 95%."
    text += " Each had one random seed, and its luck is larger still; to play the best again with others:"
    return f"{text} {mark(confirm_command(experiment.folder, experiment.record))}"


def _number(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, int | float) else ""


def _unit(experiment: Experiment) -> str:
    return "agent steps" if Budget.of_record(experiment.record).unit == "timesteps" else "iterations"
