"""TRPO's solvers on problems with known answers, and its update on small random batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.learning import mlp
from trainables.learning.distributions import Categorical
from trainables.learning.policies import CategoricalPolicy
from trainables.learning.trust_region import Point, Surrogate, TrustRegion, backtrack, conjugate_gradient

POLICY = CategoricalPolicy(num_inputs=4, hidden_sizes=(5, 5), num_actions=3)


def surrogate(seed: int = 0, n: int = 40) -> Surrogate:
    """A batch in float64, so that differences are exact."""
    rng = np.random.default_rng(seed)
    theta_p = rng.standard_normal(POLICY.mlp.num_params)
    return Surrogate(POLICY.mlp, theta_p, rng.standard_normal((n, 4)), rng.integers(0, 3, n), rng.standard_normal(n))


@given(size=st.integers(1, 12), seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True)
def test_conjugate_gradient_solves_positive_definite_systems(size, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((size, size))
    a, b = root @ root.T + np.eye(size), rng.standard_normal(size)
    x, residual = conjugate_gradient(lambda v: a @ v, b, iterations=5 * size, tolerance=1e-20)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), atol=1e-7)
    assert residual @ residual < 1e-12


def test_conjugate_gradient_stops_early_and_says_what_is_left():
    a, b = np.diag([1.0, 10.0, 100.0]), np.ones(3)
    x, residual = conjugate_gradient(lambda v: a @ v, b, iterations=2)
    np.testing.assert_allclose(residual, b - a @ x)
    assert residual @ residual > 1e-3
    products = []
    conjugate_gradient(lambda v: products.append(v) or v, b)
    assert len(products) == 1, "the identity is solved in one step"


def parabola(x: np.ndarray) -> Point:
    """Falls from 1 at x = 0 to 0 at x = 1 and rises again; the constraint is the distance from 0."""
    return Point(float((1 - x[0]) ** 2), float(abs(x[0])))


@pytest.mark.parametrize(
    ("step", "bound", "halvings", "end"), [(1.0, 9.0, 0, 1.0), (3.0, 9.0, 1, 1.5), (3.0, 1.0, 2, 0.75)]
)
def test_backtracking_halves_until_it_gains_within_the_bound(step, bound, halvings, end):
    search = backtrack(parabola, np.zeros(1), parabola(np.zeros(1)), np.array([step]), -2 * step, bound)
    assert search == (np.array([end]), parabola(np.array([end])), halvings, True)


def test_backtracking_asks_for_a_share_of_what_the_slope_promised():
    search = backtrack(parabola, np.zeros(1), parabola(np.zeros(1)), np.array([1.95]), -2 * 1.95, 9.0)
    assert search.halvings == 1, "x = 1.95 gains 0.0975, less than a tenth of 3.9"


@pytest.mark.parametrize("step", [-1.0, 0.0, np.nan, np.inf])
def test_backtracking_that_finds_nothing_stays(step):
    with np.errstate(invalid="ignore"):
        search = backtrack(parabola, np.zeros(1), parabola(np.zeros(1)), np.array([step]), -abs(step), 9.0)
    assert not search.accepted
    assert search.halvings == 10
    assert search.x == 0
    assert search.point == parabola(np.zeros(1))


@given(seed=st.integers(0, 99), step=st.floats(0.01, 100), bound=st.floats(1e-4, 1))
@settings(deadline=None, derandomize=True)
def test_backtracking_never_passes_the_bound(seed, step, bound):
    problem = surrogate(seed)
    gradient_p, start = problem.gradient(), problem.start()
    step_p = -step * gradient_p
    search = backtrack(problem.evaluate, problem.theta_p, start, step_p, gradient_p @ step_p, bound)
    assert problem.evaluate(search.x).constraint <= bound
    assert search.point.objective <= start.objective


def test_the_start_is_what_the_old_theta_evaluates_to():
    problem = surrogate()
    assert problem.start() == pytest.approx(problem.evaluate(problem.theta_p), abs=1e-12)


def test_the_gradient_is_that_of_the_loss():
    problem = surrogate()
    numeric_p = [
        (problem.evaluate(problem.theta_p + s).objective - problem.evaluate(problem.theta_p - s).objective) / 2e-6
        for s in 1e-6 * np.eye(len(problem.theta_p))
    ]
    np.testing.assert_allclose(problem.gradient(), numeric_p, atol=1e-7)


def test_the_fisher_product_is_the_hessian_of_the_mean_kl():
    problem, eps = surrogate(), 1e-4
    direction_p = np.random.default_rng(5).standard_normal(len(problem.theta_p))

    def kl_gradient(theta_p: np.ndarray) -> np.ndarray:
        """Gradient of mean KL(old || theta): the pulled-back difference of probabilities."""
        (block,) = problem.blocks
        logit_nk, tape = POLICY.mlp.forward(theta_p, block.tape[0])
        new_nk, old_nk = (np.exp(x - np.logaddexp.reduce(x, axis=1)[:, None]) for x in (logit_nk, block.logit_nk))
        return POLICY.mlp.vjp(theta_p, tape, (new_nk - old_nk) / len(old_nk))

    ahead, behind = (kl_gradient(problem.theta_p + sign * eps * direction_p) for sign in (1, -1))
    np.testing.assert_allclose(problem.fisher_product(direction_p), (ahead - behind) / (2 * eps), atol=1e-6)
    kl = problem.evaluate(problem.theta_p + eps * direction_p).constraint
    assert kl == pytest.approx(eps**2 * (direction_p @ problem.fisher_product(direction_p)) / 2, rel=1e-3)


def test_the_fisher_product_of_every_third_step_is_that_of_a_batch_of_these_steps():
    rng = np.random.default_rng(1)
    theta_p, direction_p = rng.standard_normal((2, POLICY.mlp.num_params))
    batch = rng.standard_normal((40, 4)), rng.integers(0, 3, 40), rng.standard_normal(40)
    sampled = Surrogate(POLICY.mlp, theta_p, *batch, fisher_every=3)
    thin = Surrogate(POLICY.mlp, theta_p, *(array[::3] for array in batch))
    np.testing.assert_array_equal(sampled.fisher_product(direction_p), thin.fisher_product(direction_p))
    assert sampled.evaluate(direction_p) == Surrogate(POLICY.mlp, theta_p, *batch).evaluate(direction_p)


def test_sums_over_blocks_of_rows_are_the_sums_of_the_batch(monkeypatch):
    whole = surrogate()
    monkeypatch.setattr(mlp, "BLOCK", 16)
    parts = surrogate()
    assert [len(problem.blocks) for problem in (whole, parts)] == [1, 3]
    elsewhere_p = whole.theta_p + 0.1
    np.testing.assert_allclose(parts.gradient(), whole.gradient(), rtol=1e-12)
    np.testing.assert_allclose(parts.fisher_product(elsewhere_p), whole.fisher_product(elsewhere_p), rtol=1e-12)
    assert parts.evaluate(elsewhere_p) == pytest.approx(whole.evaluate(elsewhere_p))
    for theta_p in (whole.theta_p, elsewhere_p):
        assert parts.entropy(theta_p) == pytest.approx(whole.entropy(theta_p))


@given(seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_the_fisher_matrix_is_symmetric_and_positive(seed):
    problem, rng = surrogate(seed), np.random.default_rng(seed)
    u_p, v_p = rng.standard_normal((2, len(problem.theta_p)))
    assert u_p @ problem.fisher_product(v_p) == pytest.approx(v_p @ problem.fisher_product(u_p), rel=1e-9, abs=1e-12)
    assert v_p @ problem.fisher_product(v_p) > 0


def batch(n: int = 400) -> tuple[np.ndarray, ...]:
    """A policy's parameters, and a batch on which action 0 pays where the first input is positive."""
    rng = np.random.default_rng(0)
    obs_nd = rng.standard_normal((n, 4)).astype(np.float32)
    action_n = rng.integers(0, 3, n)
    adv_n = np.where(action_n == 0, np.sign(obs_nd[:, 0]), 0).astype(np.float32)
    return POLICY.init(rng), obs_nd, action_n, adv_n


