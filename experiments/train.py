"""Train one configuration, through Tune: the same logs, checkpoints and resume as a sweep's trials."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from experiments.ask.command_line import clean_exit, parse, program, subcommand
from experiments.ask.flags import TrainFlags, refuse_settled
from experiments.ask.words import duration
from experiments.plan.learners import LEARNERS, Learner
from experiments.plan.plan import require_fits
from experiments.read.restored import RestoredTrial
from experiments.record.spec import ExperimentSpec
from experiments.run import lifecycle
from experiments.run.fork import changed, fork, forked
from experiments.run.ray_session import resources_for
from experiments.run.schedulers import decision_interval
from trainables.checks import ConfigError
from trainables.config import Config

DESCRIPTION = """Train one configuration on real Pong. Learners:
{learners}

Examples:
  python experiments/train.py pg                                with the defaults, which learn
  python experiments/train.py pg --num-workers 2 --iterations 50 --batch-size 10 --seed 0 --name run1
  python experiments/train.py pg --resume run1                  go on after an interruption
  python experiments/train.py pg --extend run1 --iterations 300 go on beyond its end
  python experiments/train.py pg --fork run1 --iterations 300 --learning-rate 5e-4   a new run from its best checkpoint
  python experiments/train.py pg --preset karpathy --help       every setting, with that preset's values
"""

HELP = """Train {learner}: {doc}

Examples:
  python experiments/train.py {learner} --iterations 50 --seed 1 --name run1
  python experiments/train.py {learner} --resume run1
  python experiments/train.py {learner} --preset NAME           named settings: {presets}
"""


ConfigT = TypeVar("ConfigT", bound=Config)


@dataclass(frozen=True)
class Arguments(Generic[ConfigT]):
    """All flags of a training run."""

    config: ConfigT
    run: TrainFlags = field(default_factory=TrainFlags)


@clean_exit()
def main() -> None:
    """Train from the command line, and end the program with its status."""
    lines = "\n".join(f"  {learner.name:6} {summary(learner)}" for learner in LEARNERS.values())
    learner = LEARNERS[subcommand("learner", LEARNERS, DESCRIPTION.format(learners=lines))]
    default = default_config(learner, sys.argv[2:])
    arguments = parse(
        Arguments[learner.config_class],  # type: ignore[name-defined]
        HELP.format(learner=learner.name, doc=summary(learner), presets=", ".join(learner.space.PRESETS)),
        prog=f"{program()} {learner.name}",
        args=sys.argv[2:],
        default=Arguments(default),
    )
    run = arguments.run
    if run.resume or run.extend:
        refuse_settled(run, run, TrainFlags())
        refuse_settled(run, arguments.config, default)
        status, _ = lifecycle.resume(learner, run, run.budget)
    else:
        status, _ = _start(learner, arguments)
    sys.exit(status)


def summary(learner: Learner) -> str:
    """A learner in one line."""
    return (learner.config_class.__doc__ or "").splitlines()[0]


def default_config(learner: Learner, args: list[str]) -> Config:
    """The configuration that flags start from: a preset's, or that of the run to be forked.

    It is looked up first, so that ``--help`` shows its values. Raises ConfigError if there is no such preset or run.
    """
    run, _ = parse(TrainFlags, args=args, return_unknown_args=True, add_help=False)
    if not run.fork:
        return learner.config_class.from_dict(learner.preset(run.preset))
    if any(word.partition("=")[0] == "--preset" for word in args):
        raise ConfigError("--preset and --fork exclude each other: a fork starts with its origin's settings")
    return learner.config_class.from_dict(_origin(learner, run).config)


def _origin(learner: Learner, run: TrainFlags) -> RestoredTrial:
    """The one trial of the experiment that is forked. Raises ConfigError if it has more."""
    _, restored = forked(learner, run)
    if len(restored) > 1:
        raise ConfigError(f"--fork {run.fork}: a sweep of {len(restored)} trials; the sweep's program forks it")
    return restored[0]


def _start(learner: Learner, arguments: Arguments[Any]) -> tuple[int, Path]:
    config, run = arguments.config, arguments.run
    require_fits(config, resources_for(run))
    spec = ExperimentSpec(
        learner=learner.name,
        command=[program(), *sys.argv[1:]],
        iterations=run.budget.iterations,
        timesteps=run.budget.timesteps,
        swept=[],
        configs=[config.to_dict()],
        checkpoint_frequency=run.checkpoint_frequency,
        interval=decision_interval(run.budget),
        storage_uri=run.uri,
    )
    if run.fork:
        origin = _origin(learner, run)
        changed(origin, config.to_dict(), learner.config_class)
        return fork(learner, spec, [origin], run)
    seconds = learner.seconds(config, run.budget) / (config.num_workers * min(1, config.cpus_per_worker))
    print(
        f"{run.budget}, about {duration(seconds)} at an untrained policy's pace;"
        " games grow two- to fivefold as play improves"
    )
    return lifecycle.start(learner, spec, run)


if __name__ == "__main__":
    main()
