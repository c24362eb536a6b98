"""Experiments that begin, end and go on: interrupted, damaged, moved, extended, forked, given up.

TRPO on CartPole plays in milliseconds.
"""

import shutil
import signal

import pytest

from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.disk.experiments import read_experiment
from experiments.disk.folders import RECORD, TUNE_STATES
from experiments.disk.lock import exclusive
from experiments.disk.mirror import Remote
from experiments.disk.restored import plays_on, restore
from experiments.disk.spec import ExperimentSpec, Limits
from experiments.plan.learners import PG, TRPO
from experiments.plan.resources import ClusterResources
from experiments.run import lifecycle, session, tuner
from experiments.run.draft import changed, continuation, forked
from experiments.run.loggers import JsonLogger
from experiments.run.session import Session
from experiments.run.stopping import StopSignals
from experiments.show.origins import origin
from tests.helpers.small_experiments import (
    SIX_ITERATIONS,
    InterruptAt,
    assert_as_undisturbed,
    drafted,
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


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """An experiment of three trials, of which one was begun, and what it was asked to do."""
    monkeypatch.chdir(tmp_path)
    folder = write_experiment(tmp_path, "sweep", "pg", [({}, [-20], "running")], planned=3, time_budget_s=100.0)
    return folder, ExperimentSpec.read(folder)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [1000.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    return now


def test_restarts_share_the_time_budget(begun, clock, monkeypatch, capsys):
    folder, spec = begun
    given = []

    def give_up(session):
        given.append(session.spec.time_budget_s)
        clock[0] += 40
        raise RuntimeError("Caught unexpected exception")

    monkeypatch.setattr(tuner, "fit_once", give_up)
    monkeypatch.setattr(StopSignals, "sleep", lambda signals, seconds: None)
    lifecycle._run(Session.begin(PG, folder, spec, RunFlags(), []))
    assert given == [100, 60, 20]
    assert ExperimentSpec.read(folder).ended == "time budget"
    assert ExperimentSpec.read(folder).time_budget_s == 100, "a later --resume has a whole one"
    given.clear()
    endless = Session.begin(PG, folder, spec.but(time_budget_s=None), RunFlags(), [])
    assert lifecycle._run(endless) == 3
    assert given == [None] * 4
    assert ExperimentSpec.read(folder).ended == "gave up"
    assert "Ray Tune gave up: Caught unexpected exception" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("planned", "endings", "seconds", "received", "ended", "status"),
    [
        (2, ["RuntimeError: a failed trial has no more to play", None], 60, None, "all done", 1),
        (2, ["running", None], 60, None, "time budget", 0),
        (3, [None, None], 60, None, "time budget", 0),
        (3, [None, None], None, None, "gave up", 3),
        (3, ["running", None], 60, signal.SIGINT, "interrupted", 130),
    ],
)
def test_why_an_experiment_ended_is_noted(
    planned, endings, seconds, received, ended, status, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    trials = [({"seed": seed}, [-20] * 10, ending) for seed, ending in enumerate(endings)]
    asked = {"planned": planned, "iterations": 20, "time_budget_s": seconds}
    folder = write_experiment(tmp_path / "r r", "sweep", "pg", trials, **asked)

    def fit(session):
        session.signals.received = received

    monkeypatch.setattr(tuner, "fit_once", fit)
    spec = ExperimentSpec.read(folder)
    assert lifecycle._run(Session.begin(PG, folder, spec, RunFlags(), [])) == status
    assert ExperimentSpec.read(folder) == spec.but(ended=ended)
    assert capsys.readouterr().out.startswith("Look:    tensorboard --logdir 'r r/sweep'\n"), "it can be pasted"


@pytest.mark.parametrize("what", ["no cluster", "no bucket"])
def test_an_extension_that_cannot_begin_is_not_recorded(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    uri = (tmp_path / "home").as_uri()
    folder = write_experiment(tmp_path / "results", "short", "pg", [({}, [-20] * 10, None)], storage_uri=uri)
    Remote.of(folder).publish()
    before = (folder / RECORD).read_bytes()

    def start_ray(*of):
        if what == "no cluster":
            raise ConfigError("out of reach")
        return ClusterResources((4,))

    def publish(*of):
        raise OSError("out of reach")

    monkeypatch.setattr(lifecycle, "start_ray", start_ray)
    monkeypatch.setattr(lifecycle, "require_shared", lambda *of: None)
    monkeypatch.setattr(Remote, "publish", publish)
    with pytest.raises(ConfigError, match="out of reach"):
        lifecycle.go_on(continuation(PG, flags("results", extend="short"), Budget(20)))
    assert (folder / RECORD).read_bytes() == before


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
    [pytest.param(damage_tunes_state, marks=pytest.mark.slow), lose_tunes_state_and_the_newest_checkpoint_and_move],
)
def test_an_interrupted_experiment_ends_as_if_it_had_never_been(damage, interrupted, undisturbed, tmp_path):
    folder = damage(interrupted)
    lifecycle.go_on(continuation(TRPO, flags(tmp_path / "nowhere", resume=str(folder))))
    assert_as_undisturbed(folder, undisturbed)
    assert not (interrupted / "executed").exists()


def test_a_second_program_is_refused(interrupted):
    with exclusive(interrupted), pytest.raises(ConfigError, match="in use by another program"):
        lifecycle.go_on(continuation(TRPO, flags(interrupted.parent, resume=interrupted.name)))


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
    status, folder = lifecycle.start(drafted(TRPO, SIX_ITERATIONS, flags(tmp_path, name="given-up")))
    assert status == 0
    assert "Ray Tune gave up: RuntimeError: Caught unexpected exception" in capsys.readouterr().err
    assert_as_undisturbed(folder, undisturbed)


@pytest.mark.slow
def test_trials_with_both_limits_are_extended_by_the_one_that_ended_them_without_a_gap(
    ray_cluster, undisturbed, tmp_path
):
    spec = SIX_ITERATIONS.but(iterations=3, timesteps=10**6)
    _, folder = lifecycle.start(drafted(TRPO, spec, flags(tmp_path, name="short")))
    assert ExperimentSpec.read(folder).ended == "all done"
    with pytest.raises(ConfigError, match="its trials ended by their other limit; give more --iterations"):
        lifecycle.go_on(continuation(TRPO, flags(tmp_path, extend="short"), Budget(None, 2 * 10**6)))
    assert ExperimentSpec.read(folder).budget == Budget(3, 10**6)
    assert lifecycle.go_on(continuation(TRPO, flags(tmp_path, extend="short"), Budget(6))) == 0
    assert_as_undisturbed(folder, undisturbed)
    assert ExperimentSpec.read(folder).earlier_budgets == [Budget(3, 10**6)]
    before, now = (f"1,000,000 agent steps or {iterations} iterations" for iterations in (3, 6))
    assert f"- Extended: to {now} a trial, after {before}\n" in origin(read_experiment(folder))
    with pytest.raises(ConfigError, match="have 6 already"):
        lifecycle.go_on(continuation(TRPO, flags(tmp_path, extend="short"), Budget(6)))


@pytest.mark.slow
def test_steps_are_a_budget_too_and_can_be_extended(ray_cluster, undisturbed, tmp_path):
    ends = [[row["timesteps_total"] for row in rows(trial)] for trial in trial_folders(undisturbed)]
    first, last = max(end[1] for end in ends), min(end[5] for end in ends)
    spec = SIX_ITERATIONS.but(iterations=None, timesteps=first)
    _, folder = lifecycle.start(drafted(TRPO, spec, flags(tmp_path, name="steps")))
    assert not plays_on(restore(folder, spec), spec)
    for trial, end in zip(trial_folders(folder), ends, strict=True):
        assert len(rows(trial)) == 1 + sum(steps < first for steps in end)
    assert lifecycle.go_on(continuation(TRPO, flags(tmp_path, extend="steps"), Budget(None, last))) == 0
    for trial, expected in zip(trial_folders(folder), trial_folders(undisturbed), strict=True):
        shown = rows(trial)
        assert shown[-2]["timesteps_total"] < last <= shown[-1]["timesteps_total"]
        assert [row["episode_score"] for row in shown] == [row["episode_score"] for row in rows(expected)[: len(shown)]]


def test_an_extension_that_was_cut_off_before_it_began_is_not_forgotten(undisturbed):
    assert not plays_on(restore(undisturbed, SIX_ITERATIONS), SIX_ITERATIONS)
    extended = SIX_ITERATIONS.but(iterations=9, extended=[Limits(iterations=6)])
    assert plays_on(restore(undisturbed, extended), extended)


@pytest.mark.slow
def test_a_fork_with_the_same_settings_ends_where_its_origin_would(interrupted, undisturbed, tmp_path):
    run = flags(interrupted.parent, fork=interrupted.name, name="fork")
    spec, restored = forked(TRPO, run)
    for trial in restored:  # leave each trial only its newest checkpoint, which is the best one then
        for checkpoint in trial.checkpoints.usable[:-1]:
            shutil.rmtree(checkpoint.folder)
    spec, restored = forked(TRPO, run)
    _, folder = lifecycle.start(drafted(TRPO, spec, run, restored))
    starts = [trial.iteration for trial in restored]
    for trial, expected, start in zip(trial_folders(folder), trial_folders(undisturbed), starts, strict=True):
        assert iterations(trial) == list(range(start + 1, 7))
        first, before = rows(trial)[0], load_state(trial / "checkpoint_000000")
        assert first["time_total_s"] == pytest.approx(before.seconds + first["time_this_iter_s"])
        assert before.seconds == rows(interrupted / trial.name)[start - 1]["time_total_s"] > 0
        assert_same(last_arrays(trial)[1], last_arrays(expected)[1])
    fork_of = ExperimentSpec.read(folder).fork_of
    (start,) = fork_of.starts
    assert (fork_of.name, [start.iteration], start.past) == ("interrupted", starts, "")
    assert (start.config, start.steps) == (spec.configs[0], restored[0].checkpoints.newest.steps)
    assert restore(folder, ExperimentSpec.read(folder)).keys() == {"00000"}


def test_a_fork_takes_new_settings_but_none_that_its_checkpoints_do_not_fit(interrupted):
    _, restored = forked(TRPO, flags(interrupted.parent, fork="interrupted"))
    assert changed(restored[0], {"gamma": 0.5}, TRPOConfig).gamma == 0.5
    with pytest.raises(ConfigError, match="--fork cannot change hidden_sizes"):
        changed(restored[0], {"hidden_sizes": "4"}, TRPOConfig)
    with pytest.raises(ConfigError, match="gamma=2"):
        changed(restored[0], {"gamma": 2.0}, TRPOConfig)
