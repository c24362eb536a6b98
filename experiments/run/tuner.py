"""The Tuner of an experiment: exactly its configurations, its scheduler, its callbacks, its folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ray import tune

from experiments.ask.schedulers import SCHEDULERS
from experiments.ask.storage import locate
from experiments.plan.learners import Learner
from experiments.plan.trial_names import number_of
from experiments.read.restored import RestoredTrial
from experiments.record.mirror import Remote
from experiments.record.spec import ExperimentSpec
from experiments.run.flush import Flush
from experiments.run.json_logger import JsonLogger
from experiments.run.ray_internals import ErrorText
from experiments.run.ray_session import ship
from experiments.run.rounds import Rounds
from experiments.run.tensorboard import TensorBoard
from experiments.run.tune_trials import PlannedTrials, TrialName
from trainables.metrics import METRIC, MODE

MAX_FAILURES = 3
"""Times that a trial goes on from its last checkpoint after an error: a killed actor does no lasting harm."""


def make_tuner(
    learner: Learner,
    folder: Path,
    spec: ExperimentSpec,
    restored: Mapping[str, RestoredTrial],
    callbacks: Sequence[tune.Callback] = (),
    verbose: bool = False,
) -> tune.Tuner:
    """A Tuner that runs exactly the configurations of ``spec``; those trials that were restored go on."""
    ship(learner)
    numbered = [(number_of(index), config) for index, config in enumerate(spec.configs)]
    points = [restored[number].config if number in restored else config for number, config in numbered]
    scheduler = SCHEDULERS[spec.scheduler].make(learner, folder, spec, restored)
    names = TrialName(spec.swept, {number: trial.name for number, trial in restored.items()})
    return tune.Tuner(
        learner.trainable,
        param_space={name: tune.choice([point[name] for point in points]) for name in points[0]},
        tune_config=tune.TuneConfig(
            metric=METRIC,
            mode=MODE,
            num_samples=len(points),
            search_alg=PlannedTrials(points, restored, spec.max_concurrent, isinstance(scheduler, Rounds)),
            scheduler=scheduler,
            time_budget_s=spec.time_budget_s,
            trial_name_creator=names,
            trial_dirname_creator=names,
            reuse_actors=isinstance(scheduler, Rounds),
        ),
        run_config=_run_config(folder, spec, callbacks, verbose),
    )


def _run_config(
    folder: Path, spec: ExperimentSpec, callbacks: Sequence[tune.Callback], verbose: bool
) -> tune.RunConfig:
    storage_path, filesystem = str(folder.parent), None
    if spec.storage_uri:
        filesystem, root = locate(Remote(spec.storage_uri, folder).uri)
        storage_path = str(Path(root).parent)
    return tune.RunConfig(
        name=folder.name,
        storage_path=storage_path,
        storage_filesystem=filesystem,
        stop=spec.budget.limits,
        checkpoint_config=tune.CheckpointConfig(
            checkpoint_frequency=spec.checkpoint_frequency,
            checkpoint_at_end=True,
            num_to_keep=spec.keep_checkpoints or None,
            checkpoint_score_attribute=METRIC,
            checkpoint_score_order=MODE,
        ),
        failure_config=tune.FailureConfig(max_failures=MAX_FAILURES),
        callbacks=[JsonLogger(folder), TensorBoard(folder), Flush(folder), ErrorText(), *callbacks],
        verbose=1 if verbose else 0,
    )
