"""What makes an experiment wait, or keeps it from starting: a disk that is nearly full."""

import dataclasses
import shutil

import pytest

from experiments.plan.learners import PG, TRPO
from experiments.run import disk
from experiments.run.disk import RESERVE_BYTES, DiskGuard, checkpoint_bytes, require_disk
from experiments.run.stop_signals import StopSignals
from tests.helpers.small_experiments import last_arrays, small_spec
from tests.helpers.trials import CARTPOLE
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig


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
    spec = small_spec("pg", [PGConfig(method="reinforce", optimiser=optimiser) for optimiser in ("rmsprop", "adam")])
    # theta and RMSProp's mean square; theta, Adam's two moments, and its counter; two are kept and one is written
    assert checkpoint_bytes(PG, spec) == pytest.approx(3 * (2 + 3) * 4 * 6401 * 200, rel=1e-3)
    free += [RESERVE_BYTES + checkpoint_bytes(PG, spec) - 1, 10 * RESERVE_BYTES]
    with pytest.raises(ConfigError, match="checkpoints take up to 77 MB and 210 MB stay free, but 287 MB are left"):
        require_disk(tmp_path / "not" / "there" / "yet", PG, spec)
    assert require_disk(tmp_path, PG, spec) == checkpoint_bytes(PG, spec)


def test_the_estimate_is_what_a_trial_writes(ray_cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    config = TRPOConfig(**CARTPOLE)
    trial = TRPO.trainable(config=config.to_dict())
    trial.train()
    trial.save(str(tmp_path / "trial" / "checkpoint_000000"))
    trial.stop()
    _, arrays = last_arrays(tmp_path / "trial")
    spec = dataclasses.replace(small_spec("trpo", [config]), scheduler="pbt")
    assert checkpoint_bytes(TRPO, spec) == 5 * sum(array.nbytes for array in arrays.values())
