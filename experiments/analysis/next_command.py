"""The command to type next: the one that goes on with an experiment, or that trains a configuration again."""

import dataclasses
import json
import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.analysis.configurations import best_configurations
from experiments.ask.budget import Budget
from experiments.ask.command_line import neighbour
from experiments.disk.experiments import Experiment
from experiments.disk.folders import display, is_experiment
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import LEARNERS, is_learner, learner_named, typed_as
from trainables.checks import ConfigError, ignored
from trainables.config import Config

PROGRAMS = ("train.py", "sweep_pong.py", "sweep_trpo.py", "sweep.py")  # programs that run experiments
OF_ANY_LEARNER = ("train.py", "sweep.py")  # those whose first word is a learner

RESUME, EXTEND = "Resume", "Extend"
"""What can be done next with an experiment, as it stands before the command that does it."""

Flag = tuple[str, list[str]]
"""A flag of a command, with its values."""

SLOWER = 10
"""The command of a plan asks for so many times the plan's seconds, since a slower machine must come to its end, too."""


def next_step(experiment: Experiment) -> str:
    """What can be done next with an experiment: RESUME, EXTEND or, if nothing goes further, an empty text.

    --resume plays trials that go on. --extend plays on those that came to the end of their budget: trials that
    diverged, or were stopped, stay so. Nothing is to be typed while a program runs it.
    """
    if experiment.running:
        return ""
    if experiment.trials_to_play:
        return RESUME
    if experiment.all_ended and any(trial.finished for trial in experiment.trials):
        return EXTEND
    return ""


def next_command(experiment: Experiment, again: Sequence[str] = ()) -> str:
    """The command of the next step: to resume an experiment, or to extend it to twice its budget.

    ``again`` are flags to type once more, since no folder says on which Ray to run, or what to import. Empty without a
    next step, and for an experiment that was started by no program of ours.
    """
    step = next_step(experiment)
    if step == RESUME:
        return resume_command(experiment.folder, experiment.spec, again)
    if step == EXTEND:
        more = experiment.spec.budget.doubled.flags
        return _command(experiment.spec, ["--extend", display(experiment.folder), *more, *again])
    return ""


def resume_command(folder: Path, spec: ExperimentSpec, again: Sequence[str] = ()) -> str:
    """The command that resumes an experiment, which is known before anything runs. See ``next_command``."""
    return _command(spec, ["--resume", display(folder), *again])


def first_command(spec: ExperimentSpec) -> str:
    """The command that started an experiment, as it is typed here; that of a foreign program as the record has it."""
    program, *words = spec.command or ["unknown"]
    if program not in PROGRAMS:
        return shlex.join([program, *words])
    return neighbour(program, *words)


def best_command(experiment: Experiment) -> tuple[str, dict[str, Any]]:
    """The command that trains an experiment's best configuration, and what is known of it, in plain types.

    Of a fork by ``train.py`` it forks, too; what is forked otherwise it trains from scratch.
    Raises ConfigError if there are no results yet.
    """
    best = next(iter(best_configurations(experiment, 1)), None)
    if best is None:
        raise ConfigError(f"{experiment.name} has no results yet")
    trial = best.standing.best
    config = learner_named(experiment.learner).config_class.from_dict(trial.config)
    spec, budget, seeds = experiment.spec, experiment.spec.budget, sorted(best.seeds)
    left = spec.start(trial.number)
    from_scratch = True
    if spec.fork_of and left and spec.command[:1] == ["train.py"]:
        from_scratch = False
        origin = display(experiment.folder.with_name(spec.fork_of.name))
        before = type(config).from_dict(left.config)
        command = f"{train_command(experiment.learner, config, budget, before)} {shlex.join(['--fork', origin])}"
    elif spec.configuration_of and seeds == [*range(seeds[0], seeds[0] + len(seeds))]:
        command = train_command(experiment.learner, dataclasses.replace(config, seed=seeds[0]), budget)
        command += f" --seeds {len(seeds)}"
    else:
        command = train_command(experiment.learner, config, budget)
    return command, {
        "config": config.to_dict(),
        "score": best.score,
        "seeds": best.seeds,
        "iterations": trial.iterations,
        "state": trial.state,
        "baseline": best.is_baseline,
        "stopped_earlier": len(best.stopped),
        "origin": best.origin,
        "from_scratch": from_scratch,
    }


def confirmation_of(sweep: Path) -> Path:
    """Where the confirmation of the sweep in a folder lies, unless --name says otherwise."""
    return sweep.with_name(f"{sweep.name}-confirm")


