"""TRPO's surrogate objective: gradient and Fisher products against finite differences, sums over blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.learning import inputs
from trainables.learning.policies import FilteredPolicy
from trainables.learning.solvers import backtracking_line_search
from trainables.learning.surrogate import Surrogate

MLP = FilteredPolicy(num_inputs=4, hidden_sizes=(5, 5), num_actions=3).mlp


def surrogate(seed: int = 0, n: int = 40) -> Surrogate:
    """A batch in float64, so that differences are exact."""
    rng = np.random.default_rng(seed)
    old_p = rng.standard_normal(MLP.num_params)
    return Surrogate(MLP, old_p, rng.standard_normal((n, 4)), rng.integers(0, 3, n), rng.standard_normal(n))


@given(seed=st.integers(0, 99), step=st.floats(0.01, 100), bound=st.floats(1e-4, 1))
@settings(deadline=None, derandomize=True)
def test_backtracking_never_passes_the_bound(seed, step, bound):
    problem = surrogate(seed)
    gradient_p, start = problem.gradient(), problem.start
    step_p = -step * gradient_p
    search = backtracking_line_search(problem.loss_and_kl, problem.old_p, start, step_p, gradient_p @ step_p, bound)
    assert problem.loss_and_kl(search.x).kl <= bound
    assert search.at_x.loss <= start.loss


def test_the_start_is_what_the_old_theta_evaluates_to():
    problem = surrogate()
    assert problem.start == pytest.approx(problem.loss_and_kl(problem.old_p), abs=1e-12)


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

    def kl_gradient(theta_p: np.ndarray) -> np.ndarray:
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


@given(seed=st.integers(0, 99))
@settings(deadline=None, derandomize=True, max_examples=25)
def test_the_fisher_matrix_is_symmetric_and_positive(seed):
    problem, rng = surrogate(seed), np.random.default_rng(seed)
    u_p, v_p = rng.standard_normal((2, len(problem.old_p)))
    assert u_p @ problem.fisher_product(v_p) == pytest.approx(v_p @ problem.fisher_product(u_p), rel=1e-9, abs=1e-12)
    assert v_p @ problem.fisher_product(v_p) > 0
