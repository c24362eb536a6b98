"""What room checkpoints need, and that an experiment without it is refused before anything starts."""

import shutil

import pytest
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.train._internal.session import _TrainingResult
from ray.tune import Checkpoint

from experiments.ask.budget import Budget
from experiments.plan.learners import PG, TRPO
from experiments.run.draft import Draft, require_possible
from experiments.run.preconditions import RESERVE_BYTES
from experiments.run.session import Session
from experiments.run.tuner import make_tuner
from tests.helpers.small_experiments import flags, small_spec
from tests.helpers.trials import CARTPOLE
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig
from trainables.metrics import METRIC


@pytest.fixture
def free(monkeypatch):
    """The disk's free bytes, look by look."""
    looks, usage = [], shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=looks.pop(0)))
    return looks


def drafted(storage, learner, configs, iterations=4, scheduler="fifo", kept="best"):
    run = flags(storage, checkpoint_frequency=2, keep_checkpoints=kept)
    return Draft(learner, run, Budget(iterations), configs, scheduler=scheduler)


def test_an_experiment_whose_checkpoints_have_no_room_is_refused(free, tmp_path):
    settings = {"method": "reinforce", "slots": 0, "games_per_update": 1}
    configs = [PGConfig(**settings, optimiser=optimiser) for optimiser in ("rmsprop", "adam")]
    deep, here = (drafted(folder, PG, configs) for folder in (tmp_path / "not" / "there" / "yet", tmp_path))
    # theta, RMSProp's mean square; theta, Adam's two moments, its counter. Two best, the latest, one being written
    assert here.checkpoint_bytes == pytest.approx(4 * (2 + 3) * 4 * 6401 * 200, rel=1e-3)
    free += [RESERVE_BYTES + here.checkpoint_bytes - 1, 10 * RESERVE_BYTES]
    with pytest.raises(ConfigError, match="checkpoints take up to 102 MB and 210 MB stay free, but 312 MB are left"):
        require_possible(deep)
    require_possible(here)


def test_as_many_checkpoints_are_reckoned_as_tune_keeps_at_most(tmp_path):
    """Tune's own bookkeeping, with falling scores: the latest is never among the best."""
    spec = small_spec("trpo", [TRPOConfig(**CARTPOLE)])
    config = make_tuner(Session(TRPO, tmp_path, spec), {})._local_tuner._run_config.checkpoint_config
    manager, found = _CheckpointManager(config), 0
    for index in range(10):
        folder = tmp_path / f"checkpoint_{index:06d}"
        folder.mkdir()
        found = max(found, len([*tmp_path.glob("checkpoint_*")]))
        manager.register_checkpoint(_TrainingResult(Checkpoint(folder), {METRIC: -index}))
    assert found == 4
    state = TRPO.trainable.untrained(TRPOConfig(**CARTPOLE))
    state.save_checkpoint(str(folder))
    draft = drafted(tmp_path, TRPO, [TRPOConfig(**CARTPOLE)])
    assert draft.checkpoint_bytes == found * sum(array.nbytes for array in state.arrays.values())


def test_an_experiment_that_keeps_all_checkpoints_is_reckoned_with_all_of_each_round(free, tmp_path):
    configs = [TRPOConfig(**CARTPOLE | {"eval_interval": 5})]
    size = drafted(tmp_path, TRPO, configs, 20).checkpoint_bytes // 4
    one, many = (drafted(tmp_path, TRPO, configs, 20, kept=kept) for kept in ("all", "1000"))
    assert one.checkpoint_bytes == many.checkpoint_bytes == (20 // 2 + 20 // 5 + 1 + 2) * size
    halved = drafted(tmp_path, TRPO, configs * 9, 20, "halving", "all")
    assert halved.rungs == [2, 6, 20]
    begin, middle, end = 9 * (1 + 1 + 1), 3 * (2 + 1 + 1), 1 * (7 + 3 + 1)
    assert halved.checkpoint_bytes == (begin + middle + end + 9 * 2) * size
    run = flags(tmp_path, checkpoint_frequency=2, keep_checkpoints="all")
    pairs = [number // 2 for number in range(14)]
    twice = Draft(TRPO, run, Budget(20), configs * 14, scheduler="halving", configuration_of=pairs)
    begin, middle, end = 14 * (1 + 1 + 1), 4 * (2 + 1 + 1), 2 * (7 + 3 + 1)
    assert twice.checkpoint_bytes == (begin + middle + end + 14 * 2) * size, "both seeds go on"
    free += [RESERVE_BYTES + 16 * size]
    with pytest.raises(ConfigError, match="--keep-checkpoints best takes less"):
        require_possible(one)
