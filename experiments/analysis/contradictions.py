"""What an experiment's files say against each other: all that can be verified without playing anything again.

Each check gives a line for each finding.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from experiments.disk.decisions import RULE, decide, dropped
from experiments.disk.experiments import Experiment
from experiments.disk.folders import DECISIONS, PARAMS, RECORD, RESULTS, WINNER
from experiments.disk.rows import lines
from experiments.disk.spec import ALL_DONE, TIME_BUDGET
from experiments.disk.trial import Trial
from experiments.plan.capacity import trials_of_round
from experiments.plan.trial_names import number_of
from trainables.metrics import score_of
from trainables.texts import printable


def contradictions(experiment: Experiment) -> list[str]:
    """All findings."""
    if any(len(each.scores) != len(experiment.spec.configs) for each in experiment.decisions):
        return [f"{DECISIONS} has scores of other trials than {RECORD}"]
    checks = [_trials, _rows, _settings, _rungs, _went_on, _winner]
    return [finding for check in checks for finding in check(experiment)]


def unchecked(experiment: Experiment) -> list[str]:
    """Decisions that cannot be checked, since they were made by another rule than the present one."""
    found = []
    for rule in dict.fromkeys(decision.rule for decision in experiment.decisions):
        if rule != RULE:
            by = "a rule that it does not name" if rule is None else f"the rule {printable(rule)!r}"
            found.append(f"{DECISIONS} has decisions by {by}, and the present one is {RULE!r}")
    return found


def _trials(experiment: Experiment) -> Iterator[str]:
    """Trials that are not there, that nobody planned, or that have more to do than the record says."""
    yield from _strangers(experiment)
    for trial in experiment.trials:
        if experiment.spec.ended == ALL_DONE and not trial.has_ended:
            yield f"{trial.name}: {RECORD} says that all is done, and it has more to play"


def _strangers(experiment: Experiment) -> Iterator[str]:
    """Trials that are not there although they have played, and those that nobody planned."""
    spec, have = experiment.spec, {trial.number: trial for trial in experiment.trials}
    planned = {*range(len(spec.configs))}
    due = {number for decision in experiment.decisions for number in decision.scored}
    for number in sorted((planned if spec.ended == ALL_DONE else due) - have.keys()):
        yield f"trial {number_of(number)} has no folder, and it has played"
    for number in sorted(have.keys() - planned):
        yield f"{have[number].name} is no trial of {RECORD}"


def _rows(experiment: Experiment) -> Iterator[str]:
    """Rows that are missing, that stand there twice, or whose counters do not add up."""
    for trial in experiment.trials:
        yield from _gaps(experiment, trial)
        may_be_cut_off = not trial.has_ended and experiment.spec.ended != TIME_BUDGET
        if (others := len(lines(trial.folder / RESULTS)) - len(trial.rows)) > may_be_cut_off:
            yield f"{trial.name}: {RESULTS} has {others} lines that repeat an iteration, or are no row"
        for before, row in itertools.pairwise([*([] if experiment.spec.fork_of else [{}]), *trial.rows]):
            follows = row["training_iteration"] == before.get("training_iteration", 0) + 1
            steps, more = row["timesteps_total"], row.get("timesteps_this_iter", 0)
            if follows and steps != before.get("timesteps_total", 0) + more:
                where = f"iteration {row['training_iteration']}"
                yield f"{trial.name}: {where} has timesteps_total={steps}, which does not add up"


def _gaps(experiment: Experiment, trial: Trial) -> Iterator[str]:
    """Iterations without a row: between two that have one, or up to the newest checkpoint of a program that ended."""
    iterations = [row["training_iteration"] for row in trial.rows]
    begin = iterations[0] if experiment.spec.fork_of and iterations else 1
    end = trial.checkpoints.iteration if experiment.spec.ended and begin == 1 else 0
    for last, after in itertools.pairwise([begin - 1, *iterations, max([end, *iterations]) + 1]):
        if after - last > 1:
            yield f"{trial.name}: {RESULTS} lacks iterations {last + 1} to {after - 1}"


def _settings(experiment: Experiment) -> Iterator[str]:
    """Settings that are not those that were planned."""
    configs = experiment.spec.configs
    for trial in experiment.trials:
        planned = configs[trial.number] if trial.number < len(configs) else {}
        for name, value in planned.items():
            found = trial.config.get(name)
            if found != value:
                yield f"{trial.name}: {PARAMS} has {name}={found!r}, planned is {name}={value!r}"


def _row_at(trial: Trial, time_attr: str, at: float) -> dict[str, Any] | None:
    """The row with which a trial came to a rung, or at which its end was before; None if it did not, or began there."""
    rows = trial.rows
    if not rows:
        return None
    step = 1 if time_attr == "training_iteration" else rows[0].get("timesteps_this_iter", 0)
    if rows[0][time_attr] - step >= at:
        return None
    for row in rows:
        if row[time_attr] >= at:
            return row
    return rows[-1] if trial.has_ended else None


def _rungs(experiment: Experiment) -> Iterator[str]:
    """Scores at rungs that are not those of the rows there."""
    spec, decisions = experiment.spec, experiment.decisions
    for index, decision in enumerate(decisions):
        at = decision.at
        if [at] != (spec.rungs or [])[index : index + 1]:
            yield f"{DECISIONS}: its rung {index + 1} is none of {RECORD}"
            continue
        for trial in experiment.trials:
            score, row = decision.scored.get(trial.number), _row_at(trial, spec.budget.time_attr, at)
            if row is None or dropped(decisions[:index], trial.number):
                continue
            without = score is None and (row.get("diverged") or trial.facts.broke)
            if score != score_of(row) and not without:
                yield f"{trial.name}: {DECISIONS} has a score of {score} at {at}, {RESULTS} {score_of(row)}"


def _went_on(experiment: Experiment) -> Iterator[str]:
    """Trials that went on at a rung although others were better, by the rule by which it is decided now."""
    spec = experiment.spec
    for index, decision in enumerate(experiment.decisions):
        if decision.rule != RULE:
            continue
        count = trials_of_round(len(spec.configurations), index + 1)
        kept = decide(decision.at, decision.scores, spec.configurations, count).kept
        if [*decision.kept, *decision.left_out] != kept:
            yield f"{DECISIONS}: at {decision.at} trials {decision.kept} went on, and by the scores there {kept} had to"


def _winner(experiment: Experiment) -> Iterator[str]:
    """Games of a winner that did not win, of an iteration that it did not make, or whose means are impossible."""
    played = experiment.played
    if not played:
        return
    winner = experiment.winner if experiment.has_ended else None
    if winner and winner.number != played.trial:
        yield f"{WINNER} is of trial {number_of(played.trial)}, and the winner is {winner.name}"
    elif winner and winner.fell != played.ended:
        yield f"{WINNER} has ended={played.ended!r}, and {winner.name} is {winner.state}"
    if not _made(experiment, played.trial, played.iteration):
        yield f"{WINNER} is of iteration {played.iteration}, which trial {number_of(played.trial)} has no row of"
    for how in ("sampled", "greedy"):
        low = played.metrics.get(f"eval/return_{how}_ci95_low", 0.0)
        mean = played.metrics.get(f"eval/return_{how}_mean", 0.0)
        high = played.metrics.get(f"eval/return_{how}_ci95_high", 0.0)
        if not low <= mean <= high:
            yield f"{WINNER}: eval/return_{how}_mean={mean} is not between {low} and {high}"


def _made(experiment: Experiment, number: int, iteration: int) -> bool:
    """Whether a trial has a row of an iteration."""
    for trial in experiment.trials:
        if trial.number == number:
            return any(row["training_iteration"] == iteration for row in trial.rows)
    return False
