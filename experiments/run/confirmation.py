"""The best of a sweep again, with fresh seeds: the winner among many owes a part of its score to luck."""

import dataclasses

from experiments.analysis.configurations import best_configurations, varied
from experiments.analysis.next_command import confirmation_of
from experiments.ask.flags import RunFlags
from experiments.disk import mirror
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.folders import display
from experiments.plan.draws import require_fits, with_seeds
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources
from experiments.run.draft import Draft
from trainables.checks import ConfigError


def settled_sweep(learner: Learner, run: RunFlags, name: str) -> Experiment:
    """The sweep that ``--confirm`` names.

    Raises ConfigError if its scores can still change, if it has none, or if they are of fresh seeds already.
    """
    try:
        sweep = read_experiment(mirror.find(run, name, learner.name))
    except ConfigError:
        if not name.isdecimal():
            raise
        raise ConfigError(
            f"--confirm takes the name of a sweep that has ended: leave it out now, and type --confirm NAME --best"
            f" {name} when it has"
        ) from None
    if first := sweep.spec.confirms:
        raise ConfigError(
            f"--confirm {name}: it is a confirmation itself; --confirm {first} --seeds N --name NAME runs more seeds"
        )
    if sweep.running:
        raise ConfigError(f"--confirm {name}: it is running; type this when it has ended")
    if not sweep.has_ended:
        raise ConfigError(f"--confirm {name}: it is {sweep.state}, and has not ended; --resume {name} goes on with it")
    if not sweep.leader:
        raise ConfigError(f"--confirm {name}: no trial of it has a result; --resume {name} goes on with it")
    return sweep


def beside(sweep: Experiment, run: RunFlags) -> RunFlags:
    """The flags of a sweep's confirmation, which lies beside the sweep, and keeps checkpoints as the sweep does."""
    return dataclasses.replace(
        run,
        name=run.name or confirmation_of(sweep.folder).name,
        storage_path=sweep.spec.storage_uri or display(sweep.folder.parent),
        checkpoint_frequency=sweep.spec.checkpoint_frequency,
        keep_checkpoints=str(sweep.spec.keep_checkpoints or "all"),
    )


def fresh_seeds(
    learner: Learner, run: RunFlags, sweep: Experiment, best: int, seeds: int, resources: ClusterResources
) -> Draft:
    """What the confirmation is to do: each configuration trains from scratch with the same seeds, new to all of them.

    The configurations are the ``best`` ones, so many, and the baseline if it is none of these. The Draft takes from the
    sweep what is named here, and nothing else. ``run`` are the flags of the confirmation.

    Raises ConfigError if a configuration does not fit the machine.
    """
    spec = sweep.spec
    first = 1 + max(spec.seeds)
    ranked = best_configurations(sweep, len(sweep.trials))
    chosen = ranked[:best]
    if not any(each.is_baseline for each in chosen):
        chosen += [each for each in ranked if each.is_baseline]
    settings = []
    for configuration in chosen:
        config = learner.config_class.from_dict(configuration.config)
        fitting = max(1, resources.workers(config.cpus_per_worker))  # Workers change no result.
        settings.append(dataclasses.replace(config, num_workers=min(config.num_workers, fitting)))
        require_fits(settings[-1], resources)
    configs, configuration_of, _ = with_seeds(settings, range(first, first + seeds))
    return Draft(
        learner,
        run,
        spec.budget,
        configs,
        swept=[*varied(chosen), "seed"],
        baseline=spec.baseline,
        configuration_of=configuration_of,
        max_concurrent=spec.max_concurrent,
        confirms=sweep.name,
        space=spec.space or {},
        preset=spec.preset,
        notes=[f"The best of {sweep.name}, and its baseline if it has one, train again from scratch with fresh seeds."],
        resources=resources,
    )
