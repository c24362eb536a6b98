"""Experiments that go on: interrupted, damaged, moved, extended, forked. TRPO on CartPole plays in milliseconds."""

import json
import shutil

import pytest

from experiments.ask.budget import Budget
from experiments.plan.learners import TRPO
from experiments.read.experiments import read_experiment
from experiments.read.restored import all_over, describe, restore
from experiments.record.folders import RECORD, TUNE_STATES
from experiments.record.lock import exclusive
from experiments.record.spec import ExperimentSpec, ForkOf, Limits
from experiments.run import lifecycle
from experiments.run.fork import changed, fork, forked
from experiments.run.json_logger import JsonLogger
from experiments.show.report import origin
from tests.helpers.small_experiments import (
    SIX_ITERATIONS,
    InterruptAt,
    assert_as_undisturbed,
    fit,
    flags,
    iterations,
    last_arrays,
    rows,
    trial_folders,
)
from tests.helpers.trials import assert_same
from tests.helpers.written_experiments import write_experiment
from trainables.checkpoints import load_state
from trainables.checks import ConfigError
from trainables.config import TRPOConfig


@pytest.fixture(scope="module")
def interrupted_once(ray_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("storage") / "interrupted"
    fit(TRPO, folder, SIX_ITERATIONS, InterruptAt(5))
    return folder


@pytest.fixture
def interrupted(interrupted_once, tmp_path):
    """A copy of an experiment that was cut off in its fifth iteration; its best checkpoint and the fourth are there."""
    return shutil.copytree(interrupted_once, tmp_path / "interrupted")


def damage_tunes_state(folder):
    """Cut off, a pickle that would run a program, and one from a later time zone that knows nothing."""
    for file in folder.glob(TUNE_STATES):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    (folder / "experiment_state-2099-01-01_00-00-00.json").write_text('{"trial_data": []}')
    (folder / "tuner.pkl").write_bytes(b"cos\nsystem\n(S'touch " + bytes(folder / "executed") + b"'\ntR.")
    return folder


def lose_tunes_state_and_the_newest_checkpoint_and_move(folder):
    for file in [*folder.glob("*.pkl"), *folder.glob(TUNE_STATES), *folder.glob("basic-variant-*")]:
        file.unlink()
    for trial in trial_folders(folder):
        shutil.rmtree(max(trial.glob("checkpoint_*")))
    return folder.rename(folder.with_name("other name"))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage_tunes_state, marks=pytest.mark.slow),
        lose_tunes_state_and_the_newest_checkpoint_and_move,
    ],
)
def test_an_interrupted_experiment_ends_as_if_it_had_never_been(damage, interrupted, undisturbed, tmp_path):
    folder = damage(interrupted)
    lifecycle.resume(TRPO, flags(tmp_path / "nowhere", resume=str(folder)))
    assert_as_undisturbed(folder, undisturbed)
    assert not (interrupted / "executed").exists()


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(interrupted):
    trial = trial_folders(interrupted)[0]
    *_, before, newest = sorted(trial.glob("checkpoint_*"))  # the best one, and the latest
    arrays = newest / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1])
    lines = describe(restore(interrupted, SIX_ITERATIONS))
    assert any(f"{trial.name}: not used: {newest}: arrays.safetensors is damaged" in line for line in lines)
    iteration = load_state(before).iteration
    assert any(f"{trial.name}: goes on after iteration {iteration} (" in line for line in lines)


