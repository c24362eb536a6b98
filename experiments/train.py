"""Train one configuration, through Tune: the same logs, checkpoints and resume as a sweep's trials."""

import argparse
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

import tyro

from experiments.common import folders, runs
from experiments.common.console import UpdateLines
from experiments.common.flags import RunFlags, fail, parse, program, refuse_with_resume
from experiments.common.launch import local_cpus, new_tuner, start_ray
from experiments.common.learners import LEARNERS, Learner
from experiments.common.lock import exclusive
from experiments.common.plan import duration, require_room
from trainables.config import Bounds, Config, ConfigError, unknown

USAGE = """usage: python experiments/train.py {learner} [flags]

Train one configuration on real Pong. Learners:
{learners}

Examples:
  python experiments/train.py pg                                with the defaults, which learn
  python experiments/train.py pg --num-workers 2 --iterations 50 --batch-size 10 --seed 0 --name run1
  python experiments/train.py pg --resume run1                  go on after an interruption
  python experiments/train.py pg --preset karpathy --help       every setting, with that preset's values
"""


@dataclass(frozen=True)
class TrainFlags(RunFlags):
    """How long to train, where results go, and on which Ray."""

    iterations: Annotated[int, Bounds(1)] = 150
    """Updates."""

    preset: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="(default: our own)")] = None
    """Named settings that the other flags then change."""


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
        default = _preset(learner, sys.argv[2:])
        arguments = parse(
            Arguments[learner.config_class],  # type: ignore[name-defined]
            f"Train {name}: {learner.config_class.__doc__}",
            prog=f"{program()} {name}",
            args=sys.argv[2:],
            default=Arguments(default),
        )
        sys.exit(_resume(learner, arguments, default) if arguments.run.resume else _start(learner, arguments))
    except ConfigError as error:
        fail(str(error))


def _preset(learner: Learner, args: list[str]) -> Config:
    """The configuration that flags start from. It is looked up first, so that ``--help`` shows its values."""
    scout = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scout.add_argument("--preset")
    name = scout.parse_known_args(args)[0].preset
    if name is not None and name not in learner.space.PRESETS:
        raise ConfigError(unknown("preset", name, learner.space.PRESETS))
    return learner.config_class.from_dict(learner.space.PRESETS[name] if name else {})


def _start(learner: Learner, arguments: Arguments[Any]) -> int:
    config, run = arguments.config, arguments.run
    cpus = start_ray(run.address, run.verbose) if run.address else float(local_cpus())
    require_room(config, cpus)
    seconds = learner.iteration_seconds(config) * run.iterations / (config.num_workers * min(1, config.cpus_per_worker))
    print(
        f"{run.iterations} updates, about {duration(seconds)} at an untrained policy's pace;"
        " games grow two- to fivefold as play improves"
    )
    record = {
        "learner": learner.name,
        "command": [program(), *sys.argv[1:]],
        "iterations": run.iterations,
        "swept": [],
        "configs": [config.to_dict()],
    }
    folder = folders.create(run.storage_path, run.name, learner.name, record)
    if not run.address:
        start_ray(None, run.verbose)
    tuner = new_tuner(
        learner,
        [config],
        [],
        folder,
        iterations=run.iterations,
        checkpoint_frequency=run.checkpoint_frequency,
        callbacks=[UpdateLines(run.iterations)],
        verbose=run.verbose,
    )
    with exclusive(folder):
        return runs.fit(tuner, folder)


def _resume(learner: Learner, arguments: Arguments[Any], default: Config) -> int:
    refuse_with_resume(arguments.run, TrainFlags())
    refuse_with_resume(arguments.config, default)
    return runs.resume(learner, arguments.run)


if __name__ == "__main__":
    main()
