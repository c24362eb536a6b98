"""watch.py as it is called, on real checkpoints and real games, cut off after 100 steps."""

import re
import sys

import gymnasium
import numpy as np
import pytest
from PIL import Image

from experiments import results, watch
from experiments.read import policies
from experiments.read.policies import CheckpointRef
from experiments.record.spec import create
from tests.helpers.trials import CARTPOLE, arrays_of
from trainables.checkpoints import State
from trainables.config import PGConfig, TRPOConfig
from trainables.metrics import EpisodeStats
from trainables.trainable import PongPG, PongTRPO

pytestmark = pytest.mark.ray  # whole programs, which play for seconds

TRIAL = "00000_h=8"


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    settings = gymnasium.spec("ALE/Pong-v5").kwargs | {"max_num_frames_per_episode": 400}
    gymnasium.register("BriefPong-v0", entry_point="ale_py.env:AtariEnv", kwargs=settings)
    folder = tmp_path_factory.mktemp("storage")
    trials = {
        "pixels": PongPG.untrained(PGConfig(env_id="BriefPong-v0", hidden_size=8)),
        "memory": PongTRPO.untrained(TRPOConfig(env_id="BriefPong-v0", hidden_sizes=(8,))),
        "cartpole": PongTRPO.untrained(TRPOConfig.from_dict(CARTPOLE)),
    }
    for name, learner in trials.items():
        experiment = create(folder / "results", name, learner.learner, {})
        for iteration, mean_return in ((5, -20.0), (10, -12.0), (15, -15.0)):
            learner.iterations, learner.episodes.recent_returns = iteration, [mean_return]
            checkpoint = experiment / TRIAL / f"checkpoint_{iteration // 5:06d}"
            checkpoint.mkdir(parents=True)
            learner.arrays = learner.arrays | {"theta": learner.arrays["theta"] + np.float32(0.01)}
            learner.save_checkpoint(str(checkpoint))
    create(folder / "results", "fresh", "pg", {})
    return folder


