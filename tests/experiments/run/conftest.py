"""Experiments that other ones are compared with."""

import pytest

from experiments.plan.learners import TRPO
from tests.helpers.small_experiments import SIX_ITERATIONS, fit


@pytest.fixture(scope="session")
def undisturbed(ray_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("storage") / "undisturbed"
    fit(TRPO, folder, SIX_ITERATIONS)
    return folder
