"""Evaluation: its games and films, and what a trial makes of them, apart from training and across a restore."""

import io

import gymnasium
import numpy as np
import pytest
import scipy.stats
from PIL import Image

from tests.helpers.trials import CARTPOLE, SEGMENTS, assert_same, serial, trained
from trainables.algorithms import make_algorithm
from trainables.checkpoints import FILM
from trainables.config import PGConfig, TRPOConfig
from trainables.learning.policies import FilteredWeights
from trainables.learning.running_stats import Moments
from trainables.sampling.evaluation import (
    caption,
    evaluate,
    evaluation_numbers,
    mean_with_interval,
    measure,
    summarise,
)
from trainables.sampling.film import SHOT_FRAMES, Look, film_game
from trainables.sampling.rollout import GameNumber
from trainables.trainable import PongPG, PongTRPO

ENV_ID = "ShortestPong-v0"
SPEC = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 600}
gymnasium.register(ENV_ID, entry_point="ale_py.env:AtariEnv", kwargs=SPEC)
EVERY = SHOT_FRAMES // 4
"""Agent steps from shot to shot."""
GAMES = {"slots": 0, "games_per_update": 1}
NUMBER = evaluation_numbers(seed=3, iteration=7, count=1)[0]
TRIAL = {"env_id": ENV_ID, "hidden_size": 8, "seed": 4, "eval_games": 2} | SEGMENTS | {"segment_length": 100}
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


def frames_of_shots(image, shot_s=SHOT_FRAMES / 60):
    """The frame that shows each shot: shots that are alike are one frame, which is shown for longer."""
    shown = []
    for frame in range(image.n_frames):
        image.seek(frame)
        shown += [frame] * round(image.info["duration"] / (1000 * shot_s))
    return shown