@pytest.fixture
def run(storage, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(storage)

    def call(*argv, status=None):
        monkeypatch.setattr(sys, "argv", ["watch.py", *map(str, argv)])
        if status is None:
            watch.main()
        else:
            with pytest.raises(SystemExit) as stop:
                watch.main()
            assert stop.value.code == status
        return capsys.readouterr()

    return call


@pytest.mark.parametrize(
    ("target", "iteration"),
    [
        ("pixels", 10),
        ("memory", 10),
        (f"results/pixels/{TRIAL}", 10),
        (f"results/pixels/{TRIAL}/checkpoint_000003", 15),
    ],
    ids=["experiment", "experiment of TRPO", "trial", "checkpoint"],
)
def test_the_best_or_the_given_checkpoint_plays_and_is_filmed(run, storage, tmp_path, target, iteration):
    before = sorted((storage / "results").rglob("*"))
    output = run(target, "--episodes", 3, "--out", tmp_path / "film.gif").out
    assert f"iteration {iteration}," in output
    assert "BriefPong-v0, sticky actions 0.25, frame skip 4, actions sampled" in output
    returns = [float(text) for text in re.findall(r"return ([+-]\d+) in 100 steps", output)]
    assert len(returns) == 3
    shown = re.search(r"mean return (\S+), 95% interval \[(\S+), (\S+)\] of 3 games", output)
    mean, low, high = map(float, shown.groups())
    assert mean == pytest.approx(np.mean(returns), abs=0.05)
    assert low <= mean <= high
    assert Image.open(tmp_path / "film.gif").n_frames > 40  # of 50 shots; equal ones become one
    assert sorted((storage / "results").rglob("*")) == before, "nothing was written beside the results"


def test_an_interval_ends_where_pongs_returns_do():
    assert watch.score_text([20, 20, 18], pong=True) == "mean return +19.3, 95% interval [16.5, 21.0] of 3 games"
    assert watch.score_text([-21, -21, -20], pong=True) == "mean return -20.7, 95% interval [-21.0, -19.2] of 3 games"
    assert watch.score_text([90, 100], pong=False) == "mean return +95.0, 95% interval [31.5, 158.5] of 2 games"


def test_paths_may_be_absolute_and_the_same_games_are_played_again(run, storage, tmp_path):
    flags = ["--episodes", 2, "--out", tmp_path / "film.gif"]
    by_name, by_path = run("pixels", *flags), run(storage / "results" / "pixels", *flags)
    assert by_name.out == by_path.out
    assert run("pixels", "--seed", 1, *flags).out != by_name.out


@pytest.mark.parametrize("name", ["pixels", "memory"])
def test_an_exported_policy_is_half_as_large_and_plays_the_same_games(
    run, storage, tmp_path, name, monkeypatch, capsys
):
    flags = ["--episodes", 3, "--out", tmp_path / "film.gif"]
    played = run(name, *flags).out.splitlines()[1:]
    monkeypatch.setattr(sys, "argv", ["results.py", "export", name, "--out", str(tmp_path / "policy")])
    results.main()
    assert not capsys.readouterr().err
    assert run(tmp_path / "policy", *flags).out.splitlines()[1:] == played
    origin = next((storage / "results" / name).glob("*/checkpoint_000002"))
    small, whole = (arrays_of(folder) for folder in (tmp_path / "policy", origin))
    assert set(small) < set(whole)
    assert small["theta"].nbytes == whole["theta"].nbytes / 2
    np.testing.assert_allclose(small["theta"], whole["theta"], rtol=1e-3, atol=1e-7)


def test_greedy_play_is_named_and_the_film_goes_to_the_working_directory(run, storage):
    output = run("pixels", "--episodes", 1, "--greedy").out
    assert "most probable actions" in output
    assert "no interval" in output
    assert f"Film of game 1: {TRIAL}-iteration-10.gif" in output
    assert Image.open(storage / f"{TRIAL}-iteration-10.gif").n_frames > 40  # of 50 shots; equal ones become one


def test_the_film_of_the_progress_shows_untrained_first_and_best_side_by_side(run, storage, tmp_path):
    out = tmp_path / "progress.gif"
    run("pixels", "--episodes", 1, "--film", "--out", out)
    image = Image.open(out)
    assert image.size == (3 * 320 + 2 * 8, 48 + 420)
    image.seek(20)
    screens = np.asarray(image.convert("RGB"))[48:]
    court = screens[100, 100]
    for left in (0, 328, 656):
        assert (screens[70:390, left : left + 320] == court).all(axis=-1).mean() > 0.9, "a court, with paddles and ball"


def test_the_film_of_the_progress_showed_iteration_1_and_the_untrained_policy_which_play_alike(tmp_path):
    def checkpoint(iteration, *returns):
        episodes = EpisodeStats(recent_returns=[*returns])
        fields = {"config": {}, "evaluation": {}, "versions": {}}
        return CheckpointRef(tmp_path, State(learner="pg", iteration=iteration, episodes=episodes, **fields))

    scores = {1: -20.0, 10: -7.0, 20: 2.0, 30: 9.0, 40: 11.0, 50: 14.0}
    earlier = [checkpoint(0), *(checkpoint(*item) for item in scores.items())]
    shown = policies.on_the_way(earlier, checkpoint(60, 16.0), 2)
    assert [item.iteration for item in shown] == [10, 20], "a third and two thirds of the climb from -20 to 16"
    assert policies.on_the_way([checkpoint(0)], checkpoint(60, 16.0), 2) == []


def test_an_environment_without_a_console_is_played_but_not_filmed(run):
    output = run("cartpole", "--episodes", 2).out
    assert "CartPole-v1, actions sampled" in output
    assert "No film: CartPole-v1 has no console" in output


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("pixel", "'pixel'; did you mean 'pixels'? Known: cartpole, fresh, memory, pixels"),
        ("results/pixels/00001", f"Known: {TRIAL}"),
        (f"pixels/{TRIAL}/checkpoint_000009", "Known: checkpoint_000001, checkpoint_000002, checkpoint_000003"),
        ("/nowhere/at/all", "Known: cartpole, fresh, memory, pixels"),
        ("fresh", "fresh holds no whole checkpoint (yet)"),
        ("results", "no whole checkpoint; the experiments in it: cartpole, fresh, memory, pixels"),
        ("pixels --episodes 0", "episodes=0: accepted is a number >= 1"),
        ("pixels --out film.png", "accepted is a file name that ends in .gif"),
        ("pixels --out no/film.gif", "there is no folder no"),
        (f"pixels --out results/pixels/{TRIAL}/checkpoint_000001/a.gif", "stays as it was written"),
        ("pixels --gready", "did you mean --greedy?"),
    ],
)
def test_bad_input_is_answered_in_one_line(run, argv, message):
    output = run(*argv.split(), status=2)
    assert message in output.err
    assert output.err.count("\n") == 1


def test_a_damaged_checkpoint_is_answered_in_one_line(run, storage, tmp_path):
    source = storage / "results" / "pixels" / TRIAL / "checkpoint_000001"
    damaged = tmp_path / "checkpoint_000001"
    damaged.mkdir()
    (damaged / "state.json").write_bytes((source / "state.json").read_bytes())
    (damaged / "arrays.safetensors").write_bytes(b"")
    error = run(damaged, status=2).err
    assert "damaged or incomplete" in error
    assert error.count("\n") == 1
