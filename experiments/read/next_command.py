"""The command to type next: the one that goes on with an experiment, or that trains a configuration again."""

import dataclasses
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.ask.budget import Budget
from experiments.ask.command_line import neighbour
from experiments.plan.learners import LEARNERS, is_learner, learner_named, typed_as
from experiments.read.configurations import best_configurations
from experiments.read.experiments import Experiment
from experiments.record.folders import display
from experiments.record.spec import ExperimentSpec
from trainables.checks import ConfigError, ignored
from trainables.config import Config

PROGRAMS = ("train.py", "sweep_pong.py", "sweep_trpo.py", "sweep.py")  # programs that run experiments
OF_ANY_LEARNER = ("train.py", "sweep.py")  # those whose first word is a learner

SLOWER = 10
"""A plan's command gives it this many times its seconds, or a slower machine would not come to its last round."""


def next_command(folder: Path, spec: ExperimentSpec, over: bool, again: Sequence[str] = ()) -> str:
    """The command that resumes an experiment or, if its trials are all ``over``, extends it to twice its budget.

    ``again`` are flags to type once more, since no folder says on which Ray to run, or what to import. Empty for an
    experiment that was started by no program of ours.
    """
    if over:
        flags = ["--extend", display(folder), *spec.budget.doubled.flags]
    else:
        # A confirmation's sweep goes on with it, since it then compares the two.
        flags = ["--resume", display(folder.with_name(spec.confirms or folder.name))]
    return _command(spec, [*flags, *again])


def best_command(experiment: Experiment) -> tuple[str, dict[str, Any]]:
    """The command that trains an experiment's best configuration, and what is known of it, in plain types.

    Of a fork by ``train.py`` it forks, too; what is forked otherwise, or copied another trial, it trains from scratch.
    Raises ConfigError if there are no results yet.
    """
    best = next(iter(best_configurations(experiment, 1)), None)
    if best is None:
        raise ConfigError(f"{experiment.name} has no results yet")
    trial = max(best.arrived, key=lambda trial: trial.last)
    config = learner_named(experiment.learner).config_class.from_dict(trial.config)
    budget, seeds, fork_of = experiment.spec.budget, sorted(best.seeds), experiment.spec.fork_of
    forks = bool(fork_of and experiment.spec.command[:1] == ["train.py"] and trial.number < len(fork_of.starts))
    command = train_command(experiment.learner, config, budget)
    if fork_of and forks:
        before = type(config).from_dict(fork_of.starts[trial.number][-1].config)
        origin = display(experiment.folder.with_name(fork_of.name))
        command = f"{train_command(experiment.learner, config, budget, before)} {shlex.join(['--fork', origin])}"
    elif experiment.spec.configuration_of and seeds == [*range(seeds[0], seeds[0] + len(seeds))]:
        command = train_command(experiment.learner, dataclasses.replace(config, seed=seeds[0]), budget)
        command += f" --seeds {len(seeds)}"
    scores = {"score": best.score, "seeds": best.seeds, "iterations": trial.iterations, "state": trial.state}
    scores |= {"stopped_earlier": len(best.stopped), "origin": best.origin, "from_scratch": not forks}
    return command, {"config": config.to_dict()} | scores


def confirm_command(folder: Path, spec: ExperimentSpec, best: int = 3, seeds: int | None = None) -> str:
    """The command that runs the best of a sweep again with fresh seeds; its flags alone where no program is named."""
    flags = ["--confirm", str(best), *(["--confirm-seeds", str(seeds)] if seeds else [])]
    return _command(spec, ["--resume", display(folder), *flags]) or shlex.join(flags)


def plan_command(spec: ExperimentSpec) -> str:
    """The command that makes a halved sweep's plan on any machine: as it was typed, with its trials, limit and time.

    Empty for an experiment that no program of ours started, for a fork, and after an extension, which no new sweep
    repeats.
    """
    if spec.fork_of or spec.extended:
        return ""
    first = 2 if spec.command[:1] in ([name] for name in OF_ANY_LEARNER) else 1  # behind the learner
    typed = [word for word in spec.command[first:] if word != "--resume-or-start"]
    words = _with_space(_without({"--time-budget-s", "--name"}, typed), spec)
    given = {word.partition("=")[0] for word in words}
    flags = ["--num-samples", str(spec.drawn or len(spec.configurations))] if "--grid" not in given else []
    flags += spec.budget.flags
    for flag, value in zip(flags[::2], flags[1::2], strict=True):
        words += [] if flag in given else [flag, value]
    if spec.time_budget_s:
        words += ["--time-budget-s", f"{SLOWER * spec.time_budget_s:.15g}"]
    return _command(spec, words)


def watch_command(folder: Path, learner: str) -> str:
    """The command that has a policy play."""
    code = [] if learner in LEARNERS else ["--learner", typed_as(learner)]
    return f"{neighbour('watch.py')} {shlex.join([display(folder), *code])}"


def _without(flags: set[str], words: Sequence[str]) -> list[str]:
    """The words of a command without some flags and their values."""
    kept = [word for word, before in zip(words, ["", *words], strict=False) if before not in flags]
    return [word for word in kept if word.partition("=")[0] not in flags]


def _with_space(words: Sequence[str], spec: ExperimentSpec) -> list[str]:
    """The words of a command, with the space that a file held, and its preset, in place of the file.

    As they are if there was no file, or if its space has no words.
    """
    space, preset = spec.space or {}, spec.preset
    if "--space" not in {word.partition("=")[0] for word in words} or not space or not all(space.values()):
        return [*words]
    kept = _without({"--space", "--sweep"} | ({"--preset"} if preset is not None else set()), words)
    for name, values in space.items():
        kept += ["--sweep", f"{name}={values}"]
    for name, value in (preset or {}).items():
        kept += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return kept


def train_command(learner: str, config: Config, budget: Budget, defaults: Config | None = None) -> str:
    """The command that trains a configuration; it names only what counts and differs from train.py's defaults."""
    words: list[str] = []
    for settings, default in ((config, defaults or type(config)()), (budget, Budget(None))):
        for field in dataclasses.fields(settings):
            value, flag = getattr(settings, field.name), field.name.replace("_", "-")
            if value == getattr(default, field.name) or ignored(settings, field.name):
                continue
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                words += [f"--{flag}", *map(str, value if isinstance(value, tuple) else [value])]
    return f"{neighbour('train.py')} {shlex.join([typed_as(learner), *words])}"


def _command(spec: ExperimentSpec, words: Sequence[str]) -> str:
    """A command of the program that started an experiment; empty if that is none of ours.

    Of a learner of one's own that was not imported the module's name alone is proposed, never a path that stands in a
    folder.
    """
    program, *_ = [*spec.command, ""]
    if program not in PROGRAMS:
        return ""
    named = program in OF_ANY_LEARNER and is_learner(spec.learner)
    return f"{neighbour(program)} {shlex.join([*([typed_as(spec.learner)] if named else []), *words])}"
