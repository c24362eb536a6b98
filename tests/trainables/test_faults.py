"""What a trial makes of faults: of its workers, of its checkpoints, and of its own arithmetic."""

import pickle
import shutil

import numpy as np
import pytest
import ray
from ray import tune

from tests.helpers import faults
from tests.helpers.faults import faulty
from tests.helpers.trials import CARTPOLE, Trap, arrays_of, assert_same, serial, untimed, wait_until
from trainables.algorithms.trpo import TRPO
from trainables.checkpoints import CheckpointError
from trainables.trainable import PongPG, PongTRPO

REINFORCE = {"method": "reinforce", "optimiser": "rmsprop", "half_life": 0}
PIXELS = REINFORCE | {
    "slots": 0,
    "hidden_size": 8,
    "games_per_update": 2,
    "num_workers": 1,
    "seed": 4,
    "eval_interval": 0,
}
MEMORY = {"slots": 3, "segment_length": 100, "updates_per_iteration": 1, "hidden_sizes": (4,), "num_workers": 1}
MEMORY |= {"seed": 4, "eval_interval": 0}


def run(trainable, settings, folder, **run_config):
    """A trial under Tune, as a grid of one."""
    config = tune.RunConfig(storage_path=str(folder), stop={"training_iteration": 2}, verbose=0, **run_config)
    return tune.Tuner(trainable, param_space=settings, run_config=config).fit()


def assert_all_cpus_are_back():
    wait_until(lambda: ray.available_resources().get("CPU", 0) == 4, "CPUs are still held")


@pytest.mark.slow
def test_a_worker_that_dies_in_a_segment_changes_no_bit_of_a_trial(make_trial, tmp_path):
    undisturbed = serial(PongTRPO)(config=MEMORY)
    disturbed = make_trial(faulty(PongTRPO, faults.die, (1, 1), tmp_path / "marker"), MEMORY, num_workers=2)
    for restarts in (0, 1, 0):
        expected, result = undisturbed.train(), disturbed.train()
        assert untimed(result) == untimed(expected)
        assert (expected["perf/worker_restarts"], result["perf/worker_restarts"]) == (0, restarts)
    assert_same(disturbed.arrays, undisturbed.arrays)


@pytest.mark.slow
def test_workers_without_a_bundle_are_an_error_at_once(ray_cluster, tmp_path):
    class Stingy(PongTRPO):
        @classmethod
        def default_resource_request(cls, config):
            return tune.PlacementGroupFactory([{}, {"CPU": 1}])

    (error,) = run(Stingy, CARTPOLE | {"cpus_per_worker": 2.0}, tmp_path).errors
    assert "num_workers=1 with cpus_per_worker=2 does not fit: what the trial reserved holds 0" in str(error)
    assert "wanted are bundles of 2 CPUs, one a worker, beside the trial's own" in str(error)
    assert_all_cpus_are_back()


def test_an_update_that_returns_arrays_of_another_form_is_an_error_at_once():
    class Wider(TRPO):
        def update(self, *args):
            arrays, metrics = super().update(*args)
            return arrays | {"theta": arrays["theta"].astype(np.float64)}, metrics

    trial = serial(type("Wider", (PongTRPO,), {"make_algorithm": staticmethod(Wider)}))(config=CARTPOLE)
    with pytest.raises(ValueError, match=r"arrays of another form: theta was float32 \(\d+,\) and is float64 \(\d+,\)"):
        trial.train()


@pytest.mark.slow
def test_a_trial_takes_over_processes_of_which_one_has_died(make_trial):
    trial = make_trial(PongTRPO, CARTPOLE)
    trial.train()
    ray.kill(trial.pool._actors[0])
    assert trial.reset(CARTPOLE | {"seed": 5})
    other = serial(PongTRPO)(config=CARTPOLE | {"seed": 5})
    assert untimed(trial.train()) == untimed(other.train())


def exploding(trial):
    """Parameters that are still finite, of a network whose outputs are not."""
    trial.arrays = trial.arrays | {"theta": np.full_like(trial.arrays["theta"], 1e38)}


@pytest.mark.parametrize(
    ("trainable", "settings", "explode"),
    [
        (PongPG, PIXELS | {"learning_rate": 1e30}, None),
        (PongPG, PIXELS, exploding),
        (PongTRPO, CARTPOLE, exploding),
    ],
    ids=["learning rate 1e30", "pg", "trpo"],
)
def test_a_trial_that_diverges_keeps_its_last_finite_state_and_ends(tmp_path, trainable, settings, explode):
    trial = serial(trainable)(config=settings)
    if explode:
        healthy = trial.step()
        assert healthy["diverged"] == 0
        explode(trial)
    before = trial.arrays
    result = trial.step()
    assert result.pop("done")
    if explode:
        assert [*result] == [*healthy]
    assert (result["episode_score"], result["diverged"]) == (-21, 1)
    assert np.isfinite([*result.values()]).all()
    assert_same(trial.arrays, before)
    trial.save(str(tmp_path / "c"))
    trial.restore(str(tmp_path / "c"))
    assert trial.episodes.steps == result["timesteps_total"], "the games were played, and count"


def test_an_absurd_trust_region_does_not_diverge():
    trial = serial(PongTRPO)(config=CARTPOLE | {"max_kl": 1e30})
    for _ in range(3):
        result = trial.step()
        assert np.isfinite([*result.values()]).all()
        assert result["diverged"] == 0


@pytest.fixture(scope="module")
def saved_once(tmp_path_factory):
    trial, storage = serial(PongTRPO)(config=CARTPOLE), tmp_path_factory.mktemp("saved")
    for index in range(2):
        trial.train()
        trial.save(str(storage / f"checkpoint_{index:06d}"))
    return trial, storage


@pytest.fixture
def saved(saved_once, tmp_path):
    """A trial after two iterations or more, and its checkpoints of both."""
    trial, storage = saved_once
    return trial, sorted(shutil.copytree(storage, tmp_path / "saved").iterdir())


def test_a_checkpoint_that_is_gone_or_holds_a_pickle_gives_way_to_its_sibling_and_nothing_is_run(saved, tmp_path):
    trial, folders = saved
    bait = pickle.dumps(Trap(tmp_path / "sprung"))
    (folders[1] / "_dict_checkpoint.pkl").write_bytes(bait)
    for unusable in (folders[1], folders[1].with_name("checkpoint_000099")):
        trial.train()
        trial.restore(str(unusable))
        assert trial.iteration == 1, "the sibling's"
        assert_same(trial.arrays, arrays_of(folders[0]))
    (folders[0] / "_dict_checkpoint.pkl").write_bytes(bait)
    with pytest.raises(CheckpointError, match=r"checkpoint_000001: holds a pickle"):
        trial.restore(str(folders[1]))
    assert not (tmp_path / "sprung").exists()
