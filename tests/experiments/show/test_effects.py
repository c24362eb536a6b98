"""The figure of what each setting does: which trials it compares, and its marginal means."""

import numpy as np
import pytest

from experiments.read.trials import read_experiment
from experiments.show.effects import comparable, marginal_means
from tests.helpers.written_experiments import write_experiment


def test_effects_compare_at_equal_steps_where_stopped_trials_had_looked_bad_for_being_young(tmp_path):
    whole, stopped, better = [-20, -19, -18, -10], [-20, -17], [-20, -15, -5, -1]
    folder = write_experiment(
        tmp_path, "sweep", "pg", [({"seed": i}, returns, None) for i, returns in enumerate((whole, stopped, better))]
    )
    young = write_experiment(tmp_path, "more", "pg", [({}, [-21], "running"), ({"seed": 1}, [-19, -16, -9], "running")])
    trials = [trial for name in (folder, young) for trial in read_experiment(name).trials]
    steps, shown, scores = comparable(trials)
    assert (steps, scores) == (2000, [-19, -17, -15, -16])
    assert [len(trial.rows) for trial in shown] == [4, 2, 4, 3], "one that has just begun is left out"


def test_marginal_means_are_means_over_ranges_and_equal_values_stay_together():
    values, scores = [1, 1, 1, 1, 2, 3, 4, 5], [-20, -10, -20, -10, -1, -2, -3, -6]
    assert marginal_means(values, scores) == [(1, 1, -15, 4), (2, 5, -3, 4)]
    assert marginal_means([1, 2, 3, 4, 5], [0] * 5) == [], "too few for two ranges"
    random = np.random.default_rng(0)
    values, scores = random.uniform(size=50), random.normal(size=50)
    means = marginal_means(values, scores)
    assert sum(mean.trials for mean in means) == 50
    assert sum(mean.score * mean.trials for mean in means) == pytest.approx(sum(scores))


def test_a_trial_that_ended_before_the_first_result_of_others_turned_all_effects_into_nan(tmp_path):
    small, large = {"segment_length": 64}, {"segment_length": 512}
    folder = write_experiment(tmp_path, "sweep", "pg", [(small, [-21], None), *[(large, [-20, -18], None)] * 3])
    for path in sorted(folder.glob("*/result.json"))[1:]:  # an update of these is of more steps
        path.write_text(path.read_text(encoding="utf-8").replace('_total": ', '_total": 1'))
    steps, shown, scores = comparable(read_experiment(folder).trials)
    assert (steps, scores) == (12000, [-18] * 3)
    assert [trial.config["segment_length"] for trial in shown] == [512] * 3
