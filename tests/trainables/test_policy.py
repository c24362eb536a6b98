"""Trained policies in a loop of one's own."""

import copy
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from ray import tune

import trainables
from tests.helpers.trials import edited_state
from trainables import CheckpointError, PGConfig, PongPG, PongTRPO, TRPOConfig, checkpoints, load_policy
from trainables.sampling.rollout import play_on

STEADY = {"repeat_action_probability": 0.0}  # no sticky actions: what is played is up to the policy alone
CARTPOLE = {"env_id": "CartPole-v1", "coarse_coding": False, "reset_on_reward": False, "slots": 0}
LEARNERS = {
    "difference frames": (PongPG, PGConfig(slots=0, games_per_update=1, method="reinforce", hidden_size=8)),
    "two frames": (PongPG, PGConfig(hidden_size=8, slots=1)),
    "memory": (PongTRPO, TRPOConfig(hidden_sizes=(8,), slots=1)),
    "memory alone": (PongTRPO, TRPOConfig(hidden_sizes=(8,), slots=1, coarse_coding=False)),
    "flat": (PongTRPO, TRPOConfig(**CARTPOLE, timesteps_per_batch=100)),
}


def saved(folder, trainable, settings, **state):
    trial = trainable.untrained(settings)
    folder.mkdir(parents=True)
    checkpoints.save(folder, trial.checkpoint_arrays, trial.state.model_copy(update=state))
    return trial


def played(policy, env, steps, greedy=False):
    """Actions and rewards of the first steps of a game in Gymnasium's usual loop."""
    observation, _ = env.reset(seed=3)
    policy.reset(seed=7)
    pairs = []
    for _ in range(steps):
        action = policy.act(observation, greedy)
        observation, reward, terminated, truncated, _ = env.step(action)
        pairs.append((action, reward))
        if terminated or truncated:
            break
    return pairs


@pytest.mark.parametrize("name", LEARNERS)
def test_a_policy_acts_in_gymnasiums_loop_as_it_does_for_a_worker(tmp_path, name):
    trial = saved(tmp_path / "one", *LEARNERS[name])
    policy = load_policy(tmp_path / "one")
    assert policy.config == trial.settings

    weights, worker = trial.algorithm.playing_weights(trial.arrays), trial.algorithm.worker_factory()()
    env = policy.make_env(**({} if name == "flat" else STEADY))
    if name != "flat":
        worker.env.console.sticky_probability = 0.0
    probabilities = worker.probabilities(weights)
    for greedy in (False, True):  # two games: the second one begins anew
        sample = worker.policy.sampler(weights, np.random.default_rng(7))
        first = worker.env.reset(np.random.default_rng(0)) if name != "flat" else worker.env.env.reset(seed=3)[0]
        expected, _ = play_on(worker.env, (lambda seen: probabilities(seen).argmax()) if greedy else sample, first, 200)
        actions = [worker.env.gymnasium_actions[action] for action in expected.action_n]
        assert played(policy, env, 200, greedy) == [*zip(actions, expected.reward_n.tolist(), strict=True)]
        assert len({*actions}) > 1 or greedy


def test_a_picture_of_other_numbers_is_refused(tmp_path):
    saved(tmp_path / "one", *LEARNERS["two frames"])
    policy = load_policy(tmp_path / "one")
    picture, _ = policy.make_env().reset(seed=0)
    assert policy.act(picture) in policy.make_env().action_space
    with pytest.raises(ValueError, match="an observation of float64: accepted is uint8"):
        policy.act(picture / 255)


def test_of_a_trial_or_an_experiment_of_one_the_best_checkpoint_is_loaded_by_path_or_by_tunes_object(tmp_path):
    trial = saved(tmp_path / "a" / "checkpoint_000000", *LEARNERS["flat"], iteration=1)
    for name, iteration, returns in (("a", 2, [-12.0]), ("b", 5, [-3.0, -5.0]), ("b", 9, [-20.0])):
        episodes = trial.episodes.model_copy(update={"games": len(returns), "recent_returns": returns})
        folder = tmp_path / name / f"checkpoint_{iteration:06d}"
        saved(folder, *LEARNERS["flat"], iteration=iteration, episodes=episodes)
    whole = tmp_path / "b" / "checkpoint_000009" / "arrays.safetensors"
    assert load_policy(tmp_path / "a").iteration == 2
    assert load_policy(str(tmp_path / "b")).iteration == 5
    with pytest.raises(CheckpointError, match=r"2 trials have checkpoints there, and which trial is best they do not"):
        load_policy(tmp_path)
    shutil.rmtree(tmp_path / "a")
    assert load_policy(str(tmp_path)).iteration == 5
    assert load_policy(tune.Checkpoint.from_directory(str(whole.parent))).iteration == 9
    whole.write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"arrays\.safetensors is damaged or incomplete"):
        load_policy(whole.parent)


def test_what_cannot_be_loaded_or_shown_to_a_policy_is_refused_in_one_line(tmp_path):
    with pytest.raises(CheckpointError, match=r"no checkpoint, and no folder of a trial or an experiment with one$"):
        load_policy(tmp_path / "nothing")
    saved(tmp_path / "one", *LEARNERS["two frames"])
    policy = load_policy(tmp_path / "one")
    with pytest.raises(ValueError, match=r"shape \(128,\): accepted is \(210, 160, 3\), as make_env\(\) shows it$"):
        policy.act(np.zeros(128, np.uint8))
    for changes, line in (
        ({"learner": "a2c.A2C"}, r"of the learner 'a2c\.A2C'; accepted are pg, trpo$"),
        ({"learner": "pg", "config": {"hidden_size": 0}}, r"hidden_size=0: accepted is a whole number >= 1$"),
        ({"config": {"hidden_size": 10**9}}, r"theta has the shape \(102424,\), its configuration"),
    ):
        with edited_state(tmp_path / "one") as state:
            state.update(changes)
        with pytest.raises(CheckpointError, match=line):
            load_policy(tmp_path / "one")


@pytest.mark.parametrize("name", ["two frames", "memory"])
def test_a_copy_of_a_policy_plays_another_game_beside_it_with_its_actions_from_the_seed(tmp_path, name):
    saved(tmp_path / "one", *LEARNERS[name])
    policy = load_policy(tmp_path / "one", seed=7)
    alone = played(policy, policy.make_env(), 60)
    for other in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert (other.config, other.iteration) == (policy.config, policy.iteration)
        first, second = other.make_env(), policy.make_env()
        pictures = [first.reset(seed=3)[0], second.reset(seed=3)[0]]
        other.reset()
        policy.reset(seed=7)
        actions = []
        for _ in range(60):  # in turn
            chosen = other.act(pictures[0]), policy.act(pictures[1])
            pictures = [env.step(action)[0] for env, action in zip((first, second), chosen, strict=True)]
            actions.append(chosen)
        assert actions == [(action, action) for action, _ in alone]


def test_all_public_names_are_there_and_to_import_their_package_loads_nothing_heavy():
    assert {getattr(trainables, name).__module__ for name in trainables.__all__ if name != "TRAINED"} > {
        "trainables.policy",
        "trainables.trainable",
    }
    assert {*trainables.__all__} < {*dir(trainables)}, "for completion"
    code = (
        "import sys, trainables; dir(trainables);"
        " sys.exit(bool({'ray', 'numpy', 'numba', 'gymnasium'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
