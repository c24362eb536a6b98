"""What an experiment's files say against each other: all that can be verified without playing anything again.

Each check gives a line for each finding. What follows from rows, decisions and standings is asked of these; no check
decides by a rule of its own who leads, who goes on, or what a trial has come to.
"""

from collections.abc import Iterator, Mapping
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
    """What an experiment's files say against each other, a line for each finding."""
    found: list[str] = []
    for check in (_trials, _rows, _settings, _rungs, _went_on, _winner):
        found += check(experiment)
    return found


def unchecked(experiment: Experiment) -> list[str]:
    """Decisions that cannot be checked, since they were made by another rule than the present one."""
    rules = {decision.rule: None for decision in experiment.decisions}  # each once, in order
    found = []
    for rule in rules:
        by = f"the rule {printable(str(rule))!r}"
        if rule is None:
            by = "a rule that it does not name"
        if rule != RULE:
            found.append(f"{DECISIONS} has decisions by {by}, and the present one is {RULE!r}")
    return found


def _trials(experiment: Experiment) -> Iterator[str]:
    """Trials that played and are not there, that nobody planned, or that have more to play than the record says."""
    spec = experiment.spec
    there = {trial.number: trial for trial in experiment.trials}
    planned = {*range(len(spec.configs))}
    have_played = set[int]()
    for decision in experiment.decisions:
        have_played |= decision.scored.keys()
    if spec.ended == ALL_DONE:
        have_played = planned
    for number in sorted(have_played - there.keys()):
        yield f"trial {number_of(number)} has no folder, and it has played"
    for number in sorted(there.keys() - planned):
        yield f"{there[number].name} is no trial of {RECORD}"
    for trial in experiment.trials:
        if spec.ended == ALL_DONE and not trial.has_ended:
            yield f"{trial.name}: {RECORD} says that all is done, and it has more to play"


def _rows(experiment: Experiment) -> Iterator[str]:
    """Rows that are missing, that stand there twice, or whose counters do not add up."""
    for trial in experiment.trials:
        if trial.copied_at:  # its rows are those of two trials
            continue
        yield from _gaps(experiment, trial)
        others = len(lines(trial.folder / RESULTS)) - len(trial.rows)
        allowed = 0
        if not trial.has_ended and experiment.spec.ended != TIME_BUDGET:  # a kill may have cut off a line
            allowed = 1
        if others > allowed:
            yield f"{trial.name}: {RESULTS} has {others} lines that repeat an iteration, or are no row"
        yield from _sums(experiment, trial)


def _gaps(experiment: Experiment, trial: Trial) -> Iterator[str]:
    """Iterations without a row: before one that has a row, or up to the newest checkpoint of a program that ended."""
    iterations = [row["training_iteration"] for row in trial.rows]
    last = max(iterations, default=0)
    if experiment.spec.ended:
        last = max(last, trial.checkpoints.iteration)
    start = experiment.spec.start(trial.number)
    before = 0
    if start:  # the iterations until then are its origin's
        before = start.iteration
    for iteration in [*iterations, last + 1]:
        if iteration - before > 1:
            yield f"{trial.name}: {RESULTS} lacks iterations {before + 1} to {iteration - 1}"
        before = iteration


def _sums(experiment: Experiment, trial: Trial) -> Iterator[str]:
    """Rows whose agent steps are not those of the row before and their own; a fork's first row has none before."""
    before: Mapping[str, Any] = {}
    for row in trial.rows:
        steps = before.get("timesteps_total", 0) + row.get("timesteps_this_iter", 0)
        follows = row["training_iteration"] == before.get("training_iteration", 0) + 1
        known = bool(before) or not experiment.spec.fork_of
        if known and follows and row["timesteps_total"] != steps:
            where = f"iteration {row['training_iteration']}"
            yield f"{trial.name}: {where} has timesteps_total={row['timesteps_total']}, which does not add up"
        before = row


def _settings(experiment: Experiment) -> Iterator[str]:
    """Settings of trials that differ from those that were planned."""
    configs = experiment.spec.configs
    for trial in experiment.trials:
        if trial.number < len(configs):
            for name, value in trial.changed(configs[trial.number]).items():
                yield f"{trial.name}: {PARAMS} has {name}={trial.config.get(name)!r}, planned is {name}={value!r}"


def _row_at(trial: Trial, time_attr: str, at: float) -> Mapping[str, Any] | None:
    """The row with which a trial came to a rung, or its last one if it ended before.

    None if neither has happened yet, and for a fork that began behind the rung.
    """
    rows = trial.rows
    if not rows:
        return None
    step = rows[0].get("timesteps_this_iter", 0)
    if time_attr == "training_iteration":
        step = 1
    if rows[0][time_attr] - step >= at:
        return None
    for row in rows:
        if row[time_attr] >= at:
            return row
    if not trial.has_ended:
        return None
    return rows[-1]


def _rungs(experiment: Experiment) -> Iterator[str]:
    """Scores at rungs that are not those of the rows there."""
    spec, decisions = experiment.spec, experiment.decisions
    rungs = spec.rungs or []
    for index, decision in enumerate(decisions):
        at = decision.at
        if index >= len(rungs) or rungs[index] != at:
            yield f"{DECISIONS}: its rung {index + 1} is none of {RECORD}"
            continue
        for trial in experiment.trials:
            row = _row_at(trial, spec.budget.time_attr, at)
            if row is None or dropped(decisions[:index], trial.number):
                continue
            score = decision.scored.get(trial.number)
            may_lack_one = row.get("diverged") or trial.facts.broke
            if score is None and may_lack_one:
                continue
            if score != score_of(row):
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
    """Games at the end of another trial than the one that plays there, or of an iteration that it did not make."""
    played, player = experiment.played, experiment.player
    if not played or not player or not experiment.has_ended:
        return
    if player.number != played.trial:
        yield f"{WINNER} is of trial {number_of(played.trial)}, and the one to play was {player.name}"
        return
    if player.fell != played.ended:
        yield f"{WINNER} has ended={played.ended!r}, and {player.name} is {player.state}"
    if played.iteration not in [row["training_iteration"] for row in player.rows]:
        yield f"{WINNER} is of iteration {played.iteration}, which {player.name} has no row of"
