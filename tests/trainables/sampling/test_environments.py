"""Environments with flat observations: Pong's memory, and Gymnasium's own."""

import gymnasium
import numpy as np
import pytest

from trainables.sampling.environments import BoxEnvironment, PongPixels, PongRAM, flat_environment
from trainables.sampling.rollout import GameNumber, rollout

NUMBER = GameNumber(seed=1, iteration=2, game=3)


@pytest.fixture(scope="module")
def ram():
    return PongRAM()


def play(env, number):
    env_rng, action_rng = number.generators()
    return rollout(env, lambda _: int(action_rng.integers(env.num_actions)), env_rng)


def test_memory_is_that_of_gymnasiums_ram_environment_but_for_signed_bytes(ram):
    reference = gymnasium.make("ALE/Pong-v5", obs_type="ram")
    first, _ = reference.reset(seed=0)
    first[[*ram.SIGNED]] += 128
    np.testing.assert_array_equal(ram.reset(np.random.default_rng(0)), first)
    assert reference.observation_space == gymnasium.spaces.Box(0, 255, (ram.num_inputs,), np.uint8)


@pytest.mark.parametrize(("action", "moves"), [(0, 0), (1, -1), (2, 1)])
def test_stay_up_and_down_move_the_paddle(ram, action, moves):
    paddle = 51  # the address of our paddle's row, which grows downwards
    ram.reset(np.random.default_rng(0))
    for _ in range(60):
        before, *_ = ram.step(1 if action == 2 else 2)  # off the wall that the action moves towards
    for _ in range(12):
        after, *_ = ram.step(action)
    assert np.sign(int(after[paddle]) - int(before[paddle])) == moves


def test_a_game_of_memory(ram):
    game = play(ram, NUMBER)
    assert game.obs_nd.shape == (len(game.reward_n), 128)
    assert game.obs_nd.dtype == np.uint8
    assert not game.truncated
    assert set(game.action_n) == {0, 1, 2}
    assert 21 in ((game.reward_n == 1).sum(), (game.reward_n == -1).sum())
    assert len(np.unique(game.obs_nd, axis=0)) > 500, "observations are copies, not one changing array"


@pytest.mark.parametrize(("position", "velocity", "direction"), [(54, 56, 1), (49, 58, -1)])
def test_the_ball_moves_by_its_signed_velocity(ram, position, velocity, direction):
    game = play(ram, NUMBER).obs_nd.astype(int)
    moves, velocities = np.diff(game[:, position]), game[:, velocity] - 128
    in_flight = (velocities[1:] == velocities[:-1]) & (moves != 0)
    assert set(velocities[1:][in_flight]) >= {-1, 1}
    # Four frames a step; between points the ball jumps, and it bounces.
    assert np.mean(moves[in_flight] == 4 * direction * velocities[1:][in_flight]) > 0.8


@pytest.mark.parametrize("env_id", ["ALE/Pong-v5", "CartPole-v1", "Acrobot-v1"])
def test_a_number_decides_a_game(env_id):
    env = flat_environment(env_id)
    first, other = play(env, NUMBER), play(env, NUMBER._replace(game=4))
    again = play(flat_environment(env_id), NUMBER)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.obs_nd[:20], other.obs_nd[:20])


def test_a_time_limit_truncates_and_a_fall_does_not():
    env = flat_environment("Acrobot-v1")
    still = rollout(env, lambda _: 1, np.random.default_rng(0))
    assert still.truncated
    assert len(still.action_n) == gymnasium.spec("Acrobot-v1").max_episode_steps
    assert still.last_obs.shape == (env.num_inputs,)
    assert not play(flat_environment("CartPole-v1"), NUMBER).truncated


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("ALE/Breakout-v5", "accepted is a flat Box"),
        ("FrozenLake-v1", "accepted is a flat Box"),
        ("Pendulum-v1", "accepted is Discrete"),
        ("CartPole-v9", "unknown to Gymnasium"),
        ("ALE/Pogn-v5", "unknown to Gymnasium"),
        ("Pong-v0", "fixed frame skip"),
    ],
)
def test_other_environments_are_refused_in_one_line(env_id, message):
    with pytest.raises(ValueError, match=message) as error:
        flat_environment(env_id)
    assert env_id in str(error.value)
    assert "\n" not in str(error.value)


def test_more_actions_than_a_trajectory_stores_are_refused():
    class Many(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, (2,))
        action_space = gymnasium.spaces.Discrete(128)

    gymnasium.register("Many-v0", Many)
    with pytest.raises(ValueError, match="n <= 127"):
        BoxEnvironment("Many-v0")


def test_a_game_cut_off_by_the_frame_limit_says_so():
    settings = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 400}
    gymnasium.register("ShortPong-v0", entry_point="ale_py.env:AtariEnv", kwargs=settings)
    played = rollout(PongPixels("ShortPong-v0"), lambda _: 1, np.random.default_rng(0))
    assert played.truncated
    assert len(played.action_n) == 100
