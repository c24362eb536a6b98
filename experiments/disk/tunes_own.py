"""Experiments that a ``tune.Tuner`` of somebody's own left: what its text files say. Tune's pickles are not opened."""

import contextlib
from datetime import datetime
from pathlib import Path
from typing import Any

from experiments.disk.folders import PARAMS, RESULTS, TUNE_STATES, TUNE_TRIAL, trial_folders
from trainables.checks import ConfigError
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.texts import MAX_JSON_BYTES, parse_json, read_text

LEARNERS: dict[str, tuple[str, type[Config]]] = {"PongPG": ("pg", PGConfig), "PongTRPO": ("trpo", TRPOConfig)}
"""Learners, and their configurations, by what Tune calls their Trainables."""


def entries(folder: Path) -> dict[str, Any]:
    """What ``experiment.json`` would say, as far as the trials' files tell.

    Nobody knows its budget: the most iterations that a trial has made stand for it, so that of trials that Tune
    terminated these are finished, and the others were stopped.

    Raises ConfigError if a setting is impossible, or if there are trials of both learners.
    """
    trials = trial_folders(folder).values()
    kinds = {match[1] for path in trials if (match := TUNE_TRIAL.fullmatch(path.name))}
    if len(kinds) != 1:
        raise ConfigError(f"{folder} has trials of {' and '.join(sorted(kinds)) or 'no Trainable of ours'}")
    learner, config_class = LEARNERS[kinds.pop()]
    configs = [_config(path, config_class) for path in trials]
    swept = [name for name in configs[0] if len({repr(config[name]) for config in configs}) > 1]
    iterations = max(1, *map(_iterations, trials))
    return {
        "learner": learner,
        "command": [],
        "iterations": iterations,
        "swept": swept,
        "configs": configs,
        "checkpoint_frequency": 1,
        "interval": 1,
        "origin": {"started": _started(folder)},
    }


def _started(folder: Path) -> str:
    """When Tune began, as the name of its first account says."""
    first = min(path.stem.removeprefix("experiment_state-") for path in folder.glob(TUNE_STATES))
    try:
        return datetime.strptime(first, "%Y-%m-%d_%H-%M-%S").astimezone().isoformat(timespec="seconds")
    except ValueError:
        return datetime.fromtimestamp(folder.stat().st_mtime).astimezone().isoformat(timespec="seconds")


def _config(trial: Path, config_class: type[Config]) -> dict[str, Any]:
    """All settings of a trial; those that Tune was not told have their defaults."""
    try:
        settings = parse_json(read_text(trial / PARAMS, MAX_JSON_BYTES))
        return config_class.from_dict(settings).to_dict()
    except (OSError, ValueError, TypeError, AttributeError) as error:
        reason = str(error) if isinstance(error, ConfigError) else "it is missing or damaged"
        raise ConfigError(f"{trial / PARAMS}: {reason}") from None


def _iterations(trial: Path) -> int:
    """Iterations that a trial has made, by its last row that is whole."""
    with contextlib.suppress(OSError):
        for text in reversed(read_text(trial / RESULTS).splitlines()):
            with contextlib.suppress(ValueError, TypeError, KeyError):
                return min(max(1, int(parse_json(text)["training_iteration"])), 10**15 - 1)
    return 1
