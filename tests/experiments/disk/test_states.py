"""What has become of trials and experiments: the cases in order, and what a state says."""

import json

import pytest

from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.states import ExperimentState, Facts, HasState, State, fell, state_of, state_of_experiment
from experiments.run.ends import TRIALS_ENDED, exit_status
from tests.helpers.written_experiments import write_experiment

ALL = Facts(
    broke=True,
    over=True,
    diverged=True,
    share=1.0,
    dropped=True,
    running=True,
    status="PAUSED",
    began=False,
    time_is_up=True,
)
"""Facts of which each decides, unless one before it in the table does."""

IN_ORDER = [
    ({}, "failed"),
    ({"broke": False}, "diverged"),
    ({"diverged": False}, "finished"),
    ({"share": 0.99}, "stopped"),
    ({"over": False}, "stopped"),
    ({"dropped": False}, "waiting"),
    ({"status": "PENDING"}, "waiting"),
    ({"began": True}, "running"),
    ({"status": "PAUSED"}, "paused"),
    ({"status": "TERMINATED"}, "running"),
    ({"status": None}, "running"),
    ({"running": False}, "time is up"),
    ({"time_is_up": False}, "interrupted"),
]
"""What is taken from all facts, one after the other, and the state that is then left."""


def test_the_first_case_that_holds_is_a_trials_state():
    facts, found = ALL, []
    for change, _ in IN_ORDER:
        facts = facts._replace(**change)
        found.append(state_of(facts))
    assert found == [state for _, state in IN_ORDER]
    assert {*found} == {*State}, "no state lacks a case"


class Stands(HasState):
    """A trial of which no more is known than its state."""

    facts = ALL._replace(dropped=False)

    def __init__(self, state):
        self.state = state


SAYS = {
    # state: goes on, has ended, played out, arrived, ended as planned
    State.RUNNING: (True, False, False, False, False),
    State.FAILED: (True, True, True, False, False),
    State.FINISHED: (False, True, True, True, True),
    State.DIVERGED: (False, True, True, True, False),
    State.STOPPED: (False, True, False, False, True),
    State.PAUSED: (True, False, False, False, False),
    State.WAITING: (True, False, False, False, False),
    State.TIME_IS_UP: (True, False, False, False, True),
    State.INTERRUPTED: (True, False, False, False, False),
}


@pytest.mark.parametrize("state", State)
def test_what_a_state_says_of_a_trial(state):
    trial = Stands(state)
    said = (trial.goes_on, trial.has_ended, trial.played_out, trial.arrived, trial.ended_as_planned)
    assert said == SAYS[state]
    assert fell(state) == (str(state) if state in ("failed", "diverged") else None)


@pytest.mark.parametrize(("dropped", "goes_on"), [(False, True), (True, False)])
def test_a_trial_that_failed_is_tried_again_unless_a_rung_went_on_without_it(dropped, goes_on):
    trial = Stands(State.FAILED)
    trial.facts = ALL._replace(dropped=dropped)
    assert trial.goes_on == goes_on


@pytest.mark.parametrize(
    ("decision", "broke"),
    [
        ({"scores": [None, -20.0], "broke": [0]}, True),
        ({"scores": [-20.0, -19.0], "broke": [0]}, True),
        ({"scores": [-20.0, -19.0], "broke": []}, False),
        ({"scores": [None, -20.0]}, True),
        ({"scores": [-20.0, -19.0]}, False),
    ],
    ids=[
        "no score",
        "a score all the same",
        "it went on after its error",
        "older file, no score",
        "older file, a score",
    ],
)
def test_a_rung_says_which_of_the_trials_that_it_stopped_an_error_had_ended(tmp_path, decision, broke):
    trials = [({"seed": 0}, [-21.0, -20.0], "boom"), ({"seed": 1}, [-20.0, -19.0, -18.0], None)]
    record = {"scheduler": "halving", "rungs": [2, 3], "iterations": 3}
    folder = write_experiment(tmp_path, "halved", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, kept=[1], **decision)])
    trial = read_experiment(folder, running=False).trials[0]
    assert (trial.facts.broke, trial.state) == (broke, "failed" if broke else "stopped")
    assert trial.error == ("boom" if broke else None)


@pytest.mark.parametrize(
    ("status", "state"),
    [(None, "failed"), ("ERROR", "failed"), ("TERMINATED", "interrupted"), ("RUNNING", "interrupted")],
)
def test_a_trial_that_failed_before_its_first_row_of_an_extension_has_failed(status, state, tmp_path):
    """Its last row ends the budget that it had before. An error from which Tune has gone on is past."""
    record = {"iterations": 4, "extended": [{"iterations": 2}], "ended": "all done"}
    folder = write_experiment(tmp_path, "extended", "pg", [({}, [-20.0, -19.0], None)], **record)
    (next(folder.glob("0*")) / "error.txt").write_text("Traceback\nRuntimeError: no luck\n")
    if status:
        account = json.dumps({"trial_id": "x_00000", "status": status})
        (folder / "experiment_state-1.json").write_text(json.dumps({"trial_data": [[account, ""]]}))
    experiment = read_experiment(folder, running=False)
    assert experiment.trials[0].state == state
    assert exit_status(TRIALS_ENDED, experiment, received=None) == (1 if state == "failed" else 0)


FINISHED, FAILED, INTERRUPTED = State.FINISHED, State.FAILED, State.INTERRUPTED


@pytest.mark.parametrize(
    ("trials", "running", "ended", "state", "has_ended"),
    [
        ([FINISHED, FAILED], True, "all done", "running", False),
        ([FINISHED, FAILED], False, None, "failed", True),
        ([FINISHED, State.STOPPED], False, "interrupted", "finished", True),
        ([FINISHED, FINISHED], False, "time budget", "finished", True),
        ([FINISHED, State.TIME_IS_UP], False, "time budget", "time is up", True),
        ([FAILED, State.TIME_IS_UP], False, "time budget", "time is up", True),
        ([FINISHED, INTERRUPTED], False, "gave up", "interrupted", False),
        ([FAILED, INTERRUPTED], False, None, "interrupted", False),
    ],
)
def test_an_experiments_state_follows_from_its_trials_and_from_how_its_program_ended(
    trials, running, ended, state, has_ended
):
    found = state_of_experiment(trials, all(Stands(each).has_ended for each in trials), running, ended)
    assert (found, found.has_ended) == (state, has_ended)
    assert isinstance(found, ExperimentState)
