"""The algorithms: one file each, to be read from top to bottom beside its paper."""

from collections.abc import Callable

from trainables.algorithms.algorithm import Algorithm
from trainables.algorithms.ppo import PPO
from trainables.algorithms.reinforce import Reinforce
from trainables.algorithms.trpo import TRPO
from trainables.config import Config, PGConfig, TRPOConfig

PIXEL_ALGORITHMS: dict[str, Callable[[PGConfig], Reinforce | PPO]] = {"reinforce": Reinforce, "ppo": PPO}
"""What ``PGConfig.method`` names."""


def make_algorithm(settings: Config) -> Algorithm:
    """The algorithm that a configuration asks for.

    Raises ValueError, in one line, if its environment does not exist or has another form.
    """
    if isinstance(settings, PGConfig):
        return PIXEL_ALGORITHMS[settings.method](settings)
    assert isinstance(settings, TRPOConfig)
    return TRPO(settings)
