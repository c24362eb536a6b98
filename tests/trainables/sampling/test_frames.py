"""The console against Gymnasium's, and what the pixel learner sees of it against the dense definition."""

import gymnasium
import numpy as np
import pytest

from trainables.sampling import environments
from trainables.sampling.console import DOWN, UP, PongConsole
from trainables.sampling.environments import DoublePixels, PongPixels
from trainables.sampling.frames import preprocess


def dense(row, env):
    x = np.zeros(env.num_pixels, np.float32)
    columns, values, start, stop = row
    np.add.at(x, columns[start:stop], values[start:stop])
    return x


@pytest.mark.parametrize(("environment", "lit"), [(PongPixels, (15, 40)), (DoublePixels, (45, 90))])
def test_frames_equal_the_dense_preprocessing_on_a_whole_game(monkeypatch, environment, lit):
    monkeypatch.setattr(environments, "ROOM", 15_000)  # a game's rows fill several arrays
    env, rng, done = environment(), np.random.default_rng(0), False
    before, row = preprocess(env.console.ale.getScreenRGB()), env.reset(rng)
    rows, expected = [row], [np.append(0 * before, before)[: env.num_pixels]]
    np.testing.assert_array_equal(dense(row, env), expected[0])
    while not done:
        row, _, terminated, truncated = env.step(int(rng.integers(len(env.MOVES))))
        done, now = terminated or truncated, preprocess(env.console.ale.getScreenRGB())
        rows.append(row)
        expected.append(np.append(now - before, now)[: env.num_pixels])
        before = now
    matrix = env.stack(rows)
    assert len({id(columns) for columns, *_ in rows}) > 1
    np.testing.assert_array_equal(matrix.toarray(), np.array(expected))
    assert (matrix.data != 0).all()
    assert lit[0] < matrix.nnz / len(rows) < lit[1]


@pytest.mark.parametrize("environment", [PongPixels, DoublePixels])
def test_pictures_of_a_game_and_of_the_next_one_are_seen_as_in_training(environment):
    env, eye = environment(), environment()
    start = env.console.ale.getScreenRGB()
    for _ in range(2):
        rows = [env.reset(np.random.default_rng(0))]
        seen = [eye.see(start, first=True)]
        for action in [1] * 20:
            rows.append(env.step(action)[0])
            seen.append(eye.see(env.console.ale.getScreenRGB(), first=False))
        np.testing.assert_array_equal(env.stack(rows).toarray(), eye.stack(seen).toarray())


def test_preprocess_is_karpathys_and_leaves_the_picture_alone():
    picture = np.zeros((210, 160, 3), np.uint8)
    picture[..., 0] = 144
    picture[35, 0, 0] = 109  # the other background
    picture[37, 2, 0] = 213  # first kept pixel of the second kept row, second kept column
    picture[36, 4, 0] = 213  # a dropped row
    picture[37, 5, 0] = 213  # a dropped column
    picture[195, 0, 0] = 213  # below the crop
    untouched = picture.copy()
    assert np.flatnonzero(preprocess(picture)).tolist() == [80 + 1]
    np.testing.assert_array_equal(picture, untouched)


def test_the_console_is_gymnasiums_pong():
    """Without sticky actions, our console and Gymnasium's environment show the same game, step by step."""
    env = gymnasium.make("ALE/Pong-v5", repeat_action_probability=0.0)
    picture, _ = env.reset(seed=1)
    console, rng, done = PongConsole(), np.random.default_rng(3), False
    console.sticky_probability = 0.0
    np.testing.assert_array_equal(console.ale.getScreenRGB(), picture)
    console.reset(np.random.default_rng(0))
    while not done:
        up = bool(rng.integers(2))
        picture, reward, terminated, truncated, _ = env.step(2 if up else 3)
        assert console.step(UP if up else DOWN) == reward
        np.testing.assert_array_equal(console.ale.getScreenRGB(), picture)
        assert (console.terminated, console.truncated) == (terminated, truncated)
        done = terminated or truncated


def test_sticky_repeats_have_the_specified_rate_and_hold_the_joystick_across_steps():
    console = PongConsole()
    console.reset(np.random.default_rng(1))
    drawn = np.array([next(console._repeats) for _ in range(5000)])
    np.testing.assert_array_equal(drawn[:1024], np.random.default_rng(1).random((1024, 4)) < 0.25)
    assert abs(drawn.mean() - 0.25) < 3 * np.sqrt(0.25 * 0.75 / drawn.size)
    console.reset(np.random.default_rng(0))
    console._repeats = iter([[False] * 4, [True, True, False, True]])
    console.step(UP)
    console.step(DOWN)
    assert [*console.played] == [UP] * 4 + [UP, UP, DOWN, DOWN]
