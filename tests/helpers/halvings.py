"""Sweeps of successive halving."""

from tests.helpers.small_experiments import small_spec
from tests.helpers.trials import CARTPOLE
from trainables.config import TRPOConfig

KL = (0.05, 0.001, 0.02)


def three(**changes):
    """Three trials of which one goes on after two iterations, to the fourth; ``changes`` are of all settings.

    They can use three workers, and ask for one.
    """
    configs = [
        TRPOConfig(**CARTPOLE | {"seed": seed, "max_kl": max_kl, "timesteps_per_batch": 3000} | changes)
        for seed, max_kl in enumerate(KL)
    ]
    return small_spec("trpo", configs, scheduler="halving", rungs=[2, 4], swept=["max_kl", "seed"])