def test_rows_that_were_cut_off_are_said_to_be_missing(interrupted):
    trial = trial_folders(interrupted)[0]
    results = trial / "result.json"
    results.write_bytes(results.read_bytes()[: results.stat().st_size // 3])
    kept = len(restore(interrupted, SIX_ITERATIONS)["00000"].rows)
    assert kept < 3
    lines = describe(restore(interrupted, SIX_ITERATIONS))
    assert any(f"{trial.name}: result.json lacks iterations {kept + 1} to 3" in line for line in lines)
    assert any(f"{trial.name}: goes on after iteration 4" in line for line in lines)


@pytest.mark.parametrize("content", ["", '{"learner": "trpo"', '{"learner": "trpo", "configs": []}'])
def test_a_damaged_record_is_refused_by_name(content, interrupted):
    (interrupted / "experiment.json").write_text(content)
    with pytest.raises(ConfigError, match=r"experiment\.json is damaged"):
        lifecycle.resume(TRPO, flags(interrupted.parent, resume=interrupted.name))


def test_settings_that_were_changed_by_hand_are_refused_with_the_difference(interrupted):
    params = trial_folders(interrupted)[0] / "params.json"
    params.write_text(json.dumps(json.loads(params.read_text()) | {"gamma": 0.5}))
    with pytest.raises(ConfigError, match=r"gamma=0\.5 for 0\.98"):
        lifecycle.resume(TRPO, flags(interrupted.parent, resume=interrupted.name))


def test_a_second_program_is_refused(interrupted):
    with exclusive(interrupted), pytest.raises(ConfigError, match="in use by another program"):
        lifecycle.resume(TRPO, flags(interrupted.parent, resume=interrupted.name))


@pytest.mark.slow
def test_an_experiment_that_tune_gives_up_again_and_again_is_left_unfinished(ray_cluster, tmp_path, monkeypatch):
    def give_up(self, iteration, trial, result):
        raise RuntimeError("Caught unexpected exception")

    monkeypatch.setattr(JsonLogger, "log_trial_result", give_up)
    status, _ = lifecycle.start(TRPO, SIX_ITERATIONS, flags(tmp_path, name="given-up"))
    assert status == 3


@pytest.mark.slow
def test_when_tune_gives_up_in_mid_run_the_experiment_goes_on_from_its_checkpoints(
    ray_cluster, undisturbed, tmp_path, monkeypatch, capsys
):
    """As when Ray's memory monitor kills a trial: ``fit`` raises, whatever ``max_failures`` says."""
    write, broken = JsonLogger.log_trial_result, []

    def give_up_once(self, iteration, trial, result):
        if result["training_iteration"] == 3 and not broken:
            broken.append(True)
            raise RuntimeError("Caught unexpected exception")
        write(self, iteration, trial, result)

    monkeypatch.setattr(JsonLogger, "log_trial_result", give_up_once)
    status, folder = lifecycle.start(TRPO, SIX_ITERATIONS, flags(tmp_path, name="given-up"))
    assert status == 0
    assert "Ray Tune gave up: RuntimeError: Caught unexpected exception" in capsys.readouterr().err
    assert_as_undisturbed(folder, undisturbed)


def test_trials_with_both_limits_go_on_without_a_gap_where_no_extend_was_accepted(ray_cluster, undisturbed, tmp_path):
    spec = SIX_ITERATIONS.but(iterations=3, timesteps=10**6)
    _, folder = lifecycle.start(TRPO, spec, flags(tmp_path, name="short"))
    assert ExperimentSpec.read(folder).ended == "all done"
    assert ExperimentSpec.read(folder).origin.versions, "an end leaves the origin as it was"
    with pytest.raises(ConfigError, match="its trials ended by their other limit; give more --iterations"):
        lifecycle.resume(TRPO, flags(tmp_path, extend="short"), Budget(None, 2 * 10**6))
    assert ExperimentSpec.read(folder).budget == Budget(3, 10**6)
    status, _ = lifecycle.resume(TRPO, flags(tmp_path, extend="short"), Budget(6))
    assert status == 0
    assert_as_undisturbed(folder, undisturbed)
    assert ExperimentSpec.read(folder).earlier_budgets == [Budget(3, 10**6)]
    before, now = (f"1,000,000 agent steps or {iterations} iterations" for iterations in (3, 6))
    assert f"- Extended: to {now} a trial, after {before}\n" in origin(read_experiment(folder))
    with pytest.raises(ConfigError, match="have 6 already"):
        lifecycle.resume(TRPO, flags(tmp_path, extend="short"), Budget(6))


@pytest.mark.slow
def test_steps_are_a_budget_too_and_can_be_extended(ray_cluster, undisturbed, tmp_path):
    ends = [[row["timesteps_total"] for row in rows(trial)] for trial in trial_folders(undisturbed)]
    first, last = max(end[1] for end in ends), min(end[5] for end in ends)
    spec = SIX_ITERATIONS.but(iterations=None, timesteps=first)
    _, folder = lifecycle.start(TRPO, spec, flags(tmp_path, name="steps"))
    assert all_over(restore(folder, spec), spec)
    for trial, end in zip(trial_folders(folder), ends, strict=True):
        assert len(rows(trial)) == 1 + sum(steps < first for steps in end)
    with pytest.raises(ConfigError, match=f"have {first} already"):
        lifecycle.resume(TRPO, flags(tmp_path, extend="steps"), Budget(None, first))
    with pytest.raises(ConfigError, match="give more --timesteps"):
        lifecycle.resume(TRPO, flags(tmp_path, extend="steps"), Budget(9))
    assert lifecycle.resume(TRPO, flags(tmp_path, extend="steps"), Budget(None, last)) == (0, folder)
    for trial, expected in zip(trial_folders(folder), trial_folders(undisturbed), strict=True):
        shown = rows(trial)
        assert shown[-2]["timesteps_total"] < last <= shown[-1]["timesteps_total"]
        assert [row["episode_reward_mean"] for row in shown] == [
            row["episode_reward_mean"] for row in rows(expected)[: len(shown)]
        ]


def test_an_extension_that_was_cut_off_before_it_began_is_not_forgotten(undisturbed):
    assert all_over(restore(undisturbed, SIX_ITERATIONS), SIX_ITERATIONS)
    extended = SIX_ITERATIONS.but(iterations=9, extended=[Limits(iterations=6)])
    assert not all_over(restore(undisturbed, extended), extended)


def test_a_fork_with_the_same_settings_ends_where_its_origin_would(interrupted, undisturbed, tmp_path):
    run = flags(interrupted.parent, fork=interrupted.name, name="fork")
    spec, restored = forked(TRPO, run)
    for trial in restored:  # leave each trial only its newest checkpoint, which is the best one then
        for path, _ in trial.checkpoints[:-1]:
            shutil.rmtree(path)
    spec, restored = forked(TRPO, run)
    _, folder = fork(TRPO, spec, restored, run)
    starts = [trial.iteration for trial in restored]
    for trial, expected, start in zip(trial_folders(folder), trial_folders(undisturbed), starts, strict=True):
        assert iterations(trial) == list(range(start + 1, 7))
        assert_same(last_arrays(trial)[1], last_arrays(expected)[1])
    assert ExperimentSpec.read(folder).fork_of == ForkOf(name="interrupted", iterations=starts)
    assert restore(folder, ExperimentSpec.read(folder)).keys() == {"00000"}


def test_a_fork_takes_new_settings_but_none_that_its_checkpoints_do_not_fit(interrupted):
    _, restored = forked(TRPO, flags(interrupted.parent, fork="interrupted"))
    assert changed(restored[0], {"gamma": 0.5}, TRPOConfig).gamma == 0.5
    with pytest.raises(ConfigError, match="--fork cannot change hidden_sizes"):
        changed(restored[0], {"hidden_sizes": "4"}, TRPOConfig)
    with pytest.raises(ConfigError, match="gamma=2"):
        changed(restored[0], {"gamma": 2.0}, TRPOConfig)


def test_an_extension_that_cannot_begin_is_not_recorded(tmp_path, monkeypatch):
    """A wrong --address was followed by "has 20 already"."""

    def no_cluster(address, verbose):
        raise ConfigError("nobody answers there")

    folder = write_experiment(tmp_path, "short", "trpo", [({}, [-20.0] * 10, None)])
    before = (folder / RECORD).read_bytes()
    monkeypatch.setattr(lifecycle, "start_ray", no_cluster)
    with pytest.raises(ConfigError, match="nobody answers"):
        lifecycle.resume(TRPO, flags(tmp_path, extend="short"), Budget(20))
    assert (folder / RECORD).read_bytes() == before
