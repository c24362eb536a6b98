"""From a plan to results: start Ray, run or restore the Tuner, keep quiet about what a user cannot act on."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
from ray import tune

from experiments.ask.storage import locate
from experiments.plan.learners import Learner
from experiments.plan.resources import ClusterResources, local_cpus
from experiments.plan.trial_names import TrialName
from experiments.read.restored import RestoredTrial
from experiments.record.mirror import Remote
from experiments.record.spec import ExperimentSpec
from experiments.run.cluster import attach
from experiments.run.error_text import ErrorText
from experiments.run.json_logger import JsonLogger
from experiments.run.planned_trials import PlannedTrials
from experiments.run.schedulers import make_scheduler
from experiments.run.tensorboard import TensorBoard
from trainables.metrics import METRIC, MODE

KEEP = {"fifo": 2, "asha": 2, "pbt": 4}
"""Checkpoints that a trial keeps: the latest, and the best. Under pbt others may yet want to copy an older one."""

MAX_FAILURES = 3
"""Times that a trial goes on from its last checkpoint after an error: a killed actor does no lasting harm."""


def start_ray(address: str | None, verbose: bool) -> ClusterResources:
    """Start Ray here, or attach to a running cluster; return its nodes. Raises ConfigError as ``attach`` does.

    Starts nothing if this program has a Ray already.
    """
    if not ray.is_initialized():
        _start_ray(address, verbose)
    return ClusterResources(tuple(node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]))


def _start_ray(address: str | None, verbose: bool) -> None:
    level = logging.INFO if verbose else logging.ERROR
    if not verbose:
        warnings.filterwarnings("ignore", module="ray")
        logging.getLogger("ray.tune").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"log_to_driver": verbose, "logging_level": level}
    if address is None:
        # Without "local" Ray would join a cluster that runs on this machine.
        ray.init(address="local", num_cpus=local_cpus(), include_dashboard=False, **quiet)
    else:
        attach(address, **quiet)


def make_tuner(
    learner: Learner,
    folder: Path,
    record: ExperimentSpec,
    past: Mapping[str, RestoredTrial],
    callbacks: Sequence[tune.Callback] = (),
    verbose: bool = False,
) -> tune.Tuner:
    """A Tuner that runs exactly the recorded configurations; trials with a past go on from there."""
    points = [past[number].config if number in past else config for number, config in _numbered(record.configs)]
    storage_path, filesystem = str(folder.parent), None
    if record.storage_uri:
        filesystem, root = locate(Remote(record.storage_uri, folder).uri)
        storage_path = str(Path(root).parent)
    names = TrialName(record.swept, {number: old.name for number, old in past.items()})
    return tune.Tuner(
        learner.trainable,
        param_space={name: tune.choice([point[name] for point in points]) for name in points[0]},
        tune_config=tune.TuneConfig(
            metric=METRIC,
            mode=MODE,
            num_samples=len(points),
            search_alg=PlannedTrials(points, past, record.max_concurrent),
            scheduler=make_scheduler(record, learner.space.MUTATIONS, past),
            time_budget_s=record.time_budget_s,
            trial_name_creator=names,
            trial_dirname_creator=names,
        ),
        run_config=tune.RunConfig(
            name=folder.name,
            storage_path=storage_path,
            storage_filesystem=filesystem,
            stop=record.budget.limits,
            checkpoint_config=tune.CheckpointConfig(
                checkpoint_frequency=record.checkpoint_frequency,
                checkpoint_at_end=True,
                num_to_keep=KEEP[record.scheduler],
                checkpoint_score_attribute=METRIC,
                checkpoint_score_order=MODE,
            ),
            failure_config=tune.FailureConfig(max_failures=MAX_FAILURES),
            callbacks=[JsonLogger(folder), TensorBoard(folder), ErrorText(), *callbacks],
            verbose=1 if verbose else 0,
        ),
    )


def _numbered(configs: Sequence[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [(f"{index:05d}", config) for index, config in enumerate(configs)]
