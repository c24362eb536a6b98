"""Environments with flat observations: Pong's memory, alone and with positions in bins, and Gymnasium's own."""

import gymnasium
import numpy as np
import pytest

from trainables.sampling.environments import PongPixels
from trainables.sampling.memory import (
    BALL_X,
    BALL_Y,
    BINS,
    NUM_POSITIONS,
    PADDLE_Y,
    TENTS,
    PongRAM,
    flat_environment,
)
from trainables.sampling.rollout import GameNumber, rollout

NUMBER = GameNumber(seed=1, iteration=2, game=3)
CENTRES = np.linspace(0, 255, BINS)


def play(env, number=NUMBER):
    env_rng, action_rng = number.generators()
    return rollout(env, lambda _: int(action_rng.integers(env.num_actions)), env_rng)


@pytest.fixture(scope="module")
def ram():
    return PongRAM()


@pytest.fixture(scope="module")
def game(ram):
    return play(ram)


def test_memory_is_that_of_gymnasiums_ram_environment_but_for_signed_bytes(ram):
    reference = gymnasium.make("ALE/Pong-v5", obs_type="ram")
    first, _ = reference.reset(seed=0)
    first[[*ram.SIGNED]] += 128
    np.testing.assert_array_equal(ram.reset(np.random.default_rng(0)), first)
    assert reference.observation_space == gymnasium.spaces.Box(0, 255, (ram.num_inputs,), np.uint8)


@pytest.mark.parametrize(("action", "moves"), [(0, 0), (1, -1), (2, 1)])
def test_stay_up_and_down_move_the_paddle(ram, action, moves):
    ram.reset(np.random.default_rng(0))
    for _ in range(60):
        before, *_ = ram.step(1 if action == 2 else 2)  # off the wall that the action moves towards
    for _ in range(12):
        after, *_ = ram.step(action)
    assert np.sign(int(after[PADDLE_Y]) - int(before[PADDLE_Y])) == moves


def follow_the_ball(memory):
    return 1 if memory.item(BALL_Y) < memory.item(PADDLE_Y) + 8 else 2


def test_a_stroke_is_counted_each_time_that_our_paddle_turns_the_ball(ram):
    before = ram.strokes
    column_n = rollout(ram, follow_the_ball, np.random.default_rng(0)).obs_nd[:, BALL_X].astype(int)
    column_n, move_n = column_n[np.append(np.diff(column_n) != 0, False)], np.sign(np.diff(column_n))
    turned = (move_n[move_n != 0][:-1] > 0) & (move_n[move_n != 0][1:] < 0)
    at_our_paddle = (column_n[1:] > 180) & (column_n[1:] < 200)  # from 200 on it is behind us
    assert ram.strokes - before == (turned & at_our_paddle).sum() > 20


def test_a_stroke_is_counted_once_though_the_game_goes_on_elsewhere():
    one, other = PongRAM("PongNoFrameskip-v4"), PongRAM("PongNoFrameskip-v4")  # nothing in it is drawn
    rng = np.random.default_rng(0)
    observation = one.reset(rng)
    for _ in range(2000):
        observation, *_ = one.step(follow_the_ball(observation))
    alone, observation = one.strokes, one.reset(rng)
    for _ in range(2000):
        observation, *_ = one.step(follow_the_ball(observation))
        other.resume(one.suspend(observation), rng)
        one, other = other, one
    assert one.strokes + other.strokes - alone == alone > 5


def test_a_game_of_memory_ends_at_21_points_and_its_observations_are_copies(game):
    assert game.obs_nd.shape == (len(game.reward_n), 128)
    assert not game.truncated
    assert set(game.action_n) == {0, 1, 2}
    assert 21 in ((game.reward_n == 1).sum(), (game.reward_n == -1).sum())
    assert len(np.unique(game.obs_nd, axis=0)) > 500


