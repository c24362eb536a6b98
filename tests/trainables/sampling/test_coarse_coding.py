"""Positions in bins: what they say of a memory, and that they change nothing in it."""

import numpy as np
import pytest

from trainables.sampling.environments import BALL_X, BALL_Y, BINS, NUM_POSITIONS, PADDLE_Y, TENTS, PongRAM
from trainables.sampling.rollout import GameNumber, rollout

CENTRES = np.linspace(0, 255, BINS)


@pytest.fixture(scope="module")
def games():
    """The same game twice: as memory alone, and with coarse coding."""

    def play(env):
        env_rng, action_rng = GameNumber(seed=1, iteration=2, game=3).generators()
        return rollout(env, lambda _: int(action_rng.integers(env.num_actions)), env_rng)

    return play(PongRAM()), play(PongRAM(coarse_coding=True))


def test_bins_add_up_to_one_and_their_centre_of_mass_is_the_position():
    shares = TENTS / 255
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=0.005)
    np.testing.assert_allclose(shares @ CENTRES, np.arange(256), atol=0.6)
    assert ((TENTS > 0).sum(axis=1) <= 2).all(), "a position lies between two centres"


def test_positions_stand_behind_the_memory_and_leave_it_as_it_is(games):
    plain, positiond = games
    np.testing.assert_array_equal(positiond.obs_nd[:, :128], plain.obs_nd)
    np.testing.assert_array_equal(positiond.reward_n, plain.reward_n)
    assert positiond.obs_nd.shape[1] == PongRAM(coarse_coding=True).num_inputs == 128 + NUM_POSITIONS * BINS
    assert positiond.obs_nd.dtype == np.uint8


def test_positions_are_those_of_ball_and_paddle_and_how_far_apart_they_are(games):
    _, positiond = games
    memory_nd = positiond.obs_nd[:, :128].astype(int)
    x_n, y_n, paddle_n = (memory_nd[:, address] for address in (BALL_X, BALL_Y, PADDLE_Y))
    bins = positiond.obs_nd[:, 128:].reshape(-1, NUM_POSITIONS, BINS) / 255
    read_n4 = bins @ CENTRES
    apart_n = np.clip(2 * (y_n - paddle_n) + 128, 0, 255)
    np.testing.assert_allclose(read_n4, np.column_stack([x_n, y_n, paddle_n, apart_n]), atol=0.6)
    assert np.unique(apart_n).size > 30, "the game shows many distances"