def test_an_update_improves_the_loss_within_the_trust_region():
    theta_p, obs_nd, action_n, adv_n = batch()
    new_theta_p, info = TrustRegion(POLICY, max_kl=0.01).update(theta_p, obs_nd, action_n, adv_n)
    assert new_theta_p.dtype == np.float32
    assert info["update_accepted"] == 1
    assert info["loss_after"] < info["loss_before"]
    assert 0.002 < info["kl"] <= 0.01
    old_nk, new_nk = (POLICY.mlp.forward(theta, obs_nd)[0] for theta in (theta_p, new_theta_p))
    assert info["kl"] == pytest.approx(Categorical.kl(old_nk, new_nk).mean(), rel=1e-4)
    assert info["entropy_after"] == pytest.approx(Categorical.entropy(new_nk).mean(), rel=1e-6)


@pytest.mark.parametrize("advantage", [0.0, np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_an_update_without_a_usable_gradient_leaves_theta(advantage):
    theta_p, obs_nd, action_n, _ = batch()
    adv_n = np.full(len(action_n), advantage, np.float32)
    new_theta_p, info = TrustRegion(POLICY).update(theta_p, obs_nd, action_n, adv_n)
    np.testing.assert_array_equal(new_theta_p, theta_p)
    assert info["update_accepted"] == 0
    assert info["kl"] == 0


def test_every_update_reports_the_same_keys():
    theta_p, obs_nd, action_n, adv_n = batch()
    infos = [TrustRegion(POLICY).update(theta_p, obs_nd, action_n, adv)[1] for adv in (adv_n, 0 * adv_n)]
    assert list(infos[0]) == list(infos[1])
    assert all(type(value) is float for info in infos for value in info.values())
