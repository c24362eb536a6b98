"""Places in bins: what they say of a memory, and that they change nothing in it."""

import numpy as np
import pytest

from trainables.sampling.coarse_coding import BALL_X, BALL_Y, BINS, NUM_PLACES, PADDLE_Y, TENTS
from trainables.sampling.environments import PongRAM
from trainables.sampling.rollout import GameNumber, rollout

CENTRES = np.linspace(0, 255, BINS)


@pytest.fixture(scope="module")
def games():
    """The same game twice: as memory alone, and with places."""

    def play(env):
        env_rng, action_rng = GameNumber(seed=1, iteration=2, game=3).generators()
        return rollout(env, lambda _: int(action_rng.integers(env.num_actions)), env_rng)

    return play(PongRAM()), play(PongRAM(with_places=True))


def test_bins_add_up_to_one_and_their_centre_of_mass_is_the_place():
    shares = TENTS / 255
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=0.005)
    np.testing.assert_allclose(shares @ CENTRES, np.arange(256), atol=0.6)
    assert ((TENTS > 0).sum(axis=1) <= 2).all(), "a place lies between two centres"


def test_places_stand_behind_the_memory_and_leave_it_as_it_is(games):
    plain, placed = games
    np.testing.assert_array_equal(placed.obs_nd[:, :128], plain.obs_nd)
    np.testing.assert_array_equal(placed.reward_n, plain.reward_n)
    assert placed.obs_nd.shape[1] == PongRAM(with_places=True).num_inputs == 128 + NUM_PLACES * BINS
    assert placed.obs_nd.dtype == np.uint8


def test_places_are_those_of_ball_and_paddle_and_how_far_apart_they_are(games):
    _, placed = games
    memory_nd = placed.obs_nd[:, :128].astype(int)
    x_n, y_n, paddle_n = (memory_nd[:, address] for address in (BALL_X, BALL_Y, PADDLE_Y))
    bins = placed.obs_nd[:, 128:].reshape(-1, NUM_PLACES, BINS) / 255
    read_n4 = bins @ CENTRES
    apart_n = np.clip(2 * (y_n - paddle_n) + 128, 0, 255)
    np.testing.assert_allclose(read_n4, np.column_stack([x_n, y_n, paddle_n, apart_n]), atol=0.6)
    assert np.unique(apart_n).size > 30, "the game shows many distances"
