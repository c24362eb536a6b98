"""What a command line asks for, and what of it is refused before anything starts: without Ray."""

import shutil

import pytest
from ray.train._internal.checkpoint_manager import _CheckpointManager
from ray.train._internal.session import _TrainingResult
from ray.tune import Checkpoint

from experiments.ask.budget import Budget
from experiments.disk.spec import Confirm, ExperimentSpec
from experiments.plan.learners import PG, TRPO
from experiments.run import lifecycle
from experiments.run.continuation import continuation
from experiments.run.draft import Draft, require_possible
from experiments.run.lifecycle import perform
from experiments.run.preconditions import RESERVE_BYTES, require_free
from experiments.run.session import Session
from experiments.run.tuner import make_tuner
from tests.helpers.small_experiments import flags, small_spec
from tests.helpers.trials import CARTPOLE
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig
from trainables.metrics import METRIC

ASKED = Confirm(best=1, seeds=2)


@pytest.fixture
def done(monkeypatch):
    """What would have run: new experiments by their names, others by their folders'; each is interrupted."""
    names = []
    monkeypatch.setattr(lifecycle, "start", lambda draft: (names.append(draft.run.name) or 130, None))
    monkeypatch.setattr(lifecycle, "go_on", lambda asked: names.append(asked.folder.name) or 130)
    return names


def resumed(storage, name, asked=None):
    return continuation(PG, flags(storage, resume=name), confirm=asked)


def test_a_confirmation_that_cannot_be_run_is_left_out_with_status_3(tmp_path, monkeypatch, capsys):
    write_experiment(
        tmp_path, "sweep", "pg", [({}, [], "running")], planned=3, confirm=ASKED.model_dump(), ended="time budget"
    )
    monkeypatch.setattr(lifecycle, "go_on", lambda *of: 0)
    assert perform(resumed(tmp_path, "sweep")) == 3
    assert capsys.readouterr().err == "--confirm was left out: no trial has a result\n"


@pytest.mark.parametrize(
    ("record", "confirmed", "goes_on"),
    [
        ({"confirm": ASKED.model_dump()}, "running", "sweep-confirm"),
        ({"confirm": ASKED.model_dump(), "ended": "time budget"}, "running", "sweep-confirm"),
        ({"confirm": ASKED.model_dump(), "extended": [{"iterations": 5, "timesteps": None}]}, None, "sweep"),
        ({"ended": "time budget"}, None, "sweep"),
    ],
    ids=["confirmation killed", "its sweep had too little time", "extension killed", "no confirmation promised"],
)
def test_what_a_resumed_sweep_goes_on_with(record, confirmed, goes_on, done, tmp_path):
    write_experiment(tmp_path, "sweep", "pg", [({}, [-20], "running")], planned=2, **record)
    if "confirm" in record:
        write_experiment(tmp_path, "sweep-confirm", "pg", [({"seed": 3}, [-20], confirmed)], confirms="sweep")
    assert perform(resumed(tmp_path, "sweep")) == 130
    assert done == [goes_on]


def test_a_confirmation_can_be_promised_when_the_sweep_is_over_but_only_one(done, tmp_path):
    folder = write_experiment(tmp_path, "sweep", "pg", [({}, [-20], None)], ended="all done")
    assert perform(resumed(tmp_path, "sweep", ASKED)) == 130
    assert done == ["sweep-confirm"]
    assert ExperimentSpec.read(folder).confirm == ASKED
    with pytest.raises(ConfigError, match="sweep promises the best 1 already; leave it out"):
        resumed(tmp_path, "sweep", Confirm(best=1, seeds=3))
    write_experiment(tmp_path, "other", "pg", [({}, [-20], None)], confirms="sweep")
    with pytest.raises(ConfigError, match="other is a confirmation"):
        resumed(tmp_path, "other", ASKED)


def test_a_name_that_the_confirmation_would_find_taken_is_refused_at_the_start(tmp_path):
    run = flags(tmp_path, name="sweep")
    require_free(run, confirms=True)
    write_experiment(tmp_path, "sweep-confirm", "pg", [({}, [-20], None)])
    with pytest.raises(ConfigError, match="'sweep-confirm', which exists already"):
        require_free(run, confirms=True)


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
    one = drafted(tmp_path, TRPO, configs, 20, kept="all")
    assert one.checkpoint_bytes == (20 // 2 + 20 // 5 + 1 + 2) * size
    halved = drafted(tmp_path, TRPO, configs * 9, 20, "halving", "all")
    assert halved.rungs == [2, 6, 20]
    begin, middle, end = 9 * (1 + 1 + 1), 3 * (2 + 1 + 1), 1 * (7 + 3 + 1)
    assert halved.checkpoint_bytes == (begin + middle + end + 9 * 2) * size
    free += [RESERVE_BYTES + 16 * size]
    with pytest.raises(ConfigError, match="--keep-checkpoints best takes less"):
        require_possible(one)
