"""The sweep as its users run it: a program, real Pong, real Ray, real event files, kill and resume."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

ROOT = Path(__file__).parents[2]
SWEEPS = {learner: ROOT / "experiments" / f"sweep_{name}.py" for learner, name in (("pg", "pong"), ("trpo", "trpo"))}
TRAIN = ROOT / "experiments" / "train.py"


def command(program, *flags):
    return [sys.executable, str(program), *map(str, flags)]


def run(program, *flags, cwd, status=0):
    done = subprocess.run(command(program, *flags), cwd=cwd, capture_output=True, text=True, timeout=200)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def rows(trial):
    return [json.loads(line) for line in (trial / "result.json").read_text().splitlines()]


def trials_of(experiment):
    return sorted(path for path in experiment.iterdir() if path.is_dir() and path.name[:5].isdigit())


@pytest.fixture(scope="module", params=SWEEPS)
def smoke(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")  # any working directory will do
    return folder, run(SWEEPS[request.param], "--smoke-test", "--name", "smoke", cwd=folder)


def test_the_smoke_test_runs_two_trials_and_says_how_to_go_on(smoke):
    folder, output = smoke
    trials = trials_of(folder / "results" / "smoke")
    assert [len(rows(trial)) for trial in trials] == [2, 2]
    assert "tensorboard --logdir results/smoke" in output
    assert "--resume results/smoke" in output
    assert "Best trial: 0000" in output
    assert f"Checkpoint: results/smoke/{trials[0].name[:4]}" in output
    for trial in trials:
        assert -21 <= rows(trial)[-1]["episode_reward_mean"] <= -15, "real Pong, untrained"


def test_tensorboards_own_reader_finds_curves_over_steps_and_hyperparameters(smoke):
    for trial in trials_of(smoke[0] / "results" / "smoke"):
        events = EventAccumulator(str(trial)).Reload()
        tags = events.Tags()["scalars"]
        assert {"episode_reward_mean", "policy/gradient_norm", "perf/steps_per_s"} <= set(tags)
        for tag in tags:
            assert [event.step for event in events.Scalars(tag)] == [row["timesteps_total"] for row in rows(trial)]
        content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
        hparams = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
        config = json.loads((trial / "params.json").read_text())
        assert len(config) > 10
        for name, value in config.items():
            shown = hparams[name]
            assert value == (shown.string_value if isinstance(value, str) else type(value)(shown.number_value)), name


def test_train_prints_a_line_per_update(tmp_path):
    flags = ["--iterations", 2, "--batch-size", 2, "--hidden-size", 10, "--num-workers", 2, "--cpus-per-worker", 0.5]
    output = run(TRAIN, "pg", *flags, "--name", "run1", "--storage-path", tmp_path / "store", cwd=tmp_path)
    lines = [line for line in output.splitlines() if line.startswith("update ")]
    assert len(lines) == 2
    assert "games     4" in lines[1]
    assert "running mean" in lines[1]
    # A finished experiment has nothing left to do, and says again how it ended.
    output = run(TRAIN, "pg", "--resume", "run1", "--storage-path", tmp_path / "store", cwd=ROOT)
    assert "Best trial: 00000" in output
