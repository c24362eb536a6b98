import gymnasium
import numpy as np
import pytest

from trainables.sampling import frames
from trainables.sampling.console import DOWN, UP, PongConsole
from trainables.sampling.environments import DoublePixels, PongPixels
from trainables.sampling.frames import preprocess


def dense(row, env):
    x = np.zeros(env.FRAMES.num_pixels, np.float32)
    columns, values, start, stop = row
    np.add.at(x, columns[start:stop], values[start:stop])
    return x


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("environment", "lit"), [(PongPixels, (15, 40)), (DoublePixels, (45, 90))])
def test_frames_equal_the_dense_preprocessing_on_a_whole_game(monkeypatch, environment, lit, seed):
    monkeypatch.setattr(frames, "ROOM", 15_000)  # a game's rows fill several arrays
    env = environment()
    ale = env.console.ale
    before = preprocess(ale.getScreenRGB())
    rng = np.random.default_rng(seed)
    row = env.reset(rng)
    present = environment is DoublePixels
    np.testing.assert_array_equal(dense(row, env), np.append(0 * before, before) if present else 0 * before)
    rows, expected = [row], [dense(row, env)]
    done = False
    while not done:
        row, _, terminated, truncated = env.step(int(rng.integers(len(env.MOVES))))
        done = terminated or truncated
        now = preprocess(ale.getScreenRGB())
        np.testing.assert_array_equal(dense(row, env), np.append(now - before, now) if present else now - before)
        before = now
        rows.append(row)
        expected.append(dense(row, env))
    matrix = env.stack(rows)
    assert len({id(columns) for columns, *_ in rows}) > 1
    np.testing.assert_array_equal(matrix.toarray(), np.array(expected))
    assert (matrix.data != 0).all()
    assert lit[0] < matrix.nnz / len(rows) < lit[1]


def test_preprocess_follows_the_seed_and_leaves_the_picture_alone():
    picture = np.zeros((210, 160, 3), np.uint8)
    picture[..., 0] = 144
    picture[35, 0, 0] = 109  # the other background
    picture[37, 2, 0] = 213  # first kept pixel of the second kept row, second kept column
    picture[36, 4, 0] = 213  # a dropped row
    picture[37, 5, 0] = 213  # a dropped column
    picture[195, 0, 0] = 213  # below the crop
    untouched = picture.copy()
    frame = preprocess(picture)
    assert frame.dtype == np.float32
    assert np.flatnonzero(frame).tolist() == [80 + 1]
    np.testing.assert_array_equal(picture, untouched)


def test_the_console_is_gymnasiums_pong():
    """Without sticky actions, our console and Gymnasium's environment show the same game, step by step."""
    env = gymnasium.make("ALE/Pong-v5", repeat_action_probability=0.0)
    picture, _ = env.reset(seed=1)
    console = PongConsole()
    console.sticky_probability = 0.0
    np.testing.assert_array_equal(console.ale.getScreenRGB(), picture)
    console.reset(np.random.default_rng(0))
    rng = np.random.default_rng(3)
    done = False
    while not done:
        up = bool(rng.integers(2))
        picture, reward, terminated, truncated, _ = env.step(2 if up else 3)
        assert console.step(UP if up else DOWN) == reward
        np.testing.assert_array_equal(console.ale.getScreenRGB(), picture)
        assert (console.terminated, console.truncated) == (terminated, truncated)
        done = terminated or truncated


def test_sticky_repeats_have_the_specified_rate_and_block_by_block_no_seam():
    console = PongConsole()
    repeats = console._draw_repeats(np.random.default_rng(0))
    drawn = np.array([next(repeats) for _ in range(5000)])
    assert drawn.shape == (5000, 4)
    deviation = np.sqrt(0.25 * 0.75 / drawn.size)
    assert abs(drawn.mean() - 0.25) < 3 * deviation


def test_a_sticky_repeat_holds_the_previous_joystick_across_steps():
    console = PongConsole()
    console.reset(np.random.default_rng(0))
    seen = []

    class Recorder:
        def __getattr__(self, name):
            return getattr(real, name)

        def act(self, joystick):
            seen.append(joystick)
            return real.act(joystick)

    real, console.ale = console.ale, Recorder()
    console._repeats = iter([[False] * 4, [True, True, False, True]])
    console.step(UP)
    console.step(DOWN)
    assert seen == [UP] * 4 + [UP, UP, DOWN, DOWN]


def test_a_game_depends_on_its_generator_only_and_not_on_earlier_games():
    def play(env, seed):
        rng = np.random.default_rng(seed)
        env.reset(rng)
        return [env.step(step % 3 % 2)[1] for step in range(400)], env.console.ale.getRAM().tolist()

    fresh, used = PongPixels(), PongPixels()
    for seed in (5, 6):
        play(used, seed)
    assert play(used, 7) == play(fresh, 7)
    assert play(used, 8) != play(fresh, 7)
