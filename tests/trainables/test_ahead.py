"""Workers that begin the next iteration's games at the end of a step, as they do under Tune."""

import pytest
from ray import tune

from tests.helpers.faults import faulty
from tests.helpers.trials import CARTPOLE, SEGMENTS, assert_same, serial, untimed, wait_until
from trainables.trainable import PongPG, PongTRPO

PIXELS = SEGMENTS | {"hidden_size": 8, "num_workers": 2, "seed": 4, "eval_interval": 0}
AHEAD = {each: type("Ahead", (each,), {"plays_ahead": True}) for each in (PongPG, PongTRPO)}
EVALUATED = CARTPOLE | {"eval_interval": 1, "eval_games": 2}


@pytest.mark.slow
def test_under_tune_the_next_games_begin_before_the_checkpoint_is_written(ray_cluster, tmp_path):
    marker = tmp_path / "begun"

    class Waiting(faulty(PongTRPO, lambda: None, (1, 0), marker)):
        def save_checkpoint(self, checkpoint_dir):
            if self.iterations == 1:
                wait_until(marker.exists, "no worker has begun the second iteration")
            super().save_checkpoint(checkpoint_dir)

    run = tune.RunConfig(
        storage_path=str(tmp_path),
        stop={"training_iteration": 2},
        checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1),
        verbose=0,
    )
    (result,) = tune.Tuner(Waiting, param_space=CARTPOLE, run_config=run).fit()
    assert not result.error
    assert result.metrics["training_iteration"] == 2


@pytest.mark.parametrize(
    ("trainable", "settings"),
    [pytest.param(PongPG, PIXELS, marks=pytest.mark.slow), (PongTRPO, EVALUATED)],
    ids=["pg", "trpo"],
)
def test_games_begun_ahead_change_no_bit(reused, trainable, settings):
    one_by_one, before = serial(trainable)(config=settings), reused(AHEAD[trainable], settings)
    for _ in range(3):
        assert untimed(before.train()) == untimed(one_by_one.train())
    assert_same(before.arrays, one_by_one.arrays)


def test_a_pause_for_disk_space_is_no_time_of_the_trial():
    cartpole = serial(AHEAD[PongTRPO])(config=CARTPOLE)
    first = cartpole.train()
    cartpole._ahead.began -= 1000  # as if it had waited so many seconds
    second = cartpole.train()
    assert 0 < second["time_this_iter_s"] < 500
    assert second["perf/rollout_s"] < 500
    assert second["time_total_s"] == first["time_total_s"] + second["time_this_iter_s"]


@pytest.mark.slow
def test_a_trial_that_goes_back_begins_anew_and_leaves_the_games_that_it_began(reused, tmp_path):
    cartpole = reused(AHEAD[PongTRPO], CARTPOLE)
    cartpole.train()
    cartpole.save(str(tmp_path / "c"))
    expected, arrays = cartpole.train(), cartpole.arrays
    cartpole.restore(str(tmp_path / "c"))
    assert untimed(cartpole.train()) == untimed(expected)
    assert_same(cartpole.arrays, arrays)


@pytest.mark.parametrize(
    ("trainable", "settings", "other"),
    [
        pytest.param(PongPG, PIXELS, {"hidden_size": 12, "segment_length": 300}, marks=pytest.mark.slow),
        (PongTRPO, EVALUATED, {"max_kl": 0.05, "hidden_sizes": (4, 4), "env_id": "Acrobot-v1"}),
    ],
    ids=["pg", "trpo"],
)
def test_a_trial_that_becomes_another_one_has_its_bits(reused, trainable, settings, other):
    """Games of the former that are under way are none of its own."""
    fresh, reset = serial(trainable)(config=settings | other), reused(AHEAD[trainable], settings)
    for _ in range(2):
        reset.train()
    assert reset.reset(settings | other | {"seed": fresh.settings.seed})
    assert_same(reset.arrays, trainable.untrained(fresh.settings).arrays)
    for _ in range(2):
        assert untimed(reset.train()) == untimed(fresh.train())
    assert_same(reset.arrays, fresh.arrays)
    assert reset.film == fresh.film
