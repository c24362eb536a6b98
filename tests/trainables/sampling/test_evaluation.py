import io

import gymnasium
import numpy as np
import pytest
from PIL import Image

from trainables.algorithms import make_algorithm
from trainables.config import PGConfig, TRPOConfig
from trainables.learning.policies import FilteredWeights
from trainables.learning.running_stats import Moments
from trainables.sampling.evaluation import caption, evaluate, evaluation_numbers, measure
from trainables.sampling.film import EVERY, STEPS_PER_SECOND
from trainables.sampling.rollout import GameNumber

ENV_ID = "ShortestPong-v0"
SPEC = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 600}
gymnasium.register(ENV_ID, entry_point="ale_py.env:AtariEnv", kwargs=SPEC)
GAMES = {"slots": 0, "batch_size": 1}
NUMBER = evaluation_numbers(seed=3, iteration=7, count=1)[0]
PIXELS_ONLY = pytest.mark.parametrize("player", ["double"], indirect=True)


@pytest.fixture(scope="module", params=["differences", "double", "memory"])
def player(request):
    """A worker, and weights to play with."""
    if request.param == "memory":
        worker = make_algorithm(TRPOConfig(env_id=ENV_ID, hidden_sizes=(8,), coarse_coding=False)).worker_factory()()
        seen = np.random.default_rng(0).integers(0, 256, (9, 128)).astype(np.uint8)
        return worker, FilteredWeights(worker.policy.init(np.random.default_rng(0)), Moments.of(seen).filter())
    method = "ppo" if request.param == "double" else "reinforce"
    worker = make_algorithm(PGConfig(env_id=ENV_ID, method=method, hidden_size=10, **GAMES)).worker_factory()()
    return worker, worker.policy.mlp.init(np.random.default_rng(0))


@pytest.fixture(scope="module")
def filmed(player):
    return measure(*player, NUMBER, filmed=True)


@pytest.fixture(scope="module")
def gif(filmed):
    return filmed.film.gif(caption(filmed, "somewhere"))


def test_a_sampled_game_is_the_game_that_training_would_play_filmed_or_not(player, filmed):
    worker, weights = player
    played = worker.play(weights, NUMBER)
    for game in (measure(worker, weights, NUMBER), filmed):
        assert (game.episode_return, game.length) == (played.episode_return, len(played.action_n))


def test_probabilities_are_those_that_actions_are_drawn_with(player):
    worker, weights = player
    pixels = isinstance(weights, np.ndarray)
    weights = 9 * weights if pixels else weights._replace(theta_p=9 * weights.theta_p)
    env = worker.env
    env.reset(np.random.default_rng(0))
    for _ in range(60):
        obs, *_ = env.step(1)
    probability = worker.probabilities(weights)(obs)
    assert probability.sum() == pytest.approx(1)
    assert probability.max() < 0.99, "a case that says something"
    draw, n = worker.sampler(weights, np.random.default_rng(1)), 4000
    share = np.bincount([draw(obs) for _ in range(n)], minlength=len(probability)) / n
    assert np.all(np.abs(share - probability) < 4 * np.sqrt(probability * (1 - probability) / n) + 1e-9)


def test_a_greedy_game_takes_the_most_probable_action_of_the_dense_network_each_time(player):
    worker, weights = player
    pixels = isinstance(weights, np.ndarray)
    env_rng, _ = NUMBER.generators()
    env = type(worker.env)(ENV_ID)
    observation, total, length, done = env.reset(env_rng), 0.0, 0, False
    while not done:
        matrix = env.stack([observation])
        x_nd = matrix.toarray() if pixels else weights.filter(matrix)
        logits = worker.policy.mlp.forward(weights if pixels else weights.theta_p, x_nd)[0][0, :3]  # a value may follow
        action = int(logits[0] > 0) if len(logits) == 1 else int(logits.argmax())
        observation, reward, terminated, truncated = env.step(action)
        total, length, done = total + reward, length + 1, terminated or truncated
    game = measure(worker, weights, NUMBER, greedy=True)
    assert (game.episode_return, game.length) == (total, length)


def test_evaluation_shares_no_randomness_with_training_nor_with_another_evaluation():
    numbers = [GameNumber(0, i, g) for i in range(4) for g in range(4)]
    numbers += [number for i in range(4) for number in evaluation_numbers(0, i, 4)]
    draws = {tuple(rng.random(2)) for number in numbers for rng in number.generators()}
    assert len(draws) == 2 * len(numbers) == 64


def frames_of_shots(image):
    """The frame that shows each shot: shots that are alike are one frame, which is shown for longer."""
    shown = []
    for frame in range(image.n_frames):
        image.seek(frame)
        shown += [frame] * round(image.info["duration"] / (1000 * EVERY / STEPS_PER_SECOND))
    return shown


def test_a_film_shows_the_real_console_and_is_a_small_animated_gif(player, filmed, gif):
    worker, weights = player
    assert len(gif) < 400_000
    image = Image.open(io.BytesIO(gif))
    shown = frames_of_shots(image)
    assert len(shown) == len(filmed.film.shots) > 60
    env_rng, action_rng = NUMBER.generators()
    env, choose = worker.env, worker.sampler(weights, action_rng)
    observation = env.reset(env_rng)
    for step in range(50 * EVERY + 1):
        observation, *_ = env.step(choose(observation))
        if step % (10 * EVERY) == 0:
            image.seek(shown[step // EVERY])
            picture = np.asarray(image.convert("RGB"))[::2, :320:2]
            np.testing.assert_array_equal(picture, env.console.ale.getScreenRGB())


@PIXELS_ONLY
def test_a_film_shows_what_the_network_sees_beside_the_court(filmed, gif):
    shots = filmed.film.shots
    assert {value for shot in shots for value in np.unique(shot.view)} == {-8, 0, 8, 16}
    image = Image.open(io.BytesIO(gif))
    image.seek(frames_of_shots(image)[30])
    seen = np.asarray(image.convert("RGB")).astype(int)[70:390:4, 328:648:4]
    np.testing.assert_array_equal(np.sign(seen[..., 0] - seen[..., 2]), np.sign(shots[30].view))


@PIXELS_ONLY
def test_a_policy_that_diverged_is_filmed_without_probabilities(player):
    worker, weights = player
    with np.errstate(all="ignore"):
        game = measure(worker, weights * np.nan, NUMBER, filmed=True)
    assert game.film.gif(["", "", ""])
    assert set(game.film.shots[9].probability.values()) == {0.0}


@PIXELS_ONLY
def test_only_the_first_game_of_an_evaluation_is_filmed_and_the_last_are_greedy(player):
    numbers = evaluation_numbers(0, 1, 3)
    games = [evaluate(*player, [number], sampled=2) for number in numbers]
    assert [game.gif is not None for game in games] == [True, False, False]
    expected = [measure(*player, number, greedy=index > 1)[:2] for index, number in enumerate(numbers)]
    assert [game[:2] for game in games] == expected
