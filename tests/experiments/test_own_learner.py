"""The learner that docs/own_learner.md builds: exactly the file that it prints."""

import os
import re
import signal
import sys

import numpy as np
import pytest

from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import learner_typed
from tests.helpers.programs import ROOT, TRAIN, begin, blocks, call, page, refused, run, write_a2c
from tests.helpers.small_experiments import newest_arrays
from tests.helpers.trials import assert_same, wait_until
from trainables.algorithms.algorithm import Algorithm
from trainables.learning.distributions import Categorical

SWEEP, RESULTS = ROOT / "experiments" / "sweep.py", ROOT / "experiments" / "results.py"


@pytest.fixture
def a2c(tmp_path):
    """The learner, imported."""
    return learner_typed(f"{write_a2c(tmp_path)}:A2C")


def test_the_page_prints_the_file_once_in_at_most_100_lines_and_names_its_parts():
    text, (file,) = page(), blocks()
    assert len(file.splitlines()) <= 100
    explained = re.findall(r"^\d\. \*\*[^`]*(.*?)\*\*", text, re.MULTILINE)
    named = re.findall(r"`(\w+)`", "".join(explained))
    assert len(named) >= 8
    assert all(re.search(rf"(class|def) {name}\b|^{name} = ", file, re.MULTILINE) for name in named)


def test_the_table_has_what_a_learner_must_and_may_have():
    rows = dict(re.findall(r"^\| `(\w+)[^`]*` \| (must|may) \|", page(), re.MULTILINE))
    must = {*Algorithm.__abstractmethods__, "config_class", "__init__"}
    public = {name for name in {*vars(Algorithm), *Algorithm.__annotations__} if not name.startswith("_")}
    set_by_the_trial = {"num_cores", "cores"}
    assert {name for name in rows if rows[name] == "must"} == must
    assert {*rows} - must == public - must - set_by_the_trial


def test_it_learns_from_a_configuration_of_its_own(a2c):
    assert a2c.name == "a2c.A2C"
    config = a2c.config_class.from_dict({"hidden_size": 8, "slots": 3})
    algorithm = a2c.trainable.make_algorithm(config)
    arrays = algorithm.init(np.random.default_rng(0))
    assert arrays["theta"].shape == (algorithm.num_params,)
    assert set(a2c.space.SPACES) == {"default", "smoke"}


def test_a_sweep_of_it_is_planned_under_halving(a2c, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--dry-run", "--sweep", "hidden_size=5..50:log", "--set", "slots=2"]
    status, output, _ = call("sweep.py", "./a2c.py:A2C", *words)
    assert status == 0
    assert "trials begin" in output


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


@pytest.mark.slow
def test_train_kill_resume_sweep_report_and_watch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_a2c(tmp_path)
    run(TRAIN, "a2c:A2C", *SMALL, "--iterations", "8", "--name", "whole", cwd=tmp_path)
    program = begin(TRAIN, "a2c:A2C", *SMALL, "--iterations", "8", "--num-workers", "2", "--name", "cut", cwd=tmp_path)
    cut, whole = tmp_path / "results" / "cut", tmp_path / "results" / "whole"
    wait_until(lambda: program.poll() is not None or [*cut.glob("*/checkpoint_000003")], "no third checkpoint")
    os.killpg(program.pid, signal.SIGKILL)
    assert program.wait() == -signal.SIGKILL, (tmp_path / "log").read_text()
    assert "is an experiment of 'a2c.A2C', not of 'pg'" in refused("train.py", "pg", "--resume", "cut")
    with (tmp_path / "a2c.py").open("a") as file:
        file.write("# another file, the same learner\n")
    run(TRAIN, "./a2c.py:A2C", "--resume", "cut", cwd=tmp_path)
    assert_same(*(newest_arrays(next(folder.glob("0*"))) for folder in (whole, cut)))
    before, now = ExperimentSpec.read(cut).learner_sha256
    assert ExperimentSpec.read(whole).learner_sha256 == [before]

    flags = ("--smoke-test", "--set", "hidden_size=8", "--set", "eval_interval=0", "--name", "swept")
    printed = run(SWEEP, "a2c:A2C", *flags, cwd=tmp_path)
    assert "sweep.py a2c:A2C --extend results/swept" in printed
    verified = run(RESULTS, "verify", "whole", "--iterations", "0", "--learner", "a2c:A2C", cwd=tmp_path)
    assert "bit for bit" in verified

    (tmp_path / "a2c.py").unlink()  # what follows reads results, and imports nothing
    assert "a2c.A2C" in call("results.py", "list")[1]
    assert call("results.py", "report", "swept", "cut")[0] == 0
    assert f"{before}, then {now}" in (tmp_path / "results" / "swept" / "report.md").read_text()
    assert "config/hidden_size" in call("results.py", "table", "swept")[1]
    assert "--learner a2c:A2C imports it" in refused("results.py", "best", "swept")
    write_a2c(tmp_path)
    for command, said in (("best", "train.py a2c:A2C"), ("export", "--learner a2c:A2C")):
        assert said in call("results.py", command, "swept", "--learner", "a2c:A2C")[1]
    assert call("watch.py", "results/swept/policy", "--learner", "./a2c.py:A2C", "--episodes", "1")[0] == 0
    assert (tmp_path / "results" / "swept" / "policy-iteration-2.gif").is_file()
