"""Training games that are played again and filmed: each is the very game, also one of several segments."""

import dataclasses
import json

import numpy as np
import pytest
from PIL import Image

from experiments.plan.learners import PG, TRPO
from experiments.read.experiments import read_experiment
from experiments.read.stretches import kept
from experiments.run.replay import Wanted, replay
from tests.helpers.small_experiments import fit, rows, small_spec, trial_folders
from tests.helpers.trials import CARTPOLE, SEGMENTS
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig

CONFIG = PGConfig(**SEGMENTS, hidden_size=5, num_workers=2, eval_interval=0, epochs=1)
ITERATION = SEGMENTS["segment_length"] * SEGMENTS["updates_per_iteration"]


@pytest.fixture(scope="module")
def recorded(ray_cluster, home, tmp_path_factory):
    """Three slots of Pong, of which one iteration plays 800 steps: most games go on over two of them."""
    folder = tmp_path_factory.mktemp("storage") / "recorded"
    spec = small_spec("pg", [CONFIG], iterations=3, keep_checkpoints=0, checkpoint_frequency=1)
    assert fit(PG, folder, spec).num_errors == 0
    return folder


def replayed(folder, iteration=2, game=None, slot=None, since=9, first_step=0, num_workers=1):
    experiment = read_experiment(folder, running=False)
    wanted = Wanted(iteration, game, slot, min(since, iteration), first_step, max_shots=2000)
    return replay(kept(experiment, experiment.trials[0]), wanted, num_workers)


def screens(replayed):
    return np.array([shot.screen for shot in replayed.game.film.shots])


@pytest.mark.slow
def test_the_games_of_an_iteration_are_those_of_its_row(recorded):
    row = rows(trial_folders(recorded)[0])[1]
    games = [replayed(recorded, game=game) for game in range(row["episodes_this_iter"])]
    assert games
    assert np.mean([game.game.episode_return for game in games]) == row["episode_reward_batch_mean"]
    assert np.mean([game.game.length for game in games]) == row["episode_len_mean"]
    assert all(game.before == min(ITERATION, game.game.length) for game in games if game.game.length > ITERATION)


def test_a_game_that_began_before_the_checkpoint_is_the_same_from_its_frames_and_from_its_policies(recorded):
    late, whole = replayed(recorded, game=0), replayed(recorded, game=0, since=1, num_workers=2)
    assert late.before == ITERATION
    assert whole.before == 0
    assert late.game[:2] == whole.game[:2]
    np.testing.assert_array_equal(screens(late), screens(whole))
    for index, (shot, other) in enumerate(zip(late.game.film.shots, whole.game.film.shots, strict=True)):
        np.testing.assert_array_equal(shot.view, other.view)
        assert sum(other.probability.values()) == pytest.approx(1)
        assert shot.probability == ({} if 2 * index < ITERATION else other.probability)


@pytest.mark.slow
def test_the_game_in_a_slot_goes_on_into_the_one_that_ended(recorded, tmp_path):
    row = rows(trial_folders(recorded)[0])[1]
    begun = [replayed(recorded, iteration=1, slot=slot) for slot in range(SEGMENTS["slots"])]
    assert all(game.game.length <= ITERATION for game in begun)
    ended = replayed(recorded, game=0, since=1)
    lengths = [len(game.game.film.shots) for game in begun]
    assert any(
        np.array_equal(screens(game), screens(ended)[:length]) for game, length in zip(begun, lengths, strict=True)
    )
    assert row["episodes_this_iter"] > 0
    later = replayed(recorded, game=0, since=1, first_step=700)
    np.testing.assert_array_equal(screens(later), screens(ended)[350:])
    (tmp_path / "film.gif").write_bytes(later.game.film.gif(["one", "two"]))
    assert Image.open(tmp_path / "film.gif").n_frames > 50


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"iteration": 4, "game": 0}, "iteration=4: 00000_seed=0 has rows of iterations 1 to 3"),
        ({"iteration": 1, "game": 0}, "game=0: iteration 1: no game ended in it; --slot 0 to 2 are those in play"),
        ({"slot": 3}, "slot=3: iteration 2: --slot 0 to 2 are those in play at its end"),
        ({"game": 99}, r"game=99: iteration 2: its games that ended are 0 to \d; --slot 0 to 2"),
        ({"game": 0, "num_workers": 0}, "num_workers=0"),
    ],
)
def test_a_game_that_there_is_not_is_refused_with_those_that_there_are(recorded, asked, message):
    with pytest.raises(ConfigError, match=message):
        replayed(recorded, **asked)


@pytest.mark.slow
def test_a_game_of_an_iteration_that_is_not_what_was_recorded(recorded, tmp_path):
    experiment = read_experiment(recorded, running=False)
    trial = experiment.trials[0]
    altered = [row | {"policy/kl": 0.5} if row["training_iteration"] == 2 else row for row in trial.rows]
    wanted = Wanted(2, 0, None, 2, 0, 100)
    found = dataclasses.replace(trial, rows=json.loads(json.dumps(altered)))
    with pytest.raises(ConfigError, match="iteration 2 is not what was recorded, and so no game after it: policy/kl"):
        replay(kept(experiment, found), wanted, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "config"),
    [
        (PG, PGConfig(method="reinforce", slots=0, batch_size=3, block_size=2, hidden_size=5, eval_interval=0)),
        (TRPO, TRPOConfig(slots=0, timesteps_per_batch=3000, hidden_sizes=(8,), eval_interval=0)),
    ],
)
def test_whole_games_are_filmed_too(ray_cluster, home, tmp_path, learner, config):
    folder = tmp_path / "whole"
    assert fit(learner, folder, small_spec(learner.name, [config], iterations=2)).num_errors == 0
    row = rows(trial_folders(folder)[0])[1]
    games = [replayed(folder, game=game) for game in range(row["episodes_this_iter"])]
    assert np.mean([game.game.episode_return for game in games]) == row["episode_reward_batch_mean"]
    assert np.mean([game.game.length for game in games]) == row["episode_len_mean"]
    with pytest.raises(ConfigError, match="it has no slots"):
        replayed(folder, slot=0)


@pytest.mark.slow
def test_an_environment_without_a_console_has_no_film(ray_cluster, home, tmp_path):
    folder = tmp_path / "cartpole"
    assert fit(TRPO, folder, small_spec("trpo", [TRPOConfig(**CARTPOLE)])).num_errors == 0
    with pytest.raises(ConfigError, match="CartPole-v1 has no console: nothing to film"):
        replayed(folder, game=0)
