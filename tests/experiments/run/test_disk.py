"""What makes an experiment wait, or keeps it from starting: a disk that is nearly full."""

import shutil

import pytest
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.train._internal.session import _TrainingResult
from ray.tune import Checkpoint

from experiments.plan.learners import PG, TRPO
from experiments.run import disk
from experiments.run.disk import RESERVE_BYTES, DiskGuard, checkpoint_bytes, require_disk
from experiments.run.stop_signals import StopSignals
from experiments.run.tuner import make_tuner
from tests.helpers.small_experiments import last_arrays, small_spec
from tests.helpers.trials import CARTPOLE
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig
from trainables.metrics import METRIC


@pytest.fixture
def free(monkeypatch):
    """The disk's free bytes, look by look; a second passes between two looks."""
    looks = []
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=looks.pop(0)))
    monkeypatch.setattr(disk.time, "sleep", lambda seconds: None)
    return looks


def test_an_experiment_waits_while_the_disk_is_nearly_full_and_says_so_once(free, tmp_path, capsys):
    free += [RESERVE_BYTES - 1, RESERVE_BYTES - 1, 0, RESERVE_BYTES]
    DiskGuard(tmp_path, StopSignals()).on_step_begin(iteration=1, trials=[])
    assert free == [], "it looked until there was room"
    output = capsys.readouterr().err
    assert output.count("is nearly full") == 1
    assert "There is room again" in output


def test_a_signal_ends_the_wait(free, tmp_path):
    free += [0]
    signals = StopSignals()
    guard = DiskGuard(tmp_path, signals)
    signals.received = 15
    guard.on_step_begin(iteration=1, trials=[])
    assert free == []


def test_an_experiment_whose_checkpoints_have_no_room_is_refused(free, tmp_path):
    spec = small_spec(
        "pg",
        [PGConfig(method="reinforce", slots=0, batch_size=1, optimiser=optimiser) for optimiser in ("rmsprop", "adam")],
    )
    # theta, RMSProp's mean square; theta, Adam's two moments, its counter. Two best, the latest, one being written
    assert checkpoint_bytes(PG, spec) == pytest.approx(4 * (2 + 3) * 4 * 6401 * 200, rel=1e-3)
    free += [RESERVE_BYTES + checkpoint_bytes(PG, spec) - 1, 10 * RESERVE_BYTES]
    with pytest.raises(ConfigError, match="checkpoints take up to 102 MB and 210 MB stay free, but 312 MB are left"):
        require_disk(tmp_path / "not" / "there" / "yet", PG, spec)
    assert require_disk(tmp_path, PG, spec) == checkpoint_bytes(PG, spec)


def test_three_checkpoints_a_trial_were_reckoned_where_there_are_four(tmp_path):
    """Tune's own bookkeeping, with falling scores: the latest is never among the best."""
    spec = small_spec("trpo", [TRPOConfig(**CARTPOLE)])
    config = make_tuner(TRPO, tmp_path, spec, {})._local_tuner._run_config.checkpoint_config
    manager, found = _CheckpointManager(config), 0
    for index in range(10):
        folder = tmp_path / f"checkpoint_{index:06d}"
        folder.mkdir()
        found = max(found, len([*tmp_path.glob("checkpoint_*")]))
        manager.register_checkpoint(_TrainingResult(Checkpoint(folder), {METRIC: -index}))
    assert found == 4
    arrays = TRPO.trainable.untrained(TRPOConfig(**CARTPOLE)).arrays
    assert checkpoint_bytes(TRPO, spec) == found * sum(array.nbytes for array in arrays.values())


def test_the_estimate_is_what_a_trial_writes(ray_cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    config = TRPOConfig(**CARTPOLE)
    trial = TRPO.trainable(config=config.to_dict())
    trial.train()
    trial.save(str(tmp_path / "trial" / "checkpoint_000000"))
    trial.stop()
    _, arrays = last_arrays(tmp_path / "trial")
    assert checkpoint_bytes(TRPO, small_spec("trpo", [config])) == 4 * sum(array.nbytes for array in arrays.values())


def test_an_experiment_that_keeps_all_checkpoints_was_reckoned_with_those_of_one_that_keeps_the_best(free, tmp_path):
    one = small_spec("trpo", [TRPOConfig(**CARTPOLE | {"eval_interval": 5})], iterations=20, keep_checkpoints=0)
    size = checkpoint_bytes(TRPO, one.but(keep_checkpoints=2)) // 4
    assert checkpoint_bytes(TRPO, one) == (20 // 2 + 20 // 5 + 1 + 2) * size
    halved = one.but(configs=one.configs * 9, scheduler="halving", rungs=[4, 10, 20])
    begin, middle, end = 9 * (2 + 1 + 1), 3 * (3 + 2 + 1), 1 * (5 + 2 + 1)
    assert checkpoint_bytes(TRPO, halved) == (begin + middle + end + 9 * 2) * size
    free += [RESERVE_BYTES + 16 * size]
    with pytest.raises(ConfigError, match="--keep-checkpoints best takes less"):
        require_disk(tmp_path, TRPO, one)
