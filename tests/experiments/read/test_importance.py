"""The importance of settings, by identities and by simulation: a short version of the table in
docs/reading_results.md."""

import numpy as np
import pytest
from scipy.stats import qmc

from experiments.read.configurations import by_configuration
from experiments.read.experiments import read_experiment
from experiments.read.statistics import MIN_CONFIGURATIONS, importance, importances
from tests.helpers.written_experiments import write_experiment

REPEATS = 200


def drawn(rng, trials, settings=3):
    """As a sweep draws them (trials, settings)."""
    return qmc.LatinHypercube(settings, rng=rng).random(trials)


def slope(u):
    """Of variance 1."""
    return (2 * u - 1) * 3**0.5


def peak(u):
    """Of variance 1."""
    return (1 / 3 - (2 * u - 1) ** 2) / (4 / 45) ** 0.5


@pytest.mark.parametrize("trials", [20, 64])
def test_what_depends_on_one_setting_alone_gives_it_all_and_the_others_nothing(trials):
    rng = np.random.default_rng(trials)
    zero = 0
    for repeat in range(20):
        sample = drawn(rng, trials)
        scores = (slope, peak)[repeat % 2](sample[:, 0]) + 1e-3 * rng.normal(size=trials)
        first, *others = (importance(list(sample[:, column]), scores) for column in range(3))
        assert first.value > 0.98
        assert 0.9 < first.low <= first.high <= 1
        zero += sum(other.low == 0 for other in others)
    assert zero >= 36, "one in forty intervals leaves out 0 by chance"


@pytest.mark.parametrize(
    ("trials", "shape", "share"), [(20, slope, 0.0), (20, peak, 0.5), (32, slope, 0.6), (64, slope, 0.3)]
)
def test_intervals_hold_the_true_share_in_95_of_100_cases(trials, shape, share):
    rng = np.random.default_rng(trials)
    found = []
    for _ in range(REPEATS):
        u = drawn(rng, trials)[:, 0]
        noise = rng.normal(size=trials)
        found.append(importance(list(u), share**0.5 * shape(u) + (1 - share) ** 0.5 * noise))
    value, low, high = np.array(found).T
    assert np.mean((low <= share) & (share <= high)) >= 0.91  # three standard errors of the share are 0.046
    assert value.mean() == pytest.approx(share, abs=0.07)


def test_a_logarithm_and_a_shift_and_a_scale_change_nothing():
    rng = np.random.default_rng(0)
    values, scores = rng.uniform(1e-4, 1e-2, 24), rng.normal(size=24)
    expected = importance(list(values), scores)
    assert importance(list(np.log(values)), 7 - 3 * scores) == pytest.approx(expected)


def test_choices_are_groups_and_their_share_is_that_of_an_analysis_of_variance():
    values = ["32-32"] * 10 + ["64-64"] * 10 + ["128-128"] * 10
    scores = np.random.default_rng(0).normal(size=30) + np.repeat([0.0, 1.0, 3.0], 10)
    means = scores.reshape(3, 10).mean(axis=1)
    within = ((scores - np.repeat(means, 10)) ** 2).sum() / 27
    assert importance(values, scores).value == pytest.approx(1 - within / scores.var(ddof=1))  # Kelley 1935
    numbers = [{"32-32": 32, "64-64": 64, "128-128": 128}[value] for value in values]
    assert importance(numbers, scores) == importance(values, scores)
    exact = importance(values, np.repeat([0.0, 1.0, 3.0], 10))
    assert exact.value == 1
    assert exact.low > 0.99


@pytest.mark.parametrize(
    ("values", "scores"),
    [
        ([1.0] * 24, list(range(24))),
        (list(range(24)), [-21.0] * 24),
        ([f"text {i}" for i in range(24)], list(range(24))),
        (list(range(19)), list(range(19))),
        ([], []),
    ],
    ids=["one value", "one score", "as many choices as trials", "too few", "none"],
)
def test_nothing_is_said_of(values, scores):
    assert np.isnan(importance(values, scores)).all()


def test_ties_missing_values_and_booleans_are_values_like_others():
    scores = np.arange(24.0)
    assert importance([1, 2, 3, 4, 5, 6] * 4, scores).low == 0
    assert importance([None] * 12 + [0.5] * 12, scores).low > 0
    assert importance([False] * 12 + [True] * 12, scores) == importance(["a"] * 12 + ["b"] * 12, scores)


def test_seeds_of_a_configuration_count_once_and_trials_without_a_score_not_at_all(tmp_path):
    rng = np.random.default_rng(0)
    rates = [float(rate) for rate in rng.uniform(1e-4, 1e-2, MIN_CONFIGURATIONS)]
    trials = [
        ({"learning_rate": rate, "seed": seed}, [-20.0 + 1000 * rate + seed], None) for rate in rates for seed in (0, 1)
    ]
    experiment = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))
    scores = [trial.last for trial in experiment.trials]
    configurations = by_configuration([experiment])
    count, found = importances(configurations, experiment.trials, scores, ["learning_rate", "gamma"])
    assert count == MIN_CONFIGURATIONS
    assert [*found] == ["learning_rate", "gamma"]
    assert found["learning_rate"].value > 0.99
    assert np.isnan(found["gamma"].value)
    scores[:2] = [np.nan, np.nan]
    count, found = importances(configurations, experiment.trials, scores, ["learning_rate"])
    assert count == MIN_CONFIGURATIONS - 1
    assert np.isnan(found["learning_rate"].value)
