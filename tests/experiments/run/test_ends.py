"""Why a run ends, and what its record, its program's exit status and its last lines make of that."""

import signal

import pytest

from experiments.ask.flags import RunFlags
from experiments.disk.experiments import read_experiment
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import PG
from experiments.run import ends, lifecycle, stopping, tuner
from experiments.run.ends import End, exit_status, unsent
from experiments.run.session import Session
from tests.helpers.written_experiments import write_experiment
from trainables.versions import OtherSourcesError

TERM, FAILED = signal.SIGTERM, "RuntimeError: a bug"


# name: what the record says, and the exit status where all went well, a trial failed, results could not be sent
TABLE = {
    "TRIALS_ENDED": ("all done", 0, 1, 3),
    "TIME_UP": ("time budget", 0, 1, 3),
    "SIGNAL_SAVED": ("interrupted", 143, 143, 143),
    "SIGNAL_UNSAVED": ("interrupted", 143, 143, 143),
    "TUNE_STOPPED": ("gave up", 3, 3, 3),
    "TUNE_GAVE_UP": ("gave up", 3, 3, 3),
    "OTHER_CODE": ("gave up", 3, 3, 3),
}


@pytest.mark.parametrize("name", TABLE)
def test_each_end_has_one_word_in_the_record_and_the_exit_statuses_of_the_manual(name, tmp_path):
    end, received = getattr(ends, name), None
    if name.startswith("SIGNAL"):
        received = TERM
    well = read_experiment(write_experiment(tmp_path, "well", "pg", [({}, [-20], None)]), running=False)
    failed = read_experiment(write_experiment(tmp_path, "failed", "pg", [({}, [-20], FAILED)]), running=False)
    well.spec.but(ended=end.ended).write(well.folder)
    word = ExperimentSpec.read(well.folder).ended
    statuses = exit_status(end, well, received), exit_status(end, failed, received)
    assert (word, *statuses, exit_status(unsent(end), failed, received)) == TABLE[name]


def test_no_two_ends_are_the_same_and_each_is_tested():
    found = {name: end for name, end in vars(ends).items() if isinstance(end, End)}
    assert found.keys() == TABLE.keys()
    assert len({end.why for end in found.values()}) == len(found)


def run(folder, monkeypatch, received=None, error=None):
    """A run in which Ray Tune ends at once, or with an error: the exit status, and how often Tune began."""
    began = []

    def fit_once(session):
        began.append(session)
        session.signals.received = received
        if error:
            raise error

    monkeypatch.setattr(tuner, "fit_once", fit_once)
    monkeypatch.setattr(stopping.StopSignals, "sleep", lambda signals, seconds: None)
    monkeypatch.setattr(tuner, "RAY_ENDS_S", 0.0)
    session = Session.begin(PG, folder, ExperimentSpec.read(folder), RunFlags(), [])
    return lifecycle._run(session), len(began)


@pytest.mark.parametrize(
    ("received", "error", "begins", "ended", "status"),
    [
        (None, RuntimeError("no memory"), 1 + len(tuner.RESTART_AFTER_S), "gave up", 3),
        (None, OSError("no room"), 1 + len(tuner.RESTART_AFTER_S), "gave up", 3),
        (None, OtherSourcesError("a node has edited code"), 1, "gave up", 3),
        (signal.SIGTERM, RuntimeError("no Ray"), 1, "interrupted", 143),
    ],
    ids=["restarts", "full disk", "edited code", "signal"],
)
def test_an_error_of_tunes_is_printed_in_place_of_the_summary_and_a_restart_only_follows_where_it_can_help(
    received, error, begins, ended, status, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    folder = write_experiment(tmp_path, "sweep", "pg", [({}, [-20], "running")])
    assert run(folder, monkeypatch, received, error) == (status, begins)
    assert ExperimentSpec.read(folder).ended == ended
    output, errors = capsys.readouterr()
    assert errors.count(f"Ray Tune gave up: {error}\n") == begins
    assert errors.count("Going on from the last checkpoints.\n") == begins - 1
    assert "Report:" not in output
    assert output.splitlines()[-1].startswith("Resume: ")


@pytest.mark.parametrize(("received", "ended", "status"), [(None, "all done", 3), (TERM, "interrupted", 143)])
def test_a_run_whose_results_cannot_be_sent_is_unfinished_and_its_record_here_says_how_it_ended(
    received, ended, status, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    trials = [({}, [-20] * 10, None)]
    folder = write_experiment(tmp_path / "results", "sweep", "pg", trials, iterations=20, storage_uri=home.as_uri())
    home.write_text("no folder")
    assert run(folder, monkeypatch, received) == (status, 1)
    assert ExperimentSpec.read(folder).ended == ended
    output, errors = capsys.readouterr()
    assert "--resume sends it." in errors
    assert "Report:" in output, "the results are here"
