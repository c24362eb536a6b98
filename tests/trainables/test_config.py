from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from trainables.checks import Bounds, ConfigError
from trainables.config import Config, PGConfig, TRPOConfig


@pytest.mark.parametrize("config", [PGConfig(), TRPOConfig()])
def test_defaults_are_valid_and_survive_a_round_trip(config):
    assert type(config).from_dict(config.to_dict()) == config


def test_numpy_scalars_of_a_search_space_become_plain_values():
    config = TRPOConfig.from_dict(
        {"max_kl": np.float64(1e-3), "cg_iterations": np.int64(5), "slots": np.float32(4), "coarse_coding": np.False_}
    )
    assert [type(value) for value in (config.max_kl, config.cg_iterations, config.slots)] == [float, int, int]
    assert config.coarse_coding is False


@dataclass(frozen=True)
class Own(Config):
    """A configuration of somebody's own learner."""

    target: Annotated[float, Bounds(0)] | None = None
    betas: tuple[float, ...] = (0.9, 1e-5)


def test_settings_of_ones_own_may_be_none_or_several_small_numbers():
    assert Own.from_dict(Own().to_dict()) == Own()
    assert Own.from_dict({"betas": "-0.5-1e-05"}).betas == (-0.5, 1e-5)
    with pytest.raises(ConfigError, match=r"target=-3.0: accepted is a number >= 0"):
        Own(target=-3.0)


CARTPOLE = {"env_id": "CartPole-v1", "reset_on_reward": False, "coarse_coding": False, "slots": 0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learing_rate": 1e-3}, "'learing_rate'; did you mean 'learning_rate'"),
        ({"learning_rate": 0.0}, r"learning_rate=0.0: accepted is a number > 0"),
        ({"learning_rate": -1e-3}, r"learning_rate=-0.001"),
        ({"learning_rate": float("nan")}, r"learning_rate=nan"),
        ({"learning_rate": float("inf")}, r"learning_rate=inf"),
        ({"learning_rate": "fast"}, r"learning_rate='fast': accepted is a number > 0"),
        ({"gamma": 0.0}, r"gamma=0.0: accepted is a number in \(0, 1\]"),
        ({"gamma": 1.01}, r"gamma=1.01"),
        (
            {"games_per_update": 8},
            r"games_per_update=8 is for whole games: set slots=0 too, or leave it out and set segment_length",
        ),
        ({"slots": 0}, r"slots=0: an update is of whole games, so set games_per_update to 1 or more"),
        ({"slots": 2000}, r"slots=2000: accepted is a whole number in \[0, 1024\]"),
        (
            {"method": "reinforce"},
            r"method=reinforce plays whole games: set slots=0 and games_per_update, or --preset karp",
        ),
        ({"games_per_update": 2.5}, r"games_per_update=2.5"),
        ({"num_workers": 0}, r"num_workers=0"),
        ({"num_workers": True}, r"num_workers=True"),
        ({"cpus_per_worker": 0}, r"cpus_per_worker=0"),
        ({"seed": 10**40}, "seed: accepted is a number of at most 40 digits"),
        ({"seed": -1}, r"seed=-1"),
        ({"optimiser": "sgd"}, r"optimiser='sgd': accepted are rmsprop, adam"),
        ({"env_id": "CartPole-v1"}, r"'CartPole-v1' is not a Pong"),
        ({"env_id": "Pung-v5"}, r"'Pung-v5' is unknown"),
    ],
)
def test_bad_settings_are_named_with_what_is_accepted(settings, message):
    with pytest.raises(ConfigError, match=message):
        PGConfig.from_dict(settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (CARTPOLE, r"slots=0: an update is of whole games, so set timesteps_per_batch to 1 or more"),
        (CARTPOLE | {"reset_on_reward": True}, "reset_on_reward=True: for Pong only; for CartPole-v1"),
        (CARTPOLE | {"coarse_coding": True}, "coarse_coding=True: for Pong only; for CartPole-v1"),
        (CARTPOLE | {"slots": 2}, "slots=2: for Pong only; for CartPole-v1"),
        ({"hidden_sizes": (64, 0)}, r"hidden_sizes=0: accepted is a whole number >= 1"),
        (
            {"hidden_sizes": "64-x"},
            r"hidden_sizes='64-x': accepted are one or more numbers, as 64-64, each a number >= 1",
        ),
    ],
)
def test_bad_settings_of_trpo_are_named_too(settings, message):
    with pytest.raises(ConfigError, match=message):
        TRPOConfig.from_dict(settings)