@pytest.mark.parametrize(("position", "velocity", "direction"), [(BALL_Y, 56, 1), (BALL_X, 58, -1)])
def test_the_ball_moves_by_its_signed_velocity(game, position, velocity, direction):
    memory_nd = game.obs_nd.astype(int)
    moves, velocities = np.diff(memory_nd[:, position]), memory_nd[:, velocity] - 128
    in_flight = (velocities[1:] == velocities[:-1]) & (moves != 0)
    assert set(velocities[1:][in_flight]) >= {-1, 1}
    # Four frames a step; between points the ball jumps, and it bounces.
    assert np.mean(moves[in_flight] == 4 * direction * velocities[1:][in_flight]) > 0.8


def test_bins_add_up_to_one_and_their_centre_of_mass_is_the_position():
    shares = TENTS / 255
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=0.005)
    np.testing.assert_allclose(shares @ CENTRES, np.arange(256), atol=0.6)
    assert ((TENTS > 0).sum(axis=1) <= 2).all(), "a position lies between two centres"


def test_coarse_coding_adds_positions_of_ball_and_paddle_and_how_far_apart_they_are(game):
    coded = play(PongRAM(coarse_coding=True))
    np.testing.assert_array_equal(coded.obs_nd[:, :128], game.obs_nd)
    assert coded.obs_nd.dtype == np.uint8
    assert coded.obs_nd.shape[1] == PongRAM(coarse_coding=True).num_inputs == 128 + NUM_POSITIONS * BINS
    x_n, y_n, paddle_n = (game.obs_nd[:, address].astype(int) for address in (BALL_X, BALL_Y, PADDLE_Y))
    apart_n = np.clip(2 * (y_n - paddle_n) + 128, 0, 255)
    read_n4 = coded.obs_nd[:, 128:].reshape(-1, NUM_POSITIONS, BINS) / 255 @ CENTRES
    np.testing.assert_allclose(read_n4, np.column_stack([x_n, y_n, paddle_n, apart_n]), atol=0.6)
    assert np.unique(apart_n).size > 30, "the game shows many distances"


@pytest.mark.parametrize("env_id", ["ALE/Pong-v5", "CartPole-v1", "Acrobot-v1"])
def test_a_number_decides_a_game_whatever_was_played_before(env_id):
    env = flat_environment(env_id)
    other, again, first = play(env, NUMBER._replace(game=4)), play(env), play(flat_environment(env_id))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.obs_nd[:20], other.obs_nd[:20])


def test_a_time_limit_truncates_and_a_fall_does_not():
    env = flat_environment("Acrobot-v1")
    still = rollout(env, lambda _: 1, np.random.default_rng(0))
    assert still.truncated
    assert len(still.action_n) == gymnasium.spec("Acrobot-v1").max_episode_steps
    assert not play(flat_environment("CartPole-v1")).truncated
    settings = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 400}
    gymnasium.register("ShortPong-v0", entry_point="ale_py.env:AtariEnv", kwargs=settings)
    cut = rollout(PongPixels("ShortPong-v0"), lambda _: 1, np.random.default_rng(0))
    assert (cut.truncated, len(cut.action_n)) == (True, 100)


class Many(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Box(0, 1, (2,)), gymnasium.spaces.Discrete(128)


gymnasium.register("Many-v0", Many)


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("ALE/Breakout-v5", "accepted is a flat Box"),
        ("FrozenLake-v1", "accepted is a flat Box"),
        ("Pendulum-v1", "accepted is Discrete"),
        ("CartPole-v9", "unknown to Gymnasium"),
        ("ALE/Pogn-v5", "unknown to Gymnasium"),
        ("Pong-v0", "fixed frame skip"),
        ("Many-v0", "n <= 127"),
    ],
)
def test_other_environments_are_refused_in_one_line(env_id, message):
    with pytest.raises(ValueError, match=message) as error:
        flat_environment(env_id)
    assert env_id in str(error.value)
    assert "\n" not in str(error.value)
