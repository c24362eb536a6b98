"""watch.py as it is called: on the policies that come along, and on checkpoints in games cut off after 100 steps."""

import re
import shutil

import gymnasium
import numpy as np
import pytest
from PIL import Image

from experiments.disk import saved_policies
from experiments.show.watched import score_text
from tests.helpers.programs import call, refused
from tests.helpers.trials import CARTPOLE, arrays_of
from tests.helpers.written_experiments import write_experiment, write_policies
from trainables.checkpoints import ARRAYS, State
from trainables.metrics import EpisodeStats
from trainables.saved import Checkpoint

pytestmark = pytest.mark.ray  # whole programs, which play for seconds

EXPERIMENTS = {
    "pixels": ("pg", {"env_id": "BriefPong-v0", "hidden_size": 8}),
    "memory": ("trpo", {"env_id": "BriefPong-v0", "hidden_sizes": "8"}),
    "cartpole": ("trpo", CARTPOLE | {"hidden_sizes": "8", "seed": 0}),
}
TRIAL = "00000_seed=0"


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    settings = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 400}
    gymnasium.register("BriefPong-v0", entry_point="ale_py.env:AtariEnv", kwargs=settings)
    folder = tmp_path_factory.mktemp("storage")
    for name, (learner, config) in EXPERIMENTS.items():
        experiment = write_experiment(folder / "results", name, learner, [(config, [-20.0], "running")])
        write_policies(experiment / TRIAL, learner, {5: -20, 10: -12, 15: -15})
    write_experiment(folder / "results", "fresh", "pg", [({}, [-20.0], "running")])
    return folder


@pytest.fixture
def play(storage, monkeypatch):
    monkeypatch.chdir(storage)

    def watched(*words):
        status, output, complaint = call("watch.py", *words)
        assert (status, complaint) == (0, "")
        return output

    return watched


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["pg", "trpo"])
def test_the_policies_that_come_along_win(learner, play, tmp_path):
    output = play(f"trained/{learner}", "--episodes", 1, "--out", tmp_path / "film.gif")
    assert float(re.search(r"return (\S+) in", output)[1]) >= 10
    assert (tmp_path / "film.gif").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["pixels", "memory"])
def test_the_best_checkpoint_plays_and_is_filmed(name, play, storage, tmp_path):
    before = sorted((storage / "results").rglob("*"))
    output = play(name, "--episodes", 3, "--out", tmp_path / "film.gif")
    assert "iteration 10," in output
    assert "BriefPong-v0, sticky actions 0.25, frame skip 4, actions sampled" in output
    returns = [float(text) for text in re.findall(r"return ([+-]\d+) in 100 steps", output)]
    assert len(returns) == 3
    shown = re.search(r"mean return (\S+) \((\S+) to (\S+)\), 95% interval of 3 games", output)
    mean, low, high = map(float, shown.groups())
    assert mean == pytest.approx(np.mean(returns), abs=0.05)
    assert low <= mean <= high
    assert Image.open(tmp_path / "film.gif").n_frames > 40  # of 50 shots; equal ones become one
    assert sorted((storage / "results").rglob("*")) == before, "nothing is written beside the results"


def test_paths_and_names_play_the_same_games_that_the_seed_decides(play, storage, tmp_path):
    flags = ["--episodes", 2, "--out", tmp_path / "film.gif"]
    trial = f"results/pixels/{TRIAL}"
    outputs = [play(where, *flags) for where in ("pixels", storage / trial, f"{trial}/checkpoint_000010")]
    assert outputs[0] == outputs[1] == outputs[2]
    assert "iteration 15," in play(f"{trial}/checkpoint_000015", *flags)
    assert play("pixels", "--seed", 1, *flags) != outputs[0]


@pytest.mark.parametrize("name", ["pixels", "memory"])
def test_an_exported_policy_is_half_as_large_and_plays_the_same_games(name, play, storage, tmp_path):
    flags = ["--episodes", 3, "--out", tmp_path / "film.gif"]
    played = play(name, *flags).splitlines()[1:]
    assert call("results.py", "export", name, "--out", tmp_path / "policy")[0] == 0
    assert play(tmp_path / "policy", *flags).splitlines()[1:] == played
    small, whole = (
        arrays_of(folder) for folder in (tmp_path / "policy", storage / "results" / name / TRIAL / "checkpoint_000010")
    )
    assert set(small) < set(whole)
    assert small["theta"].nbytes == whole["theta"].nbytes / 2
    np.testing.assert_allclose(small["theta"], whole["theta"], rtol=1e-3, atol=1e-7)


