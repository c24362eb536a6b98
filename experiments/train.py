"""Train one configuration, through Tune: the same logs, checkpoints and resume as a sweep's trials."""

import sys
from collections.abc import Sequence
from pathlib import Path

if (beside := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, beside)  # what stands beside this program runs, whatever is installed

from experiments.ask.budget import Budget
from experiments.ask.command_line import clean_exit, first_word, parse, program
from experiments.ask.flags import TrainFlags, require_counted, typed
from experiments.disk.restored import RestoredTrial
from experiments.plan.draws import require_fits, with_seeds
from experiments.plan.learners import LEARNERS, Learner, learner_typed, typed_as
from experiments.run.draft import NOWHERE, Continuation, Draft, begun, changed, continuation, forked, require_possible
from experiments.run.planning import show_run
from experiments.run.preconditions import require_free, resources_for
from trainables.checks import ConfigError, require_used
from trainables.config import Config

DESCRIPTION = """Train one configuration on real Pong. Learners:
{learners}

Examples:
  python experiments/train.py pg                                with the defaults, which learn
  python experiments/train.py pg --num-workers 2 --iterations 50 --seed 0 --name run1
  python experiments/train.py pg --resume run1                  go on after an interruption
  python experiments/train.py pg --extend run1 --iterations 300  go on beyond its end
  python experiments/train.py pg --fork run1 --iterations 300 --learning-rate 5e-4   a new run from its best checkpoint
  python experiments/train.py pg --preset karpathy --help       every setting, with that preset's values
  python experiments/train.py ./a2c.py:A2C                      a learner of your own: docs/own_learner.md
"""

HELP = """Train {learner}: {doc}

Examples:
  python experiments/train.py {learner} --iterations 50 --seed 1 --name run1
  python experiments/train.py {learner} --resume run1
  python experiments/train.py {learner} --preset NAME           named settings: {presets}
"""


@clean_exit()
def main() -> None:
    """Train from the command line, and end the program with its status."""
    lines = "\n".join(f"  {learner.name:6} {_summary(learner)}" for learner in LEARNERS.values())
    learner = learner_typed(first_word("learner", LEARNERS, DESCRIPTION.format(learners=lines)))
    asked = prepare(learner, sys.argv[2:])
    if isinstance(asked, Draft) and not asked.origin:
        show_run(asked)
    from experiments.run.lifecycle import perform  # Ray, which --help and a refusal do without

    sys.exit(perform(asked))


def prepare(learner: Learner, words: Sequence[str]) -> Draft | Continuation:
    """What the ``words`` of a command line, after the learner's name, ask for.

    Raises ConfigError if it cannot be, or if one of the flags would be ignored.
    """
    # The settings that flags change are those of a preset, or of the run to be forked. Which one is read from the words
    # first, so that --help shows these settings as the defaults.
    run = parse(TrainFlags(), args=words, return_unknown_args=True, add_help=False)
    require_counted([run], words)
    origin = _origin(learner, run) if run.fork else []
    settings = origin[0].trial.config if origin else learner.preset(run.preset)
    config, run = parse(
        {"learning": learner.config_class.from_dict(settings), "storage": TrainFlags()},
        HELP.format(learner=typed_as(learner.name), doc=_summary(learner), presets=", ".join(learner.space.PRESETS)),
        prog=f"{program()} {typed_as(learner.name)}",
        args=words,
    )
    require_counted([run, config], words)
    if run.resume or run.extend:
        return continuation(learner, run, Budget(run.iterations, run.timesteps))
    if left := begun(learner, run):
        return left
    require_used(config, typed(words, config.to_dict()))
    resources = resources_for(run)
    require_fits(config, resources)
    require_free(run)
    if origin:
        configs, configuration_of = _changed(origin, config), [0] * len(origin)
    else:
        configs, configuration_of, _ = with_seeds([config], range(config.seed, config.seed + run.seeds))
    several = len(configs) > 1
    draft = Draft(
        learner,
        run,
        run.budget,
        configs,
        swept=["seed"] if several else [],
        configuration_of=configuration_of if several else None,
        origin=origin,
        resources=NOWHERE if origin else resources,
    )
    require_possible(draft)
    return draft


def _summary(learner: Learner) -> str:
    """A learner in one line: the first one of its configuration's docstring."""
    return (learner.config_class.__doc__ or "").splitlines()[0]


def _origin(learner: Learner, run: TrainFlags) -> list[RestoredTrial]:
    """The trials of the experiment that is forked: one, or several seeds. Raises ConfigError if it is a sweep."""
    spec, restored = forked(learner, run)
    if len(restored) > 1 and len(spec.configurations) > 1:
        raise ConfigError(f"--fork {run.fork}: a sweep of {len(restored)} trials; the sweep's program forks it")
    return restored


def _changed(origin: Sequence[RestoredTrial], config: Config) -> list[Config]:
    """The configurations of a fork's trials: the first one's is ``config``, and the others differ from it in the seed.

    Raises ConfigError for what cannot be changed.
    """
    changes = {name: value for name, value in config.to_dict().items() if value != origin[0].trial.config[name]}
    if len(origin) > 1 and "seed" in changes:
        raise ConfigError(f"--seed {config.seed}: the {len(origin)} seeds that are forked stay what they are")
    return [changed(trial, changes, type(config)) for trial in origin]


if __name__ == "__main__":
    main()
