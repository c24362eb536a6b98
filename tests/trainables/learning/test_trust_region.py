"""Solvers on problems with known answers, and TRPO's surrogate objective against finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.learning import inputs
from trainables.learning.policies import FilteredPolicy
from trainables.learning.trust_region import LossAndKL, Surrogate, backtracking_line_search, conjugate_gradient

MLP = FilteredPolicy(num_inputs=4, hidden_sizes=(5, 5), num_actions=3).mlp


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
    a, b, products = np.diag([1.0, 10.0, 100.0]), np.ones(3), []
    x, residual = conjugate_gradient(lambda v: a @ v, b, iterations=2)
    np.testing.assert_allclose(residual, b - a @ x)
    assert residual @ residual > 1e-3
    conjugate_gradient(lambda v: products.append(v) or v, b)
    assert len(products) == 1, "the identity is solved in one step"


def parabola(x):
    """Falls from 1 at x = 0 to 0 at x = 1 and rises again; the KL is the distance from 0."""
    return LossAndKL(float((1 - x[0]) ** 2), float(abs(x[0])))


def search(step, slope, bound):
    return backtracking_line_search(parabola, np.zeros(1), parabola(np.zeros(1)), np.array([step]), slope, bound)


@pytest.mark.parametrize(
    ("step", "bound", "halvings", "end"),
    [
        (1.0, 9.0, 0, 1.0),
        (3.0, 9.0, 1, 1.5),
        (3.0, 1.0, 2, 0.75),
        (1.95, 9.0, 1, 0.975),  # 1.95 gains 0.0975, less than a tenth of what the slope promised
    ],
)
def test_backtracking_halves_until_it_gains_its_share_within_the_bound(step, bound, halvings, end):
    assert search(step, -2 * step, bound) == (np.array([end]), parabola(np.array([end])), halvings, True)


@pytest.mark.parametrize("step", [-1.0, 0.0, np.nan, np.inf])
def test_backtracking_that_finds_nothing_stays(step):
    with np.errstate(invalid="ignore"):
        assert search(step, -abs(step), 9.0) == (np.zeros(1), parabola(np.zeros(1)), 10, False)


def surrogate(seed=0, n=40):
    """A batch in float64, so that differences are exact."""
    rng = np.random.default_rng(seed)
    old_p = rng.standard_normal(MLP.num_params)
    return Surrogate(MLP, old_p, rng.standard_normal((n, 4)), rng.integers(0, 3, n), rng.standard_normal(n))


@given(seed=st.integers(0, 99), step=st.floats(0.01, 100), bound=st.floats(1e-4, 1))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_backtracking_never_passes_the_bound(seed, step, bound):
    problem = surrogate(seed)
    gradient_p, start = problem.gradient(), problem.start
    assert start == pytest.approx(problem.loss_and_kl(problem.old_p), abs=1e-12)
    step_p = -step * gradient_p
    found = backtracking_line_search(problem.loss_and_kl, problem.old_p, start, step_p, gradient_p @ step_p, bound)
    assert problem.loss_and_kl(found.x).kl <= bound
    assert found.at_x.loss <= start.loss


def test_the_gradient_is_that_of_the_loss():
    problem = surrogate()
    numeric_p = [
        (problem.loss_and_kl(problem.old_p + s).loss - problem.loss_and_kl(problem.old_p - s).loss) / 2e-6
        for s in 1e-6 * np.eye(len(problem.old_p))
    ]
    np.testing.assert_allclose(problem.gradient(), numeric_p, atol=1e-7)


def test_the_fisher_product_is_the_hessian_of_the_mean_kl():
    problem, eps = surrogate(), 1e-4
    direction_p = np.random.default_rng(5).standard_normal(len(problem.old_p))

    def kl_gradient(theta_p):
        """Gradient of mean KL(old || theta): the pulled-back difference of probabilities."""
        (block,) = problem.blocks
        logit_nk, tape = MLP.forward(theta_p, block.tape[0])
        new_nk, old_nk = (np.exp(x - np.logaddexp.reduce(x, axis=1)[:, None]) for x in (logit_nk, block.logit_bk))
        return MLP.vjp(theta_p, tape, (new_nk - old_nk) / len(old_nk))

    ahead, behind = (kl_gradient(problem.old_p + sign * eps * direction_p) for sign in (1, -1))
    np.testing.assert_allclose(problem.fisher_product(direction_p), (ahead - behind) / (2 * eps), atol=1e-6)
    kl = problem.loss_and_kl(problem.old_p + eps * direction_p).kl
    assert kl == pytest.approx(eps**2 * (direction_p @ problem.fisher_product(direction_p)) / 2, rel=1e-3)


def test_sums_over_blocks_of_rows_are_the_sums_of_the_batch(monkeypatch):
    whole = surrogate()
    monkeypatch.setattr(inputs, "BLOCK", 16)
    parts = surrogate()
    assert [len(problem.blocks) for problem in (whole, parts)] == [1, 3]
    elsewhere_p = whole.old_p + 0.1
    np.testing.assert_allclose(parts.gradient(), whole.gradient(), rtol=1e-12)
    np.testing.assert_allclose(parts.fisher_product(elsewhere_p), whole.fisher_product(elsewhere_p), rtol=1e-12)
    assert parts.loss_and_kl(elsewhere_p) == pytest.approx(whole.loss_and_kl(elsewhere_p))
    for policy_p in (whole.old_p, elsewhere_p):
        assert parts.entropy(policy_p) == pytest.approx(whole.entropy(policy_p))