def test_a_film_shows_the_real_console_and_is_a_small_animated_gif(player, filmed, gif):
    worker, weights = player
    assert len(gif) < 400_000
    image = Image.open(io.BytesIO(gif))
    shown = frames_of_shots(image)
    assert len(shown) == len(filmed.film.shots) > 60
    env_rng, action_rng = NUMBER.generators()
    env, choose = worker.env, worker.policy.sampler(weights, action_rng)
    observation = env.reset(env_rng)
    for step in range(50 * EVERY + 1):
        observation, *_ = env.step(choose(observation))
        if step % (10 * EVERY) == 0:
            image.seek(shown[step // EVERY])
            picture = np.asarray(image.convert("RGB"))[::2, :320:2]
            np.testing.assert_array_equal(picture, env.console.ale.getScreenRGB())


@pytest.mark.parametrize("frame_skip", [1, 3, 16])
def test_a_film_plays_as_fast_as_the_console_whatever_an_agent_step_is(frame_skip):
    env_id = f"Skip{frame_skip}Pong-v0"
    gymnasium.register(env_id, entry_point="ale_py.env:AtariEnv", kwargs=SPEC | {"frameskip": frame_skip})
    worker = make_algorithm(PGConfig(env_id=env_id, hidden_size=4)).worker_factory()()
    game = measure(worker, worker.policy.mlp.init(np.random.default_rng(0)), NUMBER, filmed=True)
    image = Image.open(io.BytesIO(game.film.gif(["", "", ""])))
    shown = frames_of_shots(image, game.film.shot_s)
    assert len(shown) == len(game.film.shots)
    assert len(shown) * game.film.shot_s == pytest.approx(game.length * frame_skip / 60, abs=0.3)
    assert (
        game.film.score(game.episode_return, game.length) == f"return {game.episode_return:+.0f} in {game.length} steps"
    )


def test_the_caption_of_a_film_of_a_part_says_which_part(player):
    worker, _ = player
    worker.env.reset(np.random.default_rng(0))
    while len(worker.env.console.played) < 4 * 500:
        worker.env.step(0)
    film = film_game(worker.env, bytes(worker.env.console.played), [Look(0, lambda seen: np.zeros((8, 8)), None)], 100)
    assert film.score(-16, 1674) == "return -16; steps 101 to 460 of 1,674"
    assert len(film.shots) == 180


@PIXELS_ONLY
def test_a_film_shows_what_the_network_sees_beside_the_court(filmed, gif):
    shots = filmed.film.shots
    assert {value for shot in shots for value in np.unique(shot.view)} == {-8, 0, 8, 16}
    image = Image.open(io.BytesIO(gif))
    image.seek(frames_of_shots(image)[30])
    seen = np.asarray(image.convert("RGB")).astype(int)[70:390:4, 328:648:4]
    np.testing.assert_array_equal(np.sign(seen[..., 0] - seen[..., 2]), np.sign(shots[30].view))


@pytest.mark.parametrize("player", ["memory"], indirect=True)
def test_the_view_of_memory_is_what_the_filter_lets_through(player):
    worker, weights = player
    observation = worker.env.reset(np.random.default_rng(0))
    expected = (weights.filter(observation[None]).reshape(8, 16) / 2.5).clip(-1, 1)
    np.testing.assert_allclose(worker.view(weights)(observation), expected)


@PIXELS_ONLY
def test_a_policy_that_diverged_is_filmed_without_probabilities(player):
    worker, weights = player
    with np.errstate(all="ignore"):
        game = measure(worker, weights * np.nan, NUMBER, filmed=True)
    assert game.film.gif(["", "", ""])
    assert set(game.film.shots[9].probability.values()) == {0.0}


@PIXELS_ONLY
def test_only_the_first_game_of_an_evaluation_is_filmed_and_the_last_are_greedy(player):
    numbers = evaluation_numbers(8, 1, 3)  # of these the last two end in other ways, sampled and greedy
    games = [evaluate(*player, [number], sampled=2) for number in numbers]
    assert [gif is not None for _, gif in games] == [True, False, False]
    expected = [measure(*player, number, greedy=index > 1)[:2] for index, number in enumerate(numbers)]
    assert [game for game, _ in games] == expected


def test_the_interval_is_students():
    returns = [-21.0, -18.0, -20.0, -15.0]
    low, high = scipy.stats.t.interval(0.95, 3, np.mean(returns), scipy.stats.sem(returns))
    assert mean_with_interval(returns, pong=False) == pytest.approx((-18.5, low, high))


def test_the_interval_ends_where_pongs_returns_do():
    assert mean_with_interval([20.0, 21.0], pong=True)[2] == 21
    assert mean_with_interval([-20.0, -21.0], pong=True)[1] == -21


@pytest.fixture(scope="module")
def evaluated():
    """A trial after two iterations, of which the first ended with an evaluation; what was evaluated; all returns."""
    trial = serial(PongPG)(config=TRIAL)
    _, first = trained(trial, 1)
    weights, metrics = trial.algorithm.playing_weights(trial.arrays), dict(trial.last_evaluation)
    _, second = trained(trial, 1)
    return trial, weights, metrics, first + second


def test_training_is_bit_identical_with_and_without_evaluation(evaluated):
    trial, _, _, returns = evaluated
    off = serial(PongPG)(config=TRIAL | {"eval_interval": 0})
    arrays, returns_off = trained(off, 2)
    assert_same(arrays, trial.arrays)
    assert returns_off == returns
    assert not off.last_evaluation


def test_the_trial_reports_the_games_that_a_plain_worker_plays_and_films(evaluated):
    trial, weights, metrics, _ = evaluated
    worker, numbers = PongPG.worker_factory(trial.settings)(), evaluation_numbers(4, 1, 4)
    games, gifs = zip(*(evaluate(worker, weights, [number], sampled=2) for number in numbers), strict=True)
    assert metrics == summarise(1, games[:2], games[2:], pong=True)
    assert metrics["eval/return_sampled_mean"] == np.mean([game.episode_return for game in games[:2]])
    assert trial.film == gifs[0]
    assert Image.open(io.BytesIO(trial.film)).n_frames > 30


def test_a_checkpoint_holds_the_last_film_and_a_restored_trial_passes_it_on(evaluated, tmp_path):
    trial, *_ = evaluated
    first, second = tmp_path / "first", tmp_path / "second"
    trial.save(str(first))
    restored = PongPG.untrained(trial.settings)
    restored.load_checkpoint(str(first))
    second.mkdir()
    restored.save_checkpoint(str(second))
    assert (first / FILM).read_bytes() == (second / FILM).read_bytes() == trial.film


def of_evaluation(result):
    return {key: value for key, value in result.items() if key.startswith("eval/")}


def test_the_last_evaluation_is_carried_forward_and_kept_across_a_restore(tmp_path):
    trial = serial(PongTRPO)(config=CARTPOLE | {"eval_interval": 3, "eval_games": 2})
    results = [trial.train() for _ in range(4)]
    assert [result["eval/iteration"] for result in results] == [1, 1, 3, 3]
    assert [result["should_checkpoint"] for result in results] == [True, False, True, False]
    assert of_evaluation(results[0]) == of_evaluation(results[1]) != of_evaluation(results[2])
    assert all([*result] == [*results[0]] for result in results)
    trial.save(str(tmp_path / "c"))
    later = [of_evaluation(trial.train()) for _ in range(2)]
    trial.restore(str(tmp_path / "c"))
    assert [of_evaluation(trial.train()) for _ in range(2)] == later
    assert trial.last_evaluation["eval/iteration"] == 6
    assert trial.film is None, "CartPole has no console"
