"""Trial names that a person can read: ``00003_lr=2e-3_h=200_g=0.99_w=2``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial

SHORT = {
    "learning_rate": "lr",
    "hidden_size": "h",
    "hidden_sizes": "h",
    "gamma": "g",
    "gae_lambda": "lam",
    "max_kl": "kl",
    "baseline_mix": "mix",
    "batch_size": "b",
    "timesteps_per_batch": "b",
    "num_workers": "w",
}


class TrialName:
    """Names a trial by its number and its swept values; the number makes it unique. A trial that ran before keeps its
    name, whatever became of its settings."""

    def __init__(self, swept: list[str], names: Mapping[str, str]) -> None:
        self.swept, self.names = swept, names

    def __call__(self, trial: Trial) -> str:
        """The trial's name, which is also its folder's."""
        number = trial_number(trial)
        return self.names.get(number) or trial_name(number, trial.config, self.swept)


def trial_name(number: str, config: Mapping[str, Any], swept: Sequence[str]) -> str:
    """``00003_lr=2e-3_h=200``."""
    return "_".join([number, *(f"{SHORT.get(key, key)}={short(config[key])}" for key in swept)])


def trial_number(trial: Trial) -> str:
    """The trial's number within its experiment, five digits."""
    return number_in_id(trial.trial_id)


def number_in_id(trial_id: str) -> str:
    """The number in Tune's id of a trial: ``00003`` of ``4f2a9_00003``."""
    return trial_id.rpartition("_")[2]


def number_in_name(name: str) -> str:
    """The number in a trial's name or folder name: ``00003`` of ``00003_lr=2e-3``."""
    return name.partition("_")[0]


def trial_folder(experiment: Path, trial: Trial) -> Path:
    """A started trial's folder on this machine. (``trial.path`` is where its nodes save, which may be a bucket.)"""
    assert trial.storage
    assert trial.storage.trial_dir_name
    return experiment / trial.storage.trial_dir_name


def short(value: Any) -> str:
    """A setting in three significant digits, fit for a folder name."""
    if isinstance(value, float):
        if 1e-2 <= abs(value) < 1e4:
            return f"{value:.3g}"
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return str(value)
