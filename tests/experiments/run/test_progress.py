"""What a terminal shows while a sweep runs."""

import io
import re
import sys
import time

import pytest
from ray.tune.experiment import Trial

from experiments.ask.budget import Budget
from experiments.run.progress import IterationLines, SweepView
from experiments.run.tune_trials import TrialName
from tests.helpers.small_experiments import small_spec
from trainables.config import PGConfig

CONFIG = {"learning_rate": 1.77e-3, "hidden_size": 200, "gamma": 0.99, "num_workers": 2}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def frame(monkeypatch):
    """The lines of the last frame that the view draws of trials on a terminal, without colours."""

    def draw(trials, columns, rows, **budget):
        for name, value in {"TERM": "xterm", "COLUMNS": columns, "LINES": rows}.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setattr(sys, "stdout", Terminal())
        view = SweepView(small_spec("pg", [PGConfig()] * len(trials), **({"iterations": 150} | budget)))
        view.setup()
        view.on_step_end(0, [])  # before the first result
        monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 2)
        view.on_step_end(0, trials)
        view.on_experiment_end(trials)
        *_, last, erased = re.split(r"(?:\x1b\[\d*[AK]|\r)+(?=\S|$|\x1b)", sys.stdout.getvalue())
        assert "00000" not in erased, "the summary takes its place"
        return [line.rstrip() for line in re.sub(r"\x1b\[[\d;?]*\w", "", last).split("\n") if line.strip()]

    return draw


def make_trials(*statuses):
    trials = []
    for index, status in enumerate(statuses):
        trial = Trial("stub", config=CONFIG, trial_id=f"a_{index:05d}", stub=True)
        trial.custom_trial_name = TrialName([*CONFIG], {})(trial)
        trial.set_status(status)
        if status != Trial.PENDING:
            row = {"training_iteration": 100 + index, "episode_reward_mean": -20.5 + index, "perf/steps_per_s": 3000.0}
            trial.run_metadata.last_result = row
        trials.append(trial)
    return trials


def test_one_trial_has_a_line_for_each_iteration_with_the_time_that_is_left(capsys):
    lines = IterationLines(Budget(4))
    for number in (1, 2):
        row = {"training_iteration": number, "timesteps_total": 900 * number, "timesteps_this_iter": 900}
        row |= {"episodes_total": 2 * number, "time_this_iter_s": 40.0, "perf/steps_per_s": 3000.0}
        lines.on_trial_result(number, [], None, row | {"episode_reward_mean": -20.5})
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("3000 steps/s  2 min left")
    assert second == "iteration    2  games     4  last 100: -20.5   40.0 s   3000 steps/s  80 s left"
    assert max(map(len, (first, second))) <= 80


def test_progress_towards_a_budget_of_steps_is_shown_in_steps(frame):
    trials = make_trials(Trial.RUNNING)
    trials[0].run_metadata.last_result["timesteps_total"] = 500_000
    header, line, _ = frame(trials, 120, 24, iterations=None, timesteps=2_000_000)
    assert header.split()[2] == "steps"
    assert "0.50/2 M" in line


@pytest.mark.parametrize("columns", [80, 120])
def test_every_trial_has_a_line_with_its_whole_name(frame, columns):
    header, first, second, third, status = frame(
        make_trials(Trial.TERMINATED, Trial.RUNNING, Trial.PENDING), columns, 24
    )
    assert header.split() == ["trial", "state", "iteration", "return", "in", "10", "it.", "steps/s"]
    assert re.fullmatch(r"00000_lr=1.77e-3_h=200_g=0.99_w=2 +stopped +\S+ +100/150 +-20.5 +3000", first)
    assert re.fullmatch(r"00001_lr=1.77e-3_h=200_g=0.99_w=2 +running +\S+ +101/150 +-19.5 +3000", second)
    assert re.fullmatch(r"00002_lr=1.77e-3_h=200_g=0.99_w=2 +waiting +\S+ +0/150", third)
    assert re.fullmatch(r"\d+ s: 1 running, 1 stopped, 1 waiting \| best -19.5 \(00001\) \| at most .* left", status)
    assert max(map(len, (header, first, status))) <= columns


def test_no_time_is_foretold_before_a_resumed_experiment_has_a_pace(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    trials = make_trials(Trial.RUNNING, Trial.PENDING)
    view = SweepView(small_spec("pg", [PGConfig()] * len(trials), iterations=150))
    view.setup()
    now = 11.0
    view.on_step_end(0, trials)
    assert capsys.readouterr().out.endswith("1 running, 1 waiting | best -20.5 (00000)\n")
    trials[0].run_metadata.last_result["training_iteration"] += 10
    now = 22.0
    view.on_step_end(0, trials)
    assert capsys.readouterr().out.endswith("| at most 7 min left\n"), "22 s for 10 iterations, and 190 to go"


def test_paused_trials_and_lent_workers_of_halving_are_shown(frame):
    trials = make_trials(Trial.RUNNING, Trial.PAUSED, Trial.PAUSED)
    trials[2].run_metadata.last_result = {}
    trials[0].run_metadata.last_result |= {"perf/workers": 4.0}
    header, first, second, third, status = frame(trials, 120, 24, scheduler="halving", rungs=[30, 150])
    assert header.split()[-2:] == ["workers", "steps/s"]
    assert re.search(r"running .* 4 +3000$", first)
    assert " paused " in second
    assert " waiting " in third
    assert ": 1 running, 1 paused, 1 waiting |" in status


def test_of_more_trials_than_lines_those_that_run_failed_or_lead_are_shown(frame):
    statuses = [Trial.TERMINATED] * 20 + [Trial.ERROR] + [Trial.RUNNING] * 2 + [Trial.PENDING] * 20
    _, *lines, more, status, wrapped = frame(make_trials(*statuses), 80, 10)
    assert [line[:5] for line in lines] == ["00018", "00019", "00020", "00021", "00022"]
    assert more == "and 18 stopped, 20 waiting"
    assert wrapped.endswith("left")
    assert ": 2 running, 1 failed, 20 stopped, 20 waiting |" in status
