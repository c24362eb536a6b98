"""Train one configuration, through Tune: the same logs, checkpoints and resume as a sweep's trials."""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import tyro

from experiments.ask.budget import BUDGET_HINT, ITERATIONS, Budget
from experiments.ask.flags import RunFlags, fail, parse, program, refuse_settled, require_positive
from experiments.plan.learners import LEARNERS, Learner
from experiments.plan.plan import duration, require_room
from experiments.plan.resources import ClusterResources
from experiments.read.restored import RestoredTrial
from experiments.record.spec import ExperimentSpec, decision_interval
from experiments.run import lifecycle
from experiments.run.fork import changed, fork, forked
from experiments.run.tuner import start_ray
from trainables.checks import ConfigError, unknown
from trainables.config import Config

USAGE = """usage: python experiments/train.py {learner} [flags]

Train one configuration on real Pong. Learners:
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
  python experiments/train.py {learner} --preset NAME           settings of the original programs: {presets}
"""


@dataclass(frozen=True)
class TrainFlags(RunFlags):
    """How long to train, where results go, and on which Ray."""

    iterations: Annotated[int | None, BUDGET_HINT] = None
    """Updates."""

    timesteps: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: no limit)")] = None
    """Agent steps after which it ends, if it has not made all --iterations before."""

    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings that the other flags then change."""

    def __post_init__(self) -> None:
        """Check every flag."""
        super().__post_init__()
        require_positive(self, "iterations", "timesteps")

    @property
    def budget(self) -> Budget:
        """How long to train."""
        return Budget.of(self.iterations, self.timesteps, default=Budget(ITERATIONS))


ConfigT = TypeVar("ConfigT", bound=Config)


@dataclass(frozen=True)
class Arguments(Generic[ConfigT]):
    """All flags of a training run."""

    config: ConfigT
    run: TrainFlags = field(default_factory=TrainFlags)


def main() -> None:
    """Train from the command line, and end the program with its status."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        lines = [f"  {learner.name:6} {learner.config_class.__doc__}" for learner in LEARNERS.values()]
        print(USAGE.format(learner="{" + ",".join(LEARNERS) + "}", learners="\n".join(lines)))
        sys.exit(0)
    try:
        if name not in LEARNERS:
            raise ConfigError(unknown("learner", name, LEARNERS))
        learner = LEARNERS[name]
        default = default_config(learner, sys.argv[2:])
        arguments = parse(
            Arguments[learner.config_class],  # type: ignore[name-defined]
            HELP.format(learner=name, doc=learner.config_class.__doc__, presets=", ".join(learner.space.PRESETS)),
            prog=f"{program()} {name}",
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
    except ConfigError as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)  # before anything ran


def default_config(learner: Learner, args: list[str]) -> Config:
    """The configuration that flags start from: a preset's, or that of the run to be forked.

    It is looked up first, so that ``--help`` shows its values.
    """
    scout = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flag in ("--preset", "--fork"):
        scout.add_argument(flag)
    scout.add_argument("--storage-path", default=RunFlags.storage_path)
    found = scout.parse_known_args(args)[0]
    settings = learner.preset(found.preset or TrainFlags.preset)
    if found.fork:
        if found.preset:
            raise ConfigError("--preset and --fork exclude each other: a fork starts with its origin's settings")
        settings = _origin(learner, TrainFlags(fork=found.fork, storage_path=found.storage_path))[1].config
    return learner.config_class.from_dict(settings)


def _origin(learner: Learner, run: TrainFlags) -> tuple[ExperimentSpec, RestoredTrial]:
    """The experiment that is forked, and its one trial. Raises ConfigError if there are more."""
    record, pasts = forked(learner, run)
    if len(pasts) > 1:
        raise ConfigError(f"--fork {run.fork}: a sweep of {len(pasts)} trials; the sweep's program forks it")
    return record, pasts[0]


def _start(learner: Learner, arguments: Arguments[Any]) -> tuple[int, Path]:
    config, run = arguments.config, arguments.run
    room = start_ray(run.address, run.verbose) if run.address else ClusterResources.here()
    require_room(config, room)
    record = ExperimentSpec(
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
        _, past = _origin(learner, run)
        changed(past, config.to_dict(), learner.config_class)
        return fork(learner, record, [past], run)
    seconds = learner.seconds(config, run.budget) / (config.num_workers * min(1, config.cpus_per_worker))
    print(
        f"{run.budget}, about {duration(seconds)} at an untrained policy's pace;"
        " games grow two- to fivefold as play improves"
    )
    return lifecycle.start(learner, record, run)


if __name__ == "__main__":
    main()
