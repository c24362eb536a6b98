"""The value baseline: what a fit promises."""

import numpy as np
import pytest

from trainables.learning import inputs
from trainables.learning.baseline import ValueBaseline, _loss, explained_variance

RNG = np.random.default_rng(0)
X_ND = RNG.standard_normal((500, 4)).astype(np.float32)
RETURN_N = 50 + 10 * np.sin(X_ND[:, 0]) + X_ND[:, 1]
BASELINE = ValueBaseline(num_inputs=4, hidden_sizes=(16, 16), max_iterations=25)


@pytest.fixture(scope="module")
def value():
    return BASELINE.init(np.random.default_rng(1))


def test_the_loss_has_the_gradient_that_it_says(value):
    loss = _loss(BASELINE.mlp, X_ND, RNG.standard_normal(len(X_ND)).astype(np.float32), l2=1e-3)
    theta_p = value.theta_p.astype(np.float64)
    _, gradient_p = loss(theta_p)
    # The network is float32, so the step is wide: the differences are good to about 1e-3.
    for index in RNG.choice(len(theta_p), 30, replace=False):
        shift = np.zeros_like(theta_p)
        shift[index] = 1e-2
        numeric = (loss(theta_p + shift)[0] - loss(theta_p - shift)[0]) / 2e-2
        assert gradient_p[index] == pytest.approx(numeric, rel=2e-2, abs=1e-3)


def test_fits_explain_returns_of_any_unit(value):
    for unit in (1e-3, 1.0, 1e3):
        fitted, info = BASELINE.fit(value, X_ND, unit * RETURN_N)
        assert info["explained_variance_after"] > 0.9
        assert info["explained_variance_after"] > info["explained_variance_before"]
        prediction_n = BASELINE.predict(fitted, X_ND)
        assert explained_variance(prediction_n, unit * RETURN_N) == info["explained_variance_after"]


def test_the_mix_holds_a_fit_near_its_old_predictions(value):
    fitted, _ = BASELINE.fit(value, X_ND, RETURN_N)
    old_n = BASELINE.predict(fitted, X_ND)
    careful = ValueBaseline(num_inputs=4, hidden_sizes=(16, 16), mix=0.1)
    moved_n = careful.predict(careful.fit(fitted, X_ND, RETURN_N + 10)[0], X_ND)
    assert np.mean(moved_n - old_n) == pytest.approx(0.1 * np.mean(RETURN_N + 10 - old_n), rel=0.1)


def test_a_fit_to_some_steps_is_a_fit_that_knows_no_others(value):
    sparse = ValueBaseline(num_inputs=4, hidden_sizes=(16, 16), max_iterations=25, every=3)
    fitted, info = sparse.fit(value, X_ND, RETURN_N)
    alone, _ = BASELINE.fit(value, X_ND[::3], RETURN_N[::3])
    for one, other in zip(fitted, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    assert info["explained_variance_after"] == explained_variance(BASELINE.predict(fitted, X_ND), RETURN_N)


def test_constant_returns_are_learned_and_explain_nothing(value):
    fitted, info = BASELINE.fit(value, X_ND, np.full(len(X_ND), 3.0))
    assert info["explained_variance_after"] == 0
    np.testing.assert_allclose(BASELINE.predict(fitted, X_ND), 3)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_fit_that_is_not_finite_is_dropped(value):
    return_n = RETURN_N.copy()
    return_n[7] = np.nan
    assert BASELINE.fit(value, X_ND, return_n)[0] is value


def test_inputs_that_stay_zero_change_nothing(value):
    wide = ValueBaseline(num_inputs=7, hidden_sizes=(16, 16), max_iterations=25)
    columns, wide_nd = np.array([0, 2, 3, 6]), np.zeros((len(X_ND), 7), np.float32)
    wide_nd[:, columns] = X_ND
    start = wide.init(np.random.default_rng(2))
    start.theta_p[:] = wide.mlp.expand_params(value.theta_p, columns, start.theta_p)
    fitted, info = wide.fit(start, wide_nd, RETURN_N)
    narrow_fitted, narrow_info = BASELINE.fit(value, X_ND, RETURN_N)
    assert info == pytest.approx(narrow_info, rel=1e-2)
    np.testing.assert_allclose(wide.predict(fitted, wide_nd), BASELINE.predict(narrow_fitted, X_ND), rtol=0.01)
    np.testing.assert_array_equal(wide.mlp.layers(fitted.theta_p)[0].weight[1], start.theta_p[16:32])


def test_blocks_of_rows_fit_as_the_whole_batch_does(value, monkeypatch):
    fitted, info = BASELINE.fit(value, X_ND, RETURN_N)
    monkeypatch.setattr(inputs, "BLOCK", len(X_ND) // 3)
    in_blocks, block_info = BASELINE.fit(value, X_ND, RETURN_N)
    assert block_info == pytest.approx(info, rel=1e-2)
    np.testing.assert_allclose(BASELINE.predict(in_blocks, X_ND), BASELINE.predict(fitted, X_ND), rtol=0.01)


def test_explained_variance():
    assert explained_variance(RETURN_N, RETURN_N) == 1
    assert explained_variance(np.full_like(RETURN_N, 7), RETURN_N) == pytest.approx(0)
    assert explained_variance(-RETURN_N, RETURN_N) == pytest.approx(-3)
