"""Experiments that a ``tune.Tuner`` of somebody's own left: what its text files say. Tune's pickles are not opened."""

import contextlib
import math
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from experiments.ask.budget import METRICS
from experiments.disk.folders import PARAMS, RESULTS, TUNE_STATES, TUNE_TRIAL, trial_folders
from experiments.disk.rows import read_rows, tune_accounts
from experiments.plan.learners import PG, TRPO
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.texts import MAX_JSON_BYTES, parse_json, read_text

BY_TRAINABLE = {"PongPG": PG, "PongTRPO": TRPO}
"""Learners by what Tune calls their Trainables."""


def entries(folder: Path) -> dict[str, Any]:
    """What ``experiment.json`` would say, as far as the trials' files and Tune's accounts tell.

    Raises ConfigError if a setting is impossible, or if there are trials of both learners.
    """
    trials = trial_folders(folder)
    kinds = {path.name.partition("_")[0] for path in trials.values()}
    if len(kinds) != 1:
        raise ConfigError(f"{folder} has trials of {' and '.join(sorted(kinds)) or 'no Trainable of ours'}")
    learner = BY_TRAINABLE[kinds.pop()]
    configs = [_config(path, learner.config_class) for path in trials.values()]
    swept = []
    for name in configs[0]:
        values = {repr(config[name]) for config in configs}
        if len(values) > 1:
            swept.append(name)
    return _budget(folder, trials) | {
        "learner": learner.name,
        "command": [],
        "swept": swept,
        "configs": configs,
        "checkpoint_frequency": 1,
        "interval": 1,
        "origin": {"started": _started(folder)},
    }


def _budget(folder: Path, trials: Mapping[str, Path]) -> dict[str, int]:
    """The budget of the trials: Tune's ``stop`` if it counts iterations or agent steps, and a trial came so far.

    Else nobody knows the budget, since a scheduler or a function ended the trials. The most iterations that a trial has
    made stand for it: of the trials that Tune terminated these are finished, and the others were stopped.
    """
    most = dict.fromkeys(METRICS.values(), 1)
    for path in trials.values():
        rows = read_rows(path / RESULTS)
        for metric in METRICS.values():
            if rows:
                most[metric] = max(most[metric], rows[-1][metric])
    budget: dict[str, int] = {}
    for account in tune_accounts(folder).values():
        stop = account.get("stopping_criterion")
        for unit, metric in METRICS.items():
            limit = stop.get(metric) if isinstance(stop, dict) else None
            if isinstance(limit, int | float) and 1 <= limit <= most[metric]:
                budget[unit] = math.ceil(limit)
    return budget or {"iterations": most["training_iteration"]}


def copied_at(trial: Path) -> int:
    """The iteration by which a trial had last copied another one, as Tune's population based training notes it.

    Until then its rows and checkpoints are those of two trials, or of a past that it lost. 0 if it never did.
    """
    match = TUNE_TRIAL.fullmatch(trial.name)
    if not match:
        return 0
    with contextlib.suppress(OSError, ValueError, TypeError, OverflowError):
        path = trial.parent / f"pbt_policy_{match[2]}.txt"
        *_, last = read_text(path, MAX_JSON_BYTES).splitlines()
        # A line has this trial and the copied one, then the iterations of both, then the settings of both.
        _, _, its_own, of_the_other, *_ = parse_json(last)
        return max(int(its_own), int(of_the_other), 0)
    return 0


def _started(folder: Path) -> str:
    """When Tune began: as the name of its first account says, or else when the folder was last changed."""
    first = min(path.stem.removeprefix("experiment_state-") for path in folder.glob(TUNE_STATES))
    try:
        return datetime.strptime(first, "%Y-%m-%d_%H-%M-%S").astimezone().isoformat(timespec="seconds")
    except ValueError:
        return datetime.fromtimestamp(folder.stat().st_mtime).astimezone().isoformat(timespec="seconds")


def _config(trial: Path, config_class: type[Config]) -> dict[str, Any]:
    """All settings of a trial; those that ``params.json`` lacks have their defaults. Raises ConfigError."""
    try:
        settings = parse_json(read_text(trial / PARAMS, MAX_JSON_BYTES))
        return config_class.from_dict(settings).to_dict()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        reason = str(error) if isinstance(error, ConfigError) else "it is missing or damaged"
        raise ConfigError(f"{trial / PARAMS}: {reason}") from None
