"""What a terminal shows while an experiment runs."""

import io
import os
import re
import sys
import time

import pytest
from ray.tune.experiment import Trial

from experiments.run.progress import Progress
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
        view = Progress(small_spec("pg", [PGConfig()] * len(trials), **({"iterations": 150} | budget)))
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
            row = {"training_iteration": 100 + index, "episode_score": -20.5 + index, "perf/steps_per_s": 3000.0}
            trial.run_metadata.last_result = row | {"time_this_iter_s": 2.0}
        trials.append(trial)
    return trials


def test_one_trial_has_the_same_clock_with_its_score_and_steps(frame):
    trials = make_trials(Trial.RUNNING)
    trials[0].run_metadata.last_result |= {"timesteps_total": 500_000, "timesteps_this_iter": 5000}
    trials[0].run_metadata.last_result |= {"time_this_iter_s": 2.0}
    header, line, status = frame(trials, 80, 24, iterations=None, timesteps=2_000_000)
    assert header.split() == ["trial", "state", "score", "steps", "left", "steps/s"]
    assert re.fullmatch(r"00000 +running +-20.5 +500,000/2,000,000 +\S+ +10 min +3,000", line)
    assert re.fullmatch(r"\d+ s: 1 running \| score -20.5, 500,000 steps \| about 10 min left", status)


@pytest.mark.parametrize(("columns", "missing"), [(120, []), (80, []), (77, ["steps/s"]), (60, ["steps/s"])])
def test_every_trial_has_a_line_that_fits_and_where_room_lacks_the_speed_goes_first(frame, columns, missing):
    trials = make_trials(Trial.TERMINATED, Trial.RUNNING, Trial.PENDING)
    header, first, second, third, *status = frame(trials, columns, 24)
    name, speed = ("_lr=1.77e-3_h=200_g=0.99_w=2" if columns == 120 else ""), ("" if missing else " +3,000")
    expected = ["trial", "state", "score", "iterations", "left", "steps/s"]
    assert header.split() == [title for title in expected if title not in missing]
    assert re.fullmatch(rf"00000{name} +stopped +-20.5 +100{speed}", first)
    assert re.fullmatch(rf"00001{name} +running +-19.5 +101/150( +━\S*━)? +98 s{speed}", second)
    assert ("━" in second) == (columns > 60)
    assert re.fullmatch(rf"00002{name} +waiting +0/150( +━+)?", third)
    assert re.fullmatch(
        r"\d+ s: 1 running, 1 stopped, 1 waiting \| best -19.5 \(00001\) \| about .* left", " ".join(status)
    )
    assert max(map(len, (header, first, second, third))) <= columns


def test_a_window_that_is_made_narrower_keeps_no_line_of_the_wider_table(monkeypatch):
    columns = 120
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((columns, 24)))
    trials = make_trials(*[Trial.RUNNING] * 4)
    view = Progress(small_spec("pg", [PGConfig()] * 4, iterations=150))
    view.setup()
    view.on_step_end(0, trials)
    wide = [len(line) for line in re.sub(r"\x1b\[[\d;?]*\w|\r", "", sys.stdout.getvalue()).strip().split("\n")]
    before = len(sys.stdout.getvalue())
    columns = 60
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 2)
    view.on_step_end(0, trials)
    wrapped = sum(-(-length // 60) for length in wide)  # as a terminal wraps them
    assert sys.stdout.getvalue()[before:].count("\x1b[1A") == wrapped - 1
    view.on_experiment_end(trials)


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "dumb")
    trials = make_trials(Trial.RUNNING)
    view = Progress(small_spec("pg", [PGConfig()], iterations=150))
    view.setup()
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 11)
    view.on_step_end(0, trials)
    view.on_experiment_end(trials)
    assert re.fullmatch(r"\d+ s: 1 running \| score -20.5, 100 iterations[^\x1b]*\n", sys.stdout.getvalue())


def test_before_a_game_has_ended_no_return_is_shown(frame):
    trials = make_trials(Trial.RUNNING, Trial.RUNNING)
    trials[0].run_metadata.last_result |= {"episode_score": -21.0, "episodes_total": 0}
    _, first, second, status = frame(trials, 80, 24)
    assert "-21.0" not in first
    assert " -19.5 " in second
    assert "best -19.5 (00001)" in status
    trials[1].run_metadata.last_result |= {"episodes_total": 0}
    assert "best" not in frame(trials, 80, 24)[-1]


