"""Experiments that are played again: one that is as it was recorded, and what somebody has changed in others."""

import json
import shutil

import numpy as np
import pytest

from experiments.plan.learners import PG, TRPO
from experiments.read.experiments import read_experiment
from experiments.read.stretches import Point, Stretch, kept
from experiments.run.verify import draw, verify
from tests.helpers.small_experiments import PAIR, fit, small_spec, trial_folders
from tests.helpers.trials import CARTPOLE, SEGMENTS, arrays_of
from trainables import checkpoints
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig

CONFIGS = [TRPOConfig(**CARTPOLE | {"seed": seed, "eval_games": 2, "eval_interval": 3}) for seed in (4, 5)]
SPEC = small_spec("trpo", CONFIGS, iterations=6, keep_checkpoints=0)


@pytest.fixture(scope="module")
def recorded(ray_cluster, tmp_path_factory):
    """Two trials of 6 iterations, with checkpoints after 1, 2, 3, 4 and 6: every second one, and evaluations."""
    folder = tmp_path_factory.mktemp("storage") / "recorded"
    assert fit(TRPO, folder, SPEC).num_errors == 0
    return folder


@pytest.fixture
def folder(recorded, tmp_path, home):
    return shutil.copytree(recorded, tmp_path / "altered")


def verified(folder, capsys, iterations=0, seed=0, num_workers=1):
    same = verify(read_experiment(folder, running=False), iterations, seed, num_workers)
    return same, capsys.readouterr().out


def state_of(folder, trial, number):
    return trial_folders(folder)[trial] / checkpoints.folder_name(number)


def rewrite(checkpoint, arrays, **changes):
    """A checkpoint with other contents and sound checksums."""
    state = checkpoints.load_state(checkpoint)
    checkpoints.save(checkpoint, arrays, state.model_copy(update=changes))


@pytest.mark.parametrize("num_workers", [1, 2])
def test_an_experiment_that_nobody_touched_is_the_same(folder, capsys, num_workers):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    same, said = verified(folder, capsys, num_workers=num_workers)
    assert same
    assert "Playing 12 of 12 iterations again" in said
    assert "The same, bit for bit: 12 rows, and the arrays of 10 checkpoints" in said
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_digit_of_a_row_that_was_altered(folder, capsys):
    trial = trial_folders(folder)[1]
    result = trial / "result.json"
    rows = [json.loads(text) for text in result.read_text(encoding="utf-8").splitlines()]
    true = rows[4]["policy/entropy"]
    rows[4]["policy/entropy"] = altered = float(np.nextafter(true, 1))
    result.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    same, said = verified(folder, capsys)
    assert not same
    named = f"iteration 5, policy/entropy: recorded {altered!r}, recomputed {true!r}"
    assert f"Different: {trial.name}, {named}" in said


@pytest.mark.parametrize(("there", "put"), [(2, 0), (1, 0), (3, 2)])
def test_a_checkpoint_in_whose_place_one_of_another_iteration_lies(folder, capsys, there, put):
    place = state_of(folder, 0, there)
    shutil.rmtree(place)
    shutil.copytree(state_of(folder, 0, put), place)
    same, said = verified(folder, capsys)
    assert not same
    assert f"Different: {trial_folders(folder)[0].name}: " in said
    assert place.name in said or "there is no checkpoint of iteration" in said


def test_a_checkpoint_in_whose_place_one_of_another_trial_lies(folder, capsys):
    place = state_of(folder, 0, 2)
    shutil.rmtree(place)
    shutil.copytree(state_of(folder, 1, 2), place)
    same, said = verified(folder, capsys)
    assert not same
    assert f"Different: {trial_folders(folder)[0].name}: {place.name} has seed=5, its trial seed=4" in said


@pytest.mark.parametrize(("trial", "number"), [(0, 1), (1, 2)])
def test_arrays_of_another_checkpoint_under_sound_checksums(folder, capsys, trial, number):
    place = state_of(folder, 0, 2)
    rewrite(place, arrays_of(state_of(folder, trial, number)))
    same, said = verified(folder, capsys)
    assert not same
    assert f"{place.name}, " in said
    assert "values: recorded" in said


def test_counters_of_a_checkpoint_that_were_altered(folder, capsys):
    place = state_of(folder, 0, 4)
    state = checkpoints.load_state(place)
    returns = state.episodes.recent_returns[::-1]
    rewrite(place, arrays_of(place), episodes=state.episodes.model_copy(update={"recent_returns": returns}))
    assert verified(folder, capsys)[0] is (returns == state.episodes.recent_returns)


