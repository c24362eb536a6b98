"""Experiments that other ones are compared with."""

import pytest

from experiments.plan.learners import TRPO
from tests.helpers.small_experiments import PAIR, SIX_ITERATIONS, fit


@pytest.fixture(scope="session")
def undisturbed(ray_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("storage") / "undisturbed"
    fit(TRPO, folder, SIX_ITERATIONS)
    return folder


@pytest.fixture(scope="session")
def pair(ray_cluster, tmp_path_factory):
    """A population that keeps all its checkpoints."""
    folder = tmp_path_factory.mktemp("storage") / "pair"
    assert fit(TRPO, folder, PAIR.but(keep_checkpoints=0)).num_errors == 0
    return folder
