import experiments  # noqa: F401  # isort: skip - sets Ray's environment before Ray is imported

import pytest
import ray


@pytest.fixture(scope="session")
def ray_cluster():
    """One local Ray for all tests that need it, with room for four workers on any machine."""
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()