def test_a_checkpoint_that_was_damaged_and_one_that_was_cut_off(folder, capsys):
    (state_of(folder, 0, 4) / "state.json").unlink()
    same, said = verified(folder, capsys, iterations=1)
    assert same, "a kill leaves such a one"
    assert "Not verified: " in said
    assert "no checkpoint, or half of one" in said
    text = (place := state_of(folder, 0, 1) / "state.json").read_text(encoding="utf-8")
    place.write_text(text.replace('"iteration": 2', '"iteration": 3'), encoding="utf-8")
    assert "state.json is damaged" in verified(folder, capsys)[1]


def test_a_change_of_code_or_library_is_named_as_a_possible_reason(folder, capsys):
    record = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
    record["origin"] |= {"versions": {"numpy": "1.0.0"}, "git": {"revision": "0123456789abcdef", "dirty": False}}
    (folder / "experiment.json").write_text(json.dumps(record), encoding="utf-8")
    rewrite(state_of(folder, 0, 2), arrays_of(state_of(folder, 0, 1)))
    same, said = verified(folder, capsys)
    assert not same
    assert "Possible reason: numpy 1.0.0 (" in said
    assert "git revision 0123456789ab (" in said


@pytest.mark.slow
def test_what_a_copy_took_over_is_not_verified_and_what_it_played_since_is(ray_cluster, home, tmp_path, capsys):
    folder = tmp_path / "pair"
    assert fit(TRPO, folder, PAIR.but(keep_checkpoints=0)).num_errors == 0
    same, said = verified(folder, capsys)
    assert same
    assert "iterations up to 2 cannot be played again: they are those of trial 1, which it copied" in said
    assert "Playing 4 of 4 iterations again" in said


def test_a_fork_whose_origin_is_not_kept_begins_at_its_first_checkpoint(folder, capsys):
    record = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
    record |= {"fork_of": {"name": "other", "iterations": [1, 1]}, "keep_checkpoints": 2}
    (folder / "experiment.json").write_text(json.dumps(record), encoding="utf-8")
    shutil.rmtree(state_of(folder, 0, 0))
    found = kept(experiment := read_experiment(folder, running=False), experiment.trials[0])
    assert found.notes == ["iterations up to 2 cannot be played again: where they began is not kept"]
    assert [len(stretch.rows) for stretch in found.stretches] == [1, 1, 2]


def test_stretches_are_drawn_by_seed_and_cut_where_the_iterations_end():
    lengths = [5, 1, 3, 4]
    all_of_them = [Stretch(None, Point(None, 0, {}), [{}] * length, Point(None, 9, {})) for length in lengths]
    assert draw(all_of_them, 0, 0) == all_of_them
    drawn = [draw(all_of_them, 6, seed) for seed in range(20)]
    assert all(sum(len(stretch.rows) for stretch in some) == 6 for some in drawn)
    assert drawn == [draw(all_of_them, 6, seed) for seed in range(20)]
    assert len({tuple(len(stretch.rows) for stretch in some) for some in drawn}) > 3
    cut = [stretch for some in drawn for stretch in some if len(stretch.rows) not in lengths]
    assert cut
    assert not any(stretch.end for stretch in cut)


def test_an_experiment_without_results_has_nothing_to_be_played_again(folder, capsys):
    with pytest.raises(ConfigError, match=r"num_workers=0: accepted is a number in \[1, 256\]"):
        verified(folder, capsys, num_workers=0)
    for trial in trial_folders(folder):
        (trial / "result.json").unlink()
    with pytest.raises(ConfigError, match="altered has no iteration that can be played again"):
        verified(folder, capsys)


@pytest.mark.slow
def test_segments_of_pong_are_the_same_with_one_worker_and_with_two(ray_cluster, home, tmp_path, capsys):
    folder = tmp_path / "pong"
    config = PGConfig(**SEGMENTS, hidden_size=10, num_workers=1, eval_interval=0)
    assert fit(PG, folder, small_spec("pg", [config], iterations=4, keep_checkpoints=0)).num_errors == 0
    for num_workers in (1, 2):
        same, said = verified(folder, capsys, num_workers=num_workers)
        assert same
        assert "4 rows, and the arrays of 2 checkpoints" in said
