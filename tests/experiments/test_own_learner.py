"""The learner that docs/own_learner.md builds: exactly the file that it prints."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from experiments.plan.learners import learner_typed
from experiments.run import sweep
from tests.helpers.programs import ROOT, TRAIN, begin, blocks, command, run, write_a2c
from trainables import checkpoints
from trainables.learning.distributions import Categorical

SWEEP, RESULTS, WATCH = (ROOT / "experiments" / name for name in ("sweep.py", "results.py", "watch.py"))


@pytest.fixture
def a2c(tmp_path):
    """The learner, imported."""
    return learner_typed(f"{write_a2c(tmp_path)}:A2C")


def test_the_file_has_at_most_100_lines_and_its_parts_stand_in_it():
    *parts, file = blocks()
    assert len(file.splitlines()) <= 100
    assert len(parts) >= 5
    assert all(part in file for part in parts)


def test_it_learns_from_a_configuration_of_its_own(a2c):
    assert a2c.name == "a2c.A2C"
    config = a2c.config_class.from_dict({"hidden_size": 8, "slots": 3})
    algorithm = a2c.trainable.make_algorithm(config)
    arrays = algorithm.init(np.random.default_rng(0))
    assert arrays["theta"].shape == (algorithm.num_params,)
    assert set(a2c.space.SPACES) == {"default", "smoke"}


def test_a_sweep_of_it_under_halving_ended_in_a_traceback(a2c, tmp_path, monkeypatch, capsys):
    """Games are measured once for each learner, and this one could not be told from another."""
    monkeypatch.chdir(tmp_path)
    words = ["--dry-run", "--sweep", "hidden_size=5..50:log", "--set", "slots=2"]
    monkeypatch.setattr(sys, "argv", ["sweep.py", "./a2c.py:A2C", *words])
    with pytest.raises(SystemExit) as stop:
        sweep.main(a2c, "", words)
    assert stop.value.code == 0
    assert "trials begin" in capsys.readouterr().out


def test_its_gradient_is_that_of_its_objective(a2c):
    rng, module = np.random.default_rng(0), sys.modules["a2c"]
    out_nk, action_n = rng.standard_normal((7, 4)), rng.integers(0, 3, 7)
    adv_n, return_n, bonus = rng.standard_normal(7), rng.standard_normal(7), 0.3

    def objective(out_nk):
        logit_nk, value_n = out_nk[:, :-1], out_nk[:, -1]
        gain_n = adv_n * Categorical.log_prob(logit_nk, action_n) + bonus * Categorical.entropy(logit_nk)
        return np.mean(gain_n - module.VALUE_WEIGHT * (return_n - value_n) ** 2 / 2)

    expected_nk, epsilon = np.zeros_like(out_nk), 1e-6
    for index in np.ndindex(out_nk.shape):
        step_nk = np.zeros_like(out_nk)
        step_nk[index] = epsilon
        expected_nk[index] = (objective(out_nk + step_nk) - objective(out_nk - step_nk)) / (2 * epsilon)
    found_nk = module.objective_slope(out_nk, action_n, adv_n, return_n, bonus)
    np.testing.assert_allclose(found_nk, expected_nk, atol=1e-8)


SMALL = ("--preset", "smoke", "--hidden-size", "8", "--eval-interval", "0", "--checkpoint-frequency", "1")
KILLED_AFTER = 3


def last_arrays(experiment):
    arrays, _ = checkpoints.load(max(experiment.glob("*/checkpoint_*")), "a2c.A2C")
    return arrays


@pytest.mark.slow
def test_train_kill_resume_sweep_report_and_watch(tmp_path):
    write_a2c(tmp_path)
    run(TRAIN, "a2c:A2C", *SMALL, "--iterations", "8", "--name", "whole", cwd=tmp_path)
    program = begin(TRAIN, "a2c:A2C", *SMALL, "--iterations", "8", "--num-workers", "2", "--name", "cut", cwd=tmp_path)
    cut = tmp_path / "results" / "cut"
    while not [*cut.glob(f"*/checkpoint_{KILLED_AFTER:06d}")]:
        assert program.poll() is None, (tmp_path / "log").read_text()
        time.sleep(0.05)
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()
    complaint = refused(TRAIN, "pg", "--resume", "cut", cwd=tmp_path)
    assert "is an experiment of 'a2c.A2C', not of 'pg'" in complaint
    with (tmp_path / "a2c.py").open("a") as file:
        file.write("# another file, the same learner\n")
    run(TRAIN, "./a2c.py:A2C", "--resume", "cut", cwd=tmp_path)
    whole, again = last_arrays(tmp_path / "results" / "whole"), last_arrays(cut)
    assert whole.keys() == again.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)
    assert (cut / "learner-2.py").read_text().startswith((cut / "learner-1.py").read_text())
    assert len(json.loads((cut / "experiment.json").read_text())["learner_sha256"]) == 2

    flags = ("--smoke-test", "--set", "hidden_size=8", "--set", "eval_interval=0", "--name", "swept")
    printed = run(SWEEP, "a2c:A2C", *flags, cwd=tmp_path)
    assert "learner-1.py" not in printed
    assert "sweep.py a2c:A2C --extend results/swept" in printed
    verified = run(RESULTS, "verify", "whole", "--iterations", "0", "--learner", "a2c:A2C", cwd=tmp_path)
    assert "bit for bit" in verified

    (tmp_path / "a2c.py").unlink()  # what follows reads results, and imports nothing
    assert "a2c.A2C" in run(RESULTS, "list", cwd=tmp_path)
    run(RESULTS, "report", "swept", "cut", cwd=tmp_path)
    assert "learner-2.py" in (tmp_path / "results" / "swept" / "report.md").read_text()
    assert "config/hidden_size" in run(RESULTS, "table", "swept", cwd=tmp_path)
    complaint = refused(RESULTS, "best", "swept", cwd=tmp_path)
    assert "--learner a2c:A2C imports it" in complaint
    write_a2c(tmp_path)
    assert "train.py a2c:A2C" in run(RESULTS, "best", "swept", "--learner", "a2c:A2C", cwd=tmp_path)
    assert "--learner a2c:A2C" in run(RESULTS, "export", "swept", "--learner", "a2c:A2C", cwd=tmp_path)
    run(WATCH, "policy", "--learner", "./a2c.py:A2C", "--episodes", "1", cwd=tmp_path)
    assert (tmp_path / "policy-iteration-2.gif").is_file()


def refused(program, *flags, cwd):
    """The one line with which a program refuses to start."""
    done = subprocess.run(command(program, *flags), cwd=cwd, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1
    return done.stderr
