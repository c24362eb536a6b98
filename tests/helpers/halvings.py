"""Sweeps of successive halving."""

from experiments.record.decisions import read_decisions
from tests.helpers.populations import newest_arrays
from tests.helpers.small_experiments import rows, small_spec, trial_folders
from tests.helpers.trials import CARTPOLE, assert_same, untimed
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


def same(left, right):
    """Whether two sweeps went the same way, to the last bit."""
    assert read_decisions(left) == read_decisions(right)
    for mine, other in zip(trial_folders(left), trial_folders(right), strict=True):
        assert_same(newest_arrays(mine), newest_arrays(other))
        assert [*map(untimed, rows(mine))] == [*map(untimed, rows(other))]
