"""From a plan to results: start Ray, run or restore the Tuner, keep quiet about what a user cannot act on."""

import logging
import os
import socket
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.search import BasicVariantGenerator

from experiments.common.learners import Learner
from experiments.common.naming import TrialName
from experiments.common.tensorboard import TensorBoard
from trainables.config import Config, ConfigError

METRIC, MODE = "episode_reward_mean", "max"


def local_cpus() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_ray(address: str | None, verbose: bool) -> float:
    """Start Ray here, or attach to a running cluster; return its CPUs. Raises ConfigError if there is no cluster."""
    level = logging.INFO if verbose else logging.ERROR
    if not verbose:
        warnings.filterwarnings("ignore", module="ray")
        logging.getLogger("ray.tune").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"log_to_driver": verbose, "logging_level": level}
    if address is None:
        ray.init(num_cpus=local_cpus(), include_dashboard=False, **quiet)
    else:
        _attach(address, quiet)
    return ray.cluster_resources().get("CPU", 0.0)


def _attach(address: str, quiet: dict[str, Any]) -> None:
    """Connect to a running cluster. Raises ConfigError in seconds if nobody answers; Ray itself tries a minute."""
    host, colon, port = address.rpartition(":")
    if colon:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except (OSError, ValueError) as error:
            raise ConfigError(f"--address {address}: nobody answers there ({error})") from None
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigError(f"--address {address}: no Ray cluster there ({str(error).splitlines()[0]})") from None


def new_tuner(
    learner: Learner,
    configs: Sequence[Config],
    swept: list[str],
    folder: Path,
    *,
    iterations: int,
    checkpoint_frequency: int,
    scheduler: Any = None,
    max_concurrent: int | None = None,
    time_budget_s: float | None = None,
    callbacks: Sequence[tune.Callback] = (),
    verbose: bool = False,
) -> tune.Tuner:
    """A Tuner that runs exactly these configurations, drawn and checked before."""
    points = [config.to_dict() for config in configs]
    space = {name: tune.choice([point[name] for point in points]) for name in points[0]}
    return tune.Tuner(
        learner.trainable,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric=METRIC,
            mode=MODE,
            num_samples=len(points),
            search_alg=BasicVariantGenerator(points_to_evaluate=points),
            scheduler=scheduler,
            max_concurrent_trials=max_concurrent,
            time_budget_s=time_budget_s,
            trial_name_creator=TrialName(swept),
            trial_dirname_creator=TrialName(swept),
        ),
        run_config=tune.RunConfig(
            name=folder.name,
            storage_path=str(folder.parent),
            stop={"training_iteration": iterations},
            checkpoint_config=tune.CheckpointConfig(
                checkpoint_frequency=checkpoint_frequency,
                checkpoint_at_end=True,
                num_to_keep=2,
                checkpoint_score_attribute=METRIC,
                checkpoint_score_order=MODE,
            ),
            callbacks=[TensorBoard(), *callbacks],
            verbose=1 if verbose else 0,
        ),
    )


def restored_tuner(learner: Learner, folder: Path) -> tune.Tuner:
    """A Tuner that continues an experiment's unfinished and failed trials.

    Raises ConfigError if the folder holds no state of Tune's.
    """
    if not tune.Tuner.can_restore(str(folder)):
        raise ConfigError(f"{folder} was interrupted before its first trial started; delete it and start again")
    return tune.Tuner.restore(str(folder), trainable=learner.trainable, resume_unfinished=True, resume_errored=True)
