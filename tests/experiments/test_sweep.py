"""Programs as their users call them: real Pong, real Ray, real event files."""

import json
import re
import shutil
from pathlib import Path

import pytest
from ray.tune import ExperimentAnalysis, Result
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams.backend_context import Context

from experiments.run.after_sweep import show_whether_everything_works
from experiments.run.loggers import LAYOUT, tag
from tests.helpers.programs import SWEEPS, call, done
from tests.helpers.small_experiments import assert_tensorboard_shows, hyperparameters, rows, trial_folders

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module", params=["pg", pytest.param("trpo", marks=pytest.mark.slow)])
def smoke(request, ray_cluster, tmp_path_factory):
    """The folder of a smoke test, and what it prints."""
    folder = tmp_path_factory.mktemp("elsewhere")  # any working directory will do
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, done(SWEEPS[request.param].name, "--smoke-test", "--name", "smoke")


def test_the_smoke_test_runs_two_trials_says_how_to_go_on_and_ends_with_its_answer(smoke):
    folder, output = smoke
    trials = trial_folders(folder / "results" / "smoke")
    assert [len(rows(trial)) for trial in trials] == [2, 2]
    assert "tensorboard --logdir results/smoke" in output
    assert "watch.py results/smoke" in output
    assert "--extend results/smoke --iterations 4 --address auto\n" in output, "there is nothing to resume"
    last = output.splitlines()[-1]
    assert re.fullmatch(r"Everything works: 2 trials played, saved and resumable, in \d+ (s|min)", last)
    assert "Best trial: 0000" in output
    assert f"Checkpoint: results/smoke/{trials[0].name[:4]}" in output
    for trial in trials:
        assert -21 <= rows(trial)[-1]["episode_score"] <= -15, "real Pong, untrained"


def test_not_everything_works_if_the_last_checkpoint_cannot_be_restored(smoke, tmp_path, capsys):
    folder = shutil.copytree(smoke[0] / "results" / "smoke", tmp_path / "smoke")
    assert show_whether_everything_works(folder, 0.0) == 0
    *_, newest = sorted(trial_folders(folder)[0].glob("checkpoint_*"))
    (newest / "arrays.safetensors").write_bytes(b"")
    assert show_whether_everything_works(folder, 0.0) == 1
    assert "1 trial cannot be resumed" in capsys.readouterr().err


def test_tunes_own_reader_of_experiments_finds_the_best_of_ours(smoke):
    """``Result.from_path`` cannot, as docs/library.md says: should it be able to, the page can say less."""
    folder = smoke[0] / "results" / "smoke"
    found = ExperimentAnalysis(str(folder), default_metric="episode_score", default_mode="max")
    best = max(trial_folders(folder), key=lambda trial: rows(trial)[-1]["episode_score"])
    assert Path(found.best_checkpoint.path).parent.name == best.name
    assert found.best_config == json.loads((best / "params.json").read_text())
    assert len(found.dataframe()) == 2
    with pytest.raises(KeyError):
        Result.from_path(str(best))


def test_tensorboards_own_reader_finds_curves_over_steps_hyperparameters_and_pictures(smoke):
    for trial in trial_folders(smoke[0] / "results" / "smoke"):
        events = assert_tensorboard_shows(trial)
        check_curves(events, rows(trial))
        check_hyperparameters(trial)


def check_curves(events, played):
    """Every metric has a point at each row's steps, one of an evaluation at the first; and what is charted is there."""
    steps = [row["timesteps_total"] for row in played]
    there = events.Tags()["scalars"]
    for name in there:
        points = [event.step for event in events.Scalars(name)]
        if name.startswith(("eval/", "intervals/")):
            assert points == steps[:1], name
        else:
            assert points == steps, name
    for name in ("running_reward", "policy/entropy", "eval/return_greedy_mean"):
        assert events.Scalars(tag(name))[0].value == pytest.approx(played[0][name])
    for charts in LAYOUT.values():
        for _, names in charts.values():
            missing = {name.rstrip("$") for name in names} - {*there}
            assert missing <= {"policy/kl"}, "TRPO alone has it"


NEVER_SWEPT = ["num_workers", "cpus_per_worker", "placement", "game_timeout_s", "eval_interval", "eval_games", "seed"]


def check_hyperparameters(trial):
    config = json.loads((trial / "params.json").read_text())
    for name in NEVER_SWEPT:
        del config[name]
    hparams = hyperparameters(trial)
    assert {*hparams} == {*config}
    for name, value in config.items():
        if isinstance(value, str):
            assert hparams[name].string_value == value
        else:
            assert type(value)(hparams[name].number_value) == value


def test_tensorboards_table_of_hyperparameters_begins_with_what_differs_and_the_returns(smoke):
    runs = EventMultiplexer().AddRunsFromDirectory(str(smoke[0] / "results" / "smoke")).Reload()
    board = Context(TBContext(data_provider=MultiplexerDataProvider(runs, "")))
    request = RequestContext()
    shown = board.experiment_from_metadata(request, "", True, board.hparams_metadata(request, ""), [])
    trials = trial_folders(smoke[0] / "results" / "smoke")
    first, second = (json.loads((trial / "params.json").read_text()) for trial in trials)
    different = {name for name in first if first[name] != second[name]} - {"seed"}
    assert different, "the drawn trial is not the baseline"
    assert {info.name for info in shown.hparam_infos[: len(different)]} == different
    columns = [metric.name.tag for metric in shown.metric_infos]
    evaluation = ["eval/episode_len_mean", "eval/iteration", "eval/return_greedy_mean", "eval/return_sampled_mean"]
    assert columns[:5] == ["episode_score", *evaluation], "those that are shown at once"
    assert any(name.startswith("value/explained_variance") for name in columns)


@pytest.mark.slow
def test_train_says_how_it_ended_once_it_is_finished(ray_cluster, tmp_path):
    where = ["--address", "auto", "--storage-path", tmp_path / "store"]
    flags = ["--iterations", 2, "--slots", 0, "--games-per-update", 2, "--hidden-size", 10, "--num-workers", 1]
    status, output, _ = call("train.py", "pg", *flags, "--eval-interval", 0, "--name", "run1", *where)
    assert status == 0
    assert "Best trial: 00000" in output
    assert "Best trial: 00000" in call("train.py", "pg", "--resume", "run1", *where)[1]
