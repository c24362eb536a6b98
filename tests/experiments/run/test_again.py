"""Experiments that are played again: as they were recorded, altered by somebody, and with a game that is filmed."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from experiments.analysis.recorded import Stretch, recorded
from experiments.ask.budget import Budget
from experiments.disk.experiments import read_experiment
from experiments.plan.learners import PG, TRPO
from experiments.run import lifecycle
from experiments.run.again import WantedGame, draw, replay, verify
from experiments.run.draft import continuation
from experiments.subcommands.verify import MAX_WORKERS, Verify
from tests.helpers.small_experiments import drafted, fit, flags, rows, small_spec, trial_folders
from tests.helpers.trials import CARTPOLE, SEGMENTS, arrays_of
from tests.helpers.written_experiments import forked_from, write_rows
from trainables import checkpoints
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig

CONFIGS = [TRPOConfig(**CARTPOLE | {"seed": seed, "eval_games": 2, "eval_interval": 3}) for seed in (4, 5)]
PONG = PGConfig(**SEGMENTS, hidden_size=5, num_workers=2, eval_interval=0, epochs=1)
ITERATION = SEGMENTS["segment_length"] * SEGMENTS["updates_per_iteration"]


@pytest.fixture(scope="module")
def cartpole(ray_cluster, tmp_path_factory):
    """Two trials of 6 iterations, with checkpoints after 1, 2, 3, 4 and 6: every second one, and evaluations."""
    folder = tmp_path_factory.mktemp("storage") / "recorded"
    assert fit(TRPO, folder, small_spec("trpo", CONFIGS, iterations=6, keep_checkpoints=0)).num_errors == 0
    return folder


@pytest.fixture(scope="module")
def pong(ray_cluster, home, tmp_path_factory):
    """Three slots of Pong, of which one iteration plays 800 steps: most games go on over two of them."""
    folder = tmp_path_factory.mktemp("storage") / "pong"
    spec = small_spec("pg", [PONG], iterations=3, keep_checkpoints=0, checkpoint_frequency=1)
    assert fit(PG, folder, spec).num_errors == 0
    return folder


@pytest.fixture
def folder(cartpole, tmp_path, home):
    return shutil.copytree(cartpole, tmp_path / "altered")


def verified(folder, capsys, iterations=0, num_workers=1):
    same = verify(read_experiment(folder, running=False), iterations, 0, num_workers)
    return same, capsys.readouterr().out


def checkpoint(folder, trial, number):
    return trial_folders(folder)[trial] / f"checkpoint_{number:06d}"


def put(checkpoint, other):
    """Put another checkpoint in the place of one."""
    shutil.rmtree(checkpoint)
    shutil.copytree(other, checkpoint)


def rewrite(checkpoint, arrays, **changes):
    """A checkpoint with other contents and sound checksums."""
    checkpoints.save(checkpoint, arrays, checkpoints.load_state(checkpoint).model_copy(update=changes))


def change_record(folder, **changes):
    """Other entries of experiment.json."""
    record = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
    (folder / "experiment.json").write_text(json.dumps(record | changes), encoding="utf-8")


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_experiment_that_nobody_touched_is_the_same_on_more_workers_and_stays_as_it_is(folder, capsys):
    before = files_of(folder)
    same, said = verified(folder, capsys, num_workers=2)
    assert same
    assert "Playing 12 of 12 iterations again" in said
    assert "The same, bit for bit: 12 rows, and the arrays of 10 checkpoints" in said
    assert files_of(folder) == before


@pytest.mark.slow
def test_arrays_that_cannot_be_compared_are_named_before_anything_is_played(folder, capsys):
    experiment = read_experiment(folder, running=False)
    stretches = (
        recorded(experiment, experiment.trials[0]).stretches + recorded(experiment, experiment.trials[1]).stretches
    )
    seed = next(seed for seed in range(100) if not draw(stretches, 1, seed)[0].end)
    assert verify(experiment, 1, seed, 1)
    said = capsys.readouterr().out.splitlines()
    name = draw(stretches, 1, seed)[0].trial.name
    expected = f"{name}: arrays after iteration 5 from checkpoint_000003: it ends at no checkpoint, or is cut off"
    assert said.index(f"Not verified: {expected}") < next(
        i for i, text in enumerate(said) if text.startswith("Playing")
    )
    assert said[-1] == "The same, bit for bit: 1 row"


@pytest.mark.slow
def test_the_last_bit_of_a_number_in_a_row_is_compared(folder, capsys):
    trial = trial_folders(folder)[1]
    altered = rows(trial)
    true = altered[4]["policy/entropy"]
    altered[4]["policy/entropy"] = other = float(np.nextafter(true, 1))
    write_rows(trial, altered)
    same, said = verified(folder, capsys)
    assert not same
    assert f"Different: {trial.name}, iteration 5, policy/entropy: recorded {other!r}, recomputed {true!r}" in said


@pytest.mark.parametrize(
    ("of", "where", "said"),
    [
        ((0, 0), (0, 2), "is of iteration 1, and one before it of iteration 2"),
        ((0, 0), (0, 1), "there is no checkpoint of iteration 2, and all were to be kept"),
    ],
)
def test_a_checkpoint_of_another_iteration_is_found(folder, of, where, said):
    put(checkpoint(folder, *where), checkpoint(folder, *of))
    experiment = read_experiment(folder, running=False)
    first, second = (recorded(experiment, trial) for trial in experiment.trials)
    assert said in "".join(first.wrong)
    assert second.wrong == []


@pytest.mark.slow
def test_a_trial_with_another_trials_checkpoint_is_not_played_and_the_others_are(folder, capsys):
    put(checkpoint(folder, 0, 2), checkpoint(folder, 1, 2))
    same, found = verified(folder, capsys)
    assert not same
    first, second = (trial.name for trial in trial_folders(folder))
    assert f"Different: {first}: " in found
    assert "has seed=5, its trial seed=4" in found
    assert f"] {first}" not in found, "nothing of it is played"
    assert f"] {second}, iterations 5 to 6 from checkpoint_000003: the same rows" in found


@pytest.mark.slow
def test_arrays_and_counters_of_a_checkpoint_under_sound_checksums_are_compared(folder, capsys):
    place, other = checkpoint(folder, 0, 2), checkpoint(folder, 0, 1)
    arrays, episodes = arrays_of(place), checkpoints.load_state(place).episodes
    change_record(folder, origin={"versions": {"numpy": "1.0.0"}, "git": {"revision": "0123456789", "dirty": False}})
    rewrite(place, arrays_of(other))
    same, said = verified(folder, capsys)
    assert not same
    assert f"{place.name}, " in said
    assert "values: recorded" in said
    assert "Possible reason: numpy 1.0.0 (" in said
    assert "git revision 0123456789 (" in said
    backwards = [*reversed(episodes.recent_returns)]
    rewrite(place, arrays, episodes=episodes.model_copy(update={"recent_returns": backwards}))
    same, said = verified(folder, capsys)
    assert not same
    assert f"{place.name}, episodes.recent_returns: recorded [" in said


@pytest.mark.slow
def test_a_damaged_checkpoint_is_a_difference_and_one_that_was_cut_off_is_none(folder, capsys):
    (checkpoint(folder, 0, 4) / "state.json").unlink()
    same, said = verified(folder, capsys, iterations=1)
    assert same, "a kill leaves such a one"
    assert "Not verified: " in said
    assert "no checkpoint, or half of one" in said
    place = checkpoint(folder, 0, 1) / "state.json"
    text = place.read_text(encoding="utf-8")
    place.write_text(text.replace('"iteration": 2', '"iteration": 3'), encoding="utf-8")
    same, said = verified(folder, capsys)
    assert not same
    assert "state.json is damaged" in said


@pytest.mark.slow
def test_a_trial_that_diverged_is_the_same_and_is_not_to_be_extended(ray_cluster, home, tmp_path, capsys):
    diverging = PGConfig(**SEGMENTS, hidden_size=5, num_workers=1, eval_interval=0, learning_rate=1e30)
    spec = small_spec("pg", [diverging], checkpoint_frequency=1, iterations=4)
    status, folder = lifecycle.start(drafted(PG, spec, flags(tmp_path, name="diverged")))
    experiment = read_experiment(folder)
    (trial,) = experiment.trials
    assert (status, trial.state, experiment.state) == (0, "diverged", "finished")
    out = capsys.readouterr().out
    assert "Nothing to extend: its trials diverged or were stopped early, and stay so" in out
    assert "Extend: " not in out
    with pytest.raises(ConfigError, match="--extend diverged: its trials diverged or were stopped early"):
        lifecycle.go_on(continuation(PG, flags(tmp_path, extend="diverged"), Budget(8)))
    same, said = verified(folder, capsys)
    assert same, said


def test_a_fork_begins_at_its_first_checkpoint_and_without_rows_nothing_is_played_again(folder, capsys):
    change_record(folder, fork_of=forked_from("other", ({}, 1), ({}, 1)).model_dump(), keep_checkpoints=2)
    shutil.rmtree(checkpoint(folder, 0, 0))
    experiment = read_experiment(folder, running=False)
    found = recorded(experiment, experiment.trials[0])
    assert found.notes == ["iterations up to 2 cannot be played again: where they began is not kept"]
    assert [str(stretch) for stretch in found.stretches] == [
        *("iteration 3 from checkpoint_000001", "iteration 4 from checkpoint_000002"),
        "iterations 5 to 6 from checkpoint_000003",
    ]
    for trial in trial_folders(folder):
        (trial / "result.json").unlink()
    with pytest.raises(ConfigError, match="altered has no iteration that can be played again"):
        verified(folder, capsys)


def test_stretches_are_drawn_by_seed_and_cut_where_the_iterations_end(tmp_path):
    lengths = [5, 1, 3, 4]
    all_of_them = []
    for length in lengths:
        numbered = [{"training_iteration": number} for number in range(1, length + 1)]
        all_of_them.append(Stretch(None, None, 1, length, tmp_path, numbered))
    assert draw(all_of_them, 0, 0) == all_of_them
    seen, cut = set(), 0
    for seed in range(20):
        drawn = draw(all_of_them, 6, seed)
        assert drawn == draw(all_of_them, 6, seed)
        drawn_lengths = [len(stretch.rows) for stretch in drawn]
        assert sum(drawn_lengths) == 6
        seen.add(tuple(drawn_lengths))
        for stretch in drawn:
            if len(stretch.rows) not in lengths:
                cut += 1
                assert not stretch.end
    assert cut
    assert len(seen) > 3


def replayed(folder, iteration=2, game=None, slot=None, since=9, num_workers=1):
    experiment = read_experiment(folder, running=False)
    wanted = WantedGame(iteration, game, slot, min(since, iteration))
    return replay(recorded(experiment, experiment.trials[0]), wanted, num_workers)


def screens(film):
    return np.array([shot.screen for shot in film.shots])


@pytest.mark.slow
def test_segments_are_the_same_and_their_games_are_those_of_the_rows(pong, capsys):
    same, said = verified(pong, capsys, num_workers=1)
    assert same
    assert "3 rows, and the arrays of 3 checkpoints" in said
    late, film = replayed(pong, game=0)
    whole, other = replayed(pong, game=0, since=1)
    assert (late.steps_before, whole.steps_before) == (ITERATION, 0)
    assert late.summary == whole.summary
    np.testing.assert_array_equal(screens(film), screens(other))


def assert_those_of(row, games):
    summaries = [game.summary for game, _ in games]
    assert np.mean([summary.episode_return for summary in summaries]) == row["episode_reward_batch_mean"]
    assert np.mean([summary.length for summary in summaries]) == row["episode_len_mean"]


@pytest.mark.slow
def test_all_games_of_an_iteration_are_those_of_its_row_and_one_in_play_goes_on_into_the_next(pong):
    row = rows(trial_folders(pong)[0])[1]
    games = [replayed(pong, game=game, since=1) for game in range(row["episodes_this_iter"])]
    assert_those_of(row, games)
    whole, found = screens(games[0][1]), 0
    for slot in range(SEGMENTS["slots"]):
        _, film = replayed(pong, iteration=1, slot=slot)
        begun = screens(film)
        found += np.array_equal(begun, whole[: len(begun)])
    assert found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"iteration": 4, "game": 0}, "iteration=4: 00000_seed=0 has rows of iterations 1 to 3"),
        ({"iteration": 1, "game": 0}, "game=0: iteration 1: no game ended in it; --slot 0 to 2 are those in play"),
        ({"slot": 3}, "slot=3: iteration 2: --slot 0 to 2 are those in play at its end"),
        ({"game": 99}, r"game=99: iteration 2: its games that ended are 0 to \d; --slot 0 to 2"),
    ],
)
def test_a_game_that_there_is_not_is_refused_with_those_that_there_are(pong, asked, message):
    with pytest.raises(ConfigError, match=message):
        replayed(pong, **asked)


@pytest.mark.slow
def test_games_without_a_console_and_of_rows_that_differ_are_refused(folder):
    with pytest.raises(ConfigError, match="CartPole-v1 has no console: nothing to film"):
        replayed(folder, game=0)
    with pytest.raises(ConfigError, match="it has no slots"):
        replayed(folder, slot=0)
    experiment = read_experiment(folder, running=False)
    trial = dataclasses.replace(experiment.trials[0], rows=[row.copy() for row in experiment.trials[0].rows])
    (second,) = (row for row in trial.rows if row["training_iteration"] == 2)
    second["policy/kl"] = 0.5
    with pytest.raises(ConfigError, match="iteration 2 is not what was recorded, and so no game after it: policy/kl"):
        replay(recorded(experiment, trial), WantedGame(2, 0, None, 2), 1)


@pytest.mark.slow
def test_whole_games_are_filmed_too(ray_cluster, home, tmp_path):
    folder = tmp_path / "whole"
    config = PGConfig(method="reinforce", slots=0, games_per_update=3, block_size=2, hidden_size=5, eval_interval=0)
    assert fit(PG, folder, small_spec("pg", [config], iterations=2)).num_errors == 0
    row = rows(trial_folders(folder)[0])[1]
    assert_those_of(row, [replayed(folder, game=game) for game in range(row["episodes_this_iter"])])


def test_on_a_machine_of_more_cores_than_workers_can_be_asked_for_an_experiment_is_verified_too(monkeypatch):
    monkeypatch.setattr("experiments.subcommands.verify.local_cpus", lambda: 384)
    assert Verify("first").num_workers == MAX_WORKERS
