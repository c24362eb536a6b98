"""The sweep as its users run it: a program, real Pong, real Ray, real event files, kill and resume."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from experiments.common.tensorboard import LAYOUT, tag

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
    return sorted(path for path in experiment.glob("[0-9]*") if path.is_dir())


def last_checkpoint(trial):
    states = {path.parent: json.loads(path.read_text())["iteration"] for path in trial.glob("checkpoint_*/state.json")}
    newest = max(states, key=states.get)
    return states[newest], dict(np.load(newest / "arrays.npz"))


@pytest.fixture(scope="module", params=SWEEPS)
def smoke(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")  # any working directory will do
    return folder, run(SWEEPS[request.param], "--smoke-test", "--name", "smoke", cwd=folder)


def test_the_smoke_test_runs_two_trials_and_says_how_to_go_on(smoke):
    folder, output = smoke
    trials = trials_of(folder / "results" / "smoke")
    assert [len(rows(trial)) for trial in trials] == [2, 2]
    assert "tensorboard --logdir results/smoke" in output
    assert "watch.py results/smoke" in output
    assert "--resume results/smoke" in output
    assert "Best trial: 0000" in output
    assert f"Checkpoint: results/smoke/{trials[0].name[:4]}" in output
    for trial in trials:
        assert -21 <= rows(trial)[-1]["episode_reward_mean"] <= -15, "real Pong, untrained"


def assert_tensorboard_shows(trial):
    """What its own reader finds in the event files of a trial that had its first evaluation, running or ended."""
    events = EventAccumulator(str(trial)).Reload()
    learner = "pg" if "learning_rate" in json.loads((trial / "params.json").read_text()) else "trpo"
    tags = set(events.Tags()["scalars"])
    families = {"episode_reward_mean", "episode", "policy", "perf", "eval"} | (
        {"baseline"} if learner == "trpo" else set()
    )
    assert {tag.split("/")[0] for tag in tags} == families
    assert "policy/entropy" in tags, "of both learners"
    assert "custom_scalars__config__" in events.Tags()["tensors"]
    game = events.Images("eval/game")[0]
    assert game.step == events.Scalars("eval/return_sampled_mean")[0].step > 0
    assert Image.open(io.BytesIO(game.encoded_image_string)).n_frames > 1
    if learner == "pg":
        assert Image.open(io.BytesIO(events.Images("policy/neurons")[0].encoded_image_string)).format == "PNG"
    return events


def test_tensorboards_own_reader_finds_curves_over_steps_hyperparameters_and_pictures(smoke):
    for trial in trials_of(smoke[0] / "results" / "smoke"):
        events = assert_tensorboard_shows(trial)
        steps = [row["timesteps_total"] for row in rows(trial)]
        for name in events.Tags()["scalars"]:
            evaluated = name.startswith("eval/")
            assert [event.step for event in events.Scalars(name)] == (steps[:1] if evaluated else steps), name
        for name in ("running_reward", "policy/entropy", "eval/return_greedy_mean"):
            shown = events.Scalars(tag(name))[0].value
            assert shown == pytest.approx(rows(trial)[0][name])
        charted = [chart[1] for charts in LAYOUT.values() for chart in charts.values()]
        missing = {name.rstrip("$") for names in charted for name in names} - set(events.Tags()["scalars"])
        assert missing <= {"policy/kl"}, "TRPO alone has it"
        content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
        hparams = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
        config = json.loads((trial / "params.json").read_text())
        assert len(config) > 10
        for name, value in config.items():
            shown = hparams[name]
            assert value == (shown.string_value if isinstance(value, str) else type(value)(shown.number_value)), name


KILLED = {
    "pg": ["--batch-size", 2, "--set", "hidden_size=10", "--set", "eval_games=2"],
    "trpo": ["--batch-size", 2000, "--set", "hidden_sizes=10-10", "--set", "eval_games=2"],
}


@pytest.mark.parametrize("learner", ["pg", pytest.param("trpo", marks=pytest.mark.slow)])
def test_a_sweep_killed_with_sigkill_resumes_to_the_same_theta_bit_for_bit(learner, tmp_path):
    sweep = SWEEPS[learner]
    flags = ["--scheduler", "fifo", "--num-samples", 2, "--iterations", 5, "--checkpoint-frequency", 1]
    flags += ["--num-workers", 1, *KILLED[learner]]
    run(sweep, *flags, "--name", "undisturbed", cwd=tmp_path)

    with (tmp_path / "log").open("w") as log:
        program = subprocess.Popen(
            command(sweep, *flags, "--name", "killed"), cwd=tmp_path, stdout=log, stderr=log, start_new_session=True
        )
        killed = tmp_path / "results" / "killed"
        deadline = time.monotonic() + 120
        while len(list(killed.glob("*/checkpoint_*/state.json"))) < 2:
            assert program.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(program.pid, signal.SIGKILL)
        program.wait()
    assert not all(last_checkpoint(trial)[0] == 5 for trial in trials_of(killed) if list(trial.glob("*/state.json")))

    run(sweep, "--resume", "killed", cwd=tmp_path)
    for left, right in zip(trials_of(killed), trials_of(tmp_path / "results" / "undisturbed"), strict=True):
        (iteration, arrays), (expected_iteration, expected) = last_checkpoint(left), last_checkpoint(right)
        assert iteration == expected_iteration == 5
        assert arrays.keys() == expected.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
        assert {row["training_iteration"] for row in rows(left)} == {1, 2, 3, 4, 5}


PICTURES = {"pg": {"eval/game", "policy/neurons"}, "trpo": {"eval/game"}}


@pytest.mark.slow
@pytest.mark.parametrize("learner", SWEEPS)
def test_tensorboard_shows_a_running_and_a_killed_sweep_too(learner, tmp_path):
    flags = ["--scheduler", "fifo", "--num-samples", 2, "--iterations", 500, "--num-workers", 1, *KILLED[learner]]
    with (tmp_path / "log").open("w") as log:
        sweep = command(SWEEPS[learner], *flags, "--name", "live")
        program = subprocess.Popen(sweep, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
        try:
            live, deadline = tmp_path / "results" / "live", time.monotonic() + 120
            while len(trials := trials_of(live)) < 2 or not all(images(trial) == PICTURES[learner] for trial in trials):
                assert program.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.2)
            for trial in trials:
                assert_tensorboard_shows(trial)
            assert program.poll() is None, "it still runs"
        finally:
            os.kill(program.pid, signal.SIGKILL)
            program.wait()
    for trial in trials:
        assert_tensorboard_shows(trial)


def images(trial):
    return set(EventAccumulator(str(trial)).Reload().Tags()["images"])


def test_train_prints_a_line_per_update(tmp_path):
    flags = ["--iterations", 2, "--batch-size", 2, "--hidden-size", 10, "--num-workers", 2, "--cpus-per-worker", 0.5]
    flags += ["--eval-interval", 0]
    output = run(TRAIN, "pg", *flags, "--name", "run1", "--storage-path", tmp_path / "store", cwd=tmp_path)
    lines = [line for line in output.splitlines() if line.startswith("update ")]
    assert len(lines) == 2
    assert "games     4" in lines[1]
    assert "running mean" in lines[1]
    # A finished experiment has nothing left to do, and says again how it ended.
    output = run(TRAIN, "pg", "--resume", "run1", "--storage-path", tmp_path / "store", cwd=ROOT)
    assert "Best trial: 00000" in output