def test_greedy_play_is_named_and_the_film_goes_into_the_experiment(play, storage):
    output = play("pixels", "--episodes", 1, "--greedy")
    assert "most probable actions" in output
    assert "no interval" in output
    assert f"Film of game 1: results/pixels/{TRIAL}-iteration-10.gif" in output
    film = storage / "results" / "pixels" / f"{TRIAL}-iteration-10.gif"
    assert Image.open(film).n_frames > 40
    film.unlink()


def test_the_film_of_the_progress_shows_untrained_first_and_best_side_by_side(play, tmp_path):
    play("pixels", "--episodes", 1, "--film", "--out", tmp_path / "progress.gif")
    image = Image.open(tmp_path / "progress.gif")
    assert image.size == (3 * 320 + 2 * 8, 48 + 420)
    image.seek(20)
    screens = np.asarray(image.convert("RGB"))[48:]
    for left in (0, 328, 656):
        court = screens[70:390, left : left + 320] == screens[100, 100]
        assert court.all(axis=-1).mean() > 0.9, "a court, with paddles and ball"


def test_the_film_of_the_progress_shows_checkpoints_on_the_way_from_the_first_score_to_the_best(tmp_path):
    def checkpoint(iteration, *returns):
        episodes = EpisodeStats(recent_returns=[*returns])
        fields = {"config": {}, "evaluation": {}, "versions": {}}
        state = State(learner="pg", iteration=iteration, episodes=episodes, **fields)
        return Checkpoint(tmp_path, lambda folder: state)

    scores = {1: -20.0, 10: -7.0, 20: 2.0, 30: 9.0, 40: 11.0, 50: 14.0}
    earlier = [checkpoint(0), *(checkpoint(*item) for item in scores.items())]
    shown = saved_policies.on_the_way(earlier, checkpoint(60, 16.0), 2)
    assert [item.iteration for item in shown] == [10, 20], "a third and two thirds of the climb from -20 to 16"
    assert saved_policies.on_the_way([checkpoint(0)], checkpoint(60, 16.0), 2) == []


def test_an_environment_without_a_console_is_played_but_not_filmed(play):
    output = play("cartpole", "--episodes", 2)
    assert "CartPole-v1, actions sampled" in output
    assert "No film: CartPole-v1 has no console" in output


def test_a_mean_return_is_said_with_its_interval():
    assert score_text([20, 20, 18], pong=True) == "mean return +19.3 (16.5 to 21.0), 95% interval of 3 games"


def test_bad_input_is_answered_in_one_line(storage, tmp_path, monkeypatch):
    monkeypatch.chdir(storage)
    shutil.copytree(storage / "results" / "pixels" / TRIAL / "checkpoint_000010", tmp_path / "cut")
    (tmp_path / "cut" / ARRAYS).write_bytes(b"")
    for words, answer in {
        "pixel": "'pixel'; did you mean 'pixels'? Known: cartpole, fresh, memory, pixels",
        "results/pixels/00001": f"Known: {TRIAL}",
        f"pixels/{TRIAL}/checkpoint_000009": "Known: checkpoint_000005, checkpoint_000010, checkpoint_000015",
        "/nowhere/at/all": "Known: cartpole, fresh, memory, pixels",
        "fresh": "fresh holds no whole checkpoint (yet)",
        "results": "no whole checkpoint; the experiments in it: cartpole, fresh, memory, pixels",
        f"{tmp_path}/cut": "damaged or incomplete",
        "pixels --episodes 0": "episodes=0: accepted is a whole number >= 1",
        "pixels --out film.png": "accepted is a file name that ends in .gif",
        "pixels --out no/film.gif": "there is no folder no",
        f"pixels --out results/pixels/{TRIAL}/checkpoint_000010/a.gif": "stays as it was written",
        "pixels --gready": "did you mean --greedy?",
    }.items():
        assert answer in refused("watch.py", *words.split()), words
