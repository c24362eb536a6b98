"""Populations that train each other."""

from pathlib import Path

from tests.helpers.small_experiments import small_spec
from tests.helpers.trials import CARTPOLE, arrays_of
from trainables import checkpoints
from trainables.config import TRPOConfig

OWN = [
    {"seed": 4, "num_workers": 1, "timesteps_per_batch": 300, "max_kl": 0.01},
    {"seed": 5, "num_workers": 2, "timesteps_per_batch": 200, "max_kl": 0.05},
]
PAIR = small_spec(
    "trpo",
    [TRPOConfig(**CARTPOLE | own) for own in OWN],
    **{"iterations": 3, "interval": 2, "scheduler": "pbt", "swept": [*OWN[0]]},
)
"""The second trial is ahead after two iterations, and has more workers."""


def newest_arrays(trial):
    """The arrays of a trial's newest checkpoint, which need not be the one with most iterations."""
    return arrays_of([*checkpoints.numbered(Path(trial)).values()][-1])