def with_other_seeds(sweep: Experiment) -> tuple[str, str]:
    """What can be done to see the best of a sweep with fresh seeds, and the command that does it.

    It runs the best again (its flag alone where no program is named), or where that was begun, it shows both.
    """
    again = confirmation_of(sweep.folder)
    if is_experiment(again):
        return "how the best plays with others", neighbour("results.py", "report", *map(display, (sweep.folder, again)))
    words = ["--confirm", display(sweep.folder)]
    return "to play the best again with others", _command(sweep.spec, words) or shlex.join(words)


def plan_command(spec: ExperimentSpec) -> str:
    """The command that makes a halved sweep's plan on any machine; empty for what no new sweep of ours repeats."""
    if spec.fork_of or spec.extended:
        return ""
    typed = _flags(spec.command)
    given = {flag for flag, _ in typed}
    left_out = {"--resume-or-start", "--name", "--time-budget-s"}
    more = _without_baseline(spec, given)
    in_words = _space_in_words(spec) if "--space" in given else []
    if in_words:
        left_out |= {"--space", "--sweep"}
        more += in_words
        if spec.preset is not None:
            left_out.add("--preset")
    more += _extent(spec, given)
    words = []
    for flag, values in typed:
        if flag not in left_out:
            words += [flag, *values]
    for flag, values in more:
        words += [flag, *values]
    return _command(spec, words)


def _without_baseline(spec: ExperimentSpec, given: Collection[str]) -> list[Flag]:
    """The flag that leaves the baseline out, of a sweep that began before there was one."""
    drawn = {*spec.swept} - {"seed"} and "--grid" not in given
    if drawn and spec.baseline is None and not {"--baseline", "--no-baseline"} & {*given}:
        return [("--no-baseline", [])]
    return []


def _space_in_words(spec: ExperimentSpec) -> list[Flag]:
    """What a space's file says as flags; empty where its preset has a value for what is swept, which none can say."""
    space, preset = spec.space or {}, spec.preset or {}
    if preset.keys() & space.keys():
        return []
    found: list[Flag] = []
    for name, values in space.items():
        found.append(("--sweep", [f"{name}={values}"]))
    for name, value in preset.items():
        text = value if isinstance(value, str) else json.dumps(value)
        found.append(("--set", [f"{name}={text}"]))
    return found


def _extent(spec: ExperimentSpec, given: Collection[str]) -> list[Flag]:
    """How many configurations a sweep has, how long they train, and how much time that may take on a slower machine."""
    words = spec.budget.flags
    if "--grid" not in given:
        words = ["--num-samples", str(spec.drawn or len(spec.configurations)), *words]
    found = [each for each in _flags(words) if each[0] not in given]
    if spec.time_budget_s:
        found.append(("--time-budget-s", [f"{SLOWER * spec.time_budget_s:.15g}"]))
    return found


def _flags(words: Iterable[str]) -> list[Flag]:
    """The flags of a command, each with its values."""
    found: list[Flag] = []
    for word in words:
        flag, assigned, value = word.partition("=")
        if word.startswith("--"):
            found.append((flag.replace("_", "-"), [value] if assigned else []))
        elif found:  # before the first flag stand program and learner
            found[-1][1].append(word)
    return found


def watch_command(folder: Path, learner: str) -> str:
    """The command that has the policy in a folder play."""
    words = [display(folder)]
    if learner not in LEARNERS:
        words += ["--learner", typed_as(learner)]
    return neighbour("watch.py", *words)


def train_command(learner: str, config: Config, budget: Budget, defaults: Config | None = None) -> str:
    """The command that trains a configuration; it names only what counts and differs from train.py's ``defaults``."""
    words: list[str] = []
    for settings, default in ((config, defaults or type(config)()), (budget, Budget(None))):
        for field in dataclasses.fields(settings):
            value, flag = getattr(settings, field.name), field.name.replace("_", "-")
            if value == getattr(default, field.name) or ignored(settings, field.name):
                continue
            if value is True:
                words.append(f"--{flag}")
            elif value is False:
                words.append(f"--no-{flag}")
            elif isinstance(value, tuple):
                words += [f"--{flag}", *map(str, value)]
            else:
                words += [f"--{flag}", str(value)]
    return neighbour("train.py", typed_as(learner), *words)


def _command(spec: ExperimentSpec, words: Sequence[str]) -> str:
    """A command of the program that started an experiment; empty if that is none of ours.

    Of a learner of one's own that was not imported the module's name alone is proposed, never a path that stands in a
    folder.
    """
    if not spec.command or spec.command[0] not in PROGRAMS:
        return ""
    program = spec.command[0]
    if program in OF_ANY_LEARNER and is_learner(spec.learner):
        words = [typed_as(spec.learner), *words]
    return neighbour(program, *words)
