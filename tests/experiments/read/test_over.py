"""When a trial is over: one rule, whoever asks."""

import json

import pytest

from experiments.read.restored import all_over, restore
from experiments.read.trials import read_experiment
from experiments.record.folders import RECORD
from experiments.record.spec import ExperimentSpec
from tests.helpers.foreign_experiments import make_sound


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    make_sound(folder := tmp_path_factory.mktemp("sound"))
    return folder


@pytest.fixture
def ended(originals, tmp_path):
    """An experiment whose one trial came to its end, after two iterations."""
    folder, (trial, _) = tmp_path / "trpo", sorted((originals / "trpo").glob("0*"))
    folder.mkdir()
    record = json.loads((originals / "trpo" / RECORD).read_text())
    (folder / RECORD).write_text(json.dumps(record | {"configs": record["configs"][:1]}))
    for path in [trial, *trial.rglob("*")]:
        copied = folder / path.relative_to(trial.parent)
        copied.mkdir() if path.is_dir() else copied.write_bytes(path.read_bytes())
    return folder


def both(folder):
    """What is listed, and what goes on."""
    spec = ExperimentSpec.read(folder)
    return read_experiment(folder).state == "finished", all_over(restore(folder, spec), spec)


def change(folder, **entries):
    (folder / RECORD).write_text(json.dumps(json.loads((folder / RECORD).read_text()) | entries))


def test_a_trial_at_its_end_is_over_for_both(ended):
    assert both(ended) == (True, True)


def test_a_killed_extend_was_listed_as_finished(ended):
    change(ended, iterations=4, extended=[2])
    assert both(ended) == (False, False)
    assert read_experiment(ended).state == "interrupted", "it gets its resume line"
    state = {"trial_data": [[json.dumps({"trial_id": "x_00000", "status": "TERMINATED"}), ""]]}
    (ended / "experiment_state-1.json").write_text(json.dumps(state))
    assert both(ended) == (False, False), "whatever an earlier session's Tune says"


def test_a_trial_without_its_last_checkpoint_was_listed_as_finished(ended):
    (last,) = ended.glob("*/checkpoint_000001")
    (last / "state.json").unlink()
    assert both(ended) == (False, False)


def test_a_trial_that_was_stopped_early_needs_no_last_checkpoint(ended):
    change(ended, iterations=9)
    (last,) = ended.glob("*/checkpoint_000001")
    (last / "state.json").unlink()
    assert both(ended) == (True, True)