def test_before_the_first_result_the_plan_says_how_long_it_takes(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    trials = make_trials(Trial.PENDING, Trial.PENDING)
    view = Progress(small_spec("pg", [PGConfig()] * len(trials), iterations=150), planned_s=900.0)
    view.setup()
    now = 60.0
    view.on_step_end(0, trials)
    assert capsys.readouterr().out == "1 min 00 s: 2 waiting | 15 min by the plan\n", "nothing of it has been played"


def test_the_first_iteration_which_begins_with_the_start_of_processes_foretells_no_time(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    trials = make_trials(Trial.RUNNING)
    view = Progress(small_spec("pg", [PGConfig()], iterations=102), planned_s=900.0)
    view.setup()
    view.on_step_end(0, make_trials(Trial.PENDING))
    for since_start, seconds, left in ((1, 35.0, "15 min by the plan"), (2, 2.0, "about 4 s left")):
        now += 11.0
        result = {"iterations_since_restore": since_start, "time_this_iter_s": seconds}
        trials[0].run_metadata.last_result |= result
        view.on_step_end(0, trials)
        assert capsys.readouterr().out.endswith(f"| {left}\n")


def test_an_iteration_with_an_evaluation_changes_the_time_left_by_its_share_of_them_all(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    (trial,) = make_trials(Trial.RUNNING)
    view = Progress(small_spec("pg", [PGConfig()], iterations=120))
    view.setup()
    view.on_step_end(0, make_trials(Trial.PENDING))
    for number in range(1, 22):
        now += 11.0
        seconds = 42.0 if number == 20 else 2.0
        trial.run_metadata.last_result |= {"training_iteration": number, "time_this_iter_s": seconds}
        view.on_step_end(0, [trial])
    *_, before, with_it, after = capsys.readouterr().out.splitlines()
    assert before.endswith("| about 3 min left"), "19 of 2 s, and 101 to go"
    assert with_it.endswith("| about 7 min left"), "20 of 4 s in the mean, and 100 to go"
    assert after.endswith("| about 7 min left")


def test_no_time_is_foretold_before_a_resumed_experiment_has_a_pace(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    trials = make_trials(Trial.RUNNING, Trial.PENDING)
    view = Progress(small_spec("pg", [PGConfig()] * len(trials), iterations=150))
    view.setup()
    now = 11.0
    view.on_step_end(0, trials)
    assert capsys.readouterr().out.endswith("1 running, 1 waiting | best -20.5 (00000)\n")
    trials[0].run_metadata.last_result |= {"training_iteration": 110, "time_this_iter_s": 2.2}
    now = 22.0
    view.on_step_end(0, trials)
    assert capsys.readouterr().out.endswith("| about 7 min left\n"), "2.2 s for an iteration, and 190 to go"


def test_the_time_left_is_that_of_the_trials_that_still_run_and_then_of_those_that_wait(monkeypatch, capsys):
    """Of three trials that had two cores two are done: the third one plays on alone, no faster than before."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    view = Progress(small_spec("pg", [PGConfig()] * 3, iterations=150))
    view.setup()
    view.on_step_end(0, make_trials(*[Trial.PENDING] * 3))
    plays, ended = ({"training_iteration": done, "time_this_iter_s": 6.0} for done in (50, 150))
    for statuses, results, left in (
        ([Trial.TERMINATED, Trial.TERMINATED, Trial.RUNNING], [ended, ended, plays], "about 10 min left"),
        ([Trial.RUNNING, Trial.RUNNING, Trial.PENDING], [plays, plays, {}], "about 25 min left"),
        ([Trial.TERMINATED, Trial.TERMINATED, Trial.PENDING], [ended, ended, {}], "about 15 min left"),
        ([Trial.TERMINATED, Trial.TERMINATED, Trial.RUNNING], [ended, ended, {}], "about 15 min left"),
    ):
        now += 900.0
        trials = make_trials(*statuses)
        for trial, result in zip(trials, results, strict=True):
            trial.run_metadata.last_result = result
        view.on_step_end(0, trials)
        assert capsys.readouterr().out.endswith(f"{left}\n")


def test_paused_trials_and_lent_workers_of_halving_are_shown(frame):
    trials = make_trials(Trial.RUNNING, Trial.PAUSED, Trial.PAUSED)
    trials[2].run_metadata.last_result = {}
    trials[0].run_metadata.last_result |= {"perf/workers": 4.0}
    header, first, second, third, status = frame(trials, 120, 24, scheduler="halving", rungs=[120, 150])
    assert header.split()[-2:] == ["steps/s", "workers"]
    assert re.search(r"running .* 100/120 .* 3,000 +4$", first), "up to the end of the round"
    assert " paused " in second
    assert " waiting " in third
    assert ": 1 running, 1 paused, 1 waiting |" in status


def test_the_round_of_halving_is_that_of_the_trials_that_play_however_many_fell(frame):
    """Of six trials four have failed before the first rung: those that are left still play up to it."""
    trials = make_trials(*[Trial.ERROR] * 4, *[Trial.RUNNING] * 2)
    _, *lines, _ = frame(trials, 80, 24, scheduler="halving", rungs=[120, 150])
    assert [re.search(r"\d+/\d+", line)[0] for line in lines[4:]] == ["104/120", "105/120"]


def test_of_more_trials_than_lines_those_that_run_failed_or_lead_are_shown(frame):
    statuses = [Trial.TERMINATED] * 20 + [Trial.ERROR] + [Trial.RUNNING] * 2 + [Trial.PENDING] * 20
    _, *lines, more, status, wrapped = frame(make_trials(*statuses), 80, 10)
    assert [line[:5] for line in lines] == ["00018", "00019", "00020", "00021", "00022"]
    assert more == "and 18 stopped, 20 waiting"
    assert wrapped.endswith("left")
    assert ": 2 running, 1 failed, 20 stopped, 20 waiting |" in status
