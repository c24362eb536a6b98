import gymnasium
import numpy as np
import pytest

from experiments.benchmarks.notebook import NotebookModel
from trainables.learning.policies import BernoulliPolicy
from trainables.learning.returns import discounted_returns, standardise
from trainables.sampling.environments import PongPixels
from trainables.sampling.frames import NUM_PIXELS
from trainables.sampling.pixel_workers import FrameWorker, GradientWorker
from trainables.sampling.rollout import GameNumber, rollout

HIDDEN, GAMMA = 20, 0.99


@pytest.fixture(scope="module")
def worker():
    return GradientWorker("ALE/Pong-v5", HIDDEN, GAMMA)


@pytest.fixture(scope="module")
def theta(worker):
    return worker.policy.mlp.init(np.random.default_rng(0))


@pytest.mark.parametrize("game", [0, 1])
def test_the_sparse_gradient_of_a_real_game_equals_the_notebooks_dense_one(worker, theta, game):
    number = GameNumber(3, 1, game)
    env_rng, action_rng = number.generators()
    policy = BernoulliPolicy(NUM_PIXELS, HIDDEN)
    played = rollout(PongPixels(), policy.sampler(theta, action_rng), env_rng)

    (w1, _), (w2, _) = policy.mlp.layers(theta.astype(np.float64))
    notebook = NotebookModel(w1.T.copy(), w2.ravel())
    frames = played.obs_nd.toarray().astype(np.float64)
    outputs = [notebook.forward(frame) for frame in frames]
    advantage = standardise(discounted_returns(played.reward_n, GAMMA))
    score = (played.action_n - np.array([p for p, _ in outputs])) * advantage
    g1, g2 = notebook.gradient(frames, np.vstack([hidden for _, hidden in outputs]), score)

    result = worker.play_block(theta, [number])
    total = np.zeros_like(theta)
    worker.policy.add_row_gradient(total, result.gradient)
    (t1, _), (t2, _) = worker.policy.mlp.layers(total)
    np.testing.assert_allclose(t1, g1.T, atol=1e-5 * np.abs(g1).max())
    np.testing.assert_allclose(t2.ravel(), g2, atol=1e-5 * np.abs(g2).max())
    assert result.summaries[0][:2] == (played.episode_return, len(frames))


def test_a_game_sends_back_lit_columns_only(worker, theta):
    gradient = worker.play_block(theta, [GameNumber(0, 0, 0)]).gradient
    assert 300 < len(gradient.columns) < 1200, "a game lights 600 to 900 of 6,400 pixels"
    assert gradient.grad.dtype == np.float32


def test_a_block_of_games_sends_the_sum_of_their_gradients(worker, theta):
    block = [GameNumber(0, 0, game) for game in range(3)]
    games = [worker.play_block(theta, [number]) for number in block]
    one_by_one, summed = np.zeros_like(theta), np.zeros_like(theta)
    for game in games:
        worker.policy.add_row_gradient(one_by_one, game.gradient)
    result = worker.play_block(theta, block)
    worker.policy.add_row_gradient(summed, result.gradient)
    np.testing.assert_allclose(summed, one_by_one, atol=1e-5 * np.abs(summed).max())
    assert [summary[:2] for summary in result.summaries] == [game.summaries[0][:2] for game in games]
    assert result.entropies == pytest.approx([game.entropies[0] for game in games])
    assert result.nbytes < 0.9 * sum(game.nbytes for game in games), "games light much the same pixels"


def test_packed_games_are_the_games_and_small():
    number, frames = GameNumber(2, 0, 0), FrameWorker("ALE/Pong-v5", HIDDEN)
    theta = frames.policy.mlp.init(np.random.default_rng(0))
    played, _ = frames.play(theta, number)
    (game,) = frames.play_block(theta, [number]).games
    np.testing.assert_array_equal(game.frames[:-1].toarray(), played.obs_nd.toarray())
    np.testing.assert_array_equal(game.frames[-1:].toarray(), frames.env.stack([played.last_obs]).toarray())
    np.testing.assert_array_equal(game.action_n, played.action_n)
    np.testing.assert_array_equal(game.reward_n, played.reward_n)
    assert game.nbytes < 200 * len(game.action_n)


def test_the_number_decides_the_game_whatever_the_worker_played_before(worker, theta):
    fresh = GradientWorker("ALE/Pong-v5", HIDDEN, GAMMA)
    worker.play(theta, GameNumber(1, 0, 0))
    numbers = [GameNumber(0, 0, 0), GameNumber(0, 0, 1), GameNumber(0, 1, 0), GameNumber(1, 0, 0)]
    games = [worker.play_block(theta, [number]) for number in numbers]
    repeated = fresh.play_block(theta, [numbers[0]])
    np.testing.assert_array_equal(repeated.gradient.grad, games[0].gradient.grad)
    assert len({game.gradient.grad.tobytes() for game in games}) == len(games), "different numbers, different games"


def test_a_game_cut_off_by_the_frame_limit_says_so():
    settings = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 400}
    gymnasium.register("ShortPong-v0", entry_point="ale_py.env:AtariEnv", kwargs=settings)
    played = rollout(PongPixels("ShortPong-v0"), lambda _: 1, np.random.default_rng(0))
    assert played.truncated
    assert len(played.action_n) == 100
