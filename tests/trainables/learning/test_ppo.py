"""PPO: its gradient against finite differences, the clip, and that it is REINFORCE where nothing has moved yet."""

import numpy as np
import pytest
from scipy import sparse

from trainables.learning.distributions import Categorical
from trainables.learning.optimisers import Adam
from trainables.learning.policies import PixelCategoricalPolicy
from trainables.learning.ppo import PPO, VALUE_WEIGHT, ActorCritic, Experience

POLICY = PixelCategoricalPolicy(num_inputs=12, num_hidden=3, num_actions=3)
NETWORK = ActorCritic(POLICY)


def make_ppo(**settings):
    return PPO(
        NETWORK, Adam(1e-3), **({"epochs": 2, "minibatch_size": 10, "clip": 0.2, "entropy_bonus": 0.05} | settings)
    )


def played(theta_p, n=30, seed=1):
    """Steps that the policy of ``theta_p`` has played, as float64."""
    rng = np.random.default_rng(seed)
    x_nd = sparse.csr_matrix(rng.choice([-1.0, 1.0], (n, 12)) * (rng.random((n, 12)) < 0.3))
    action_n = rng.integers(0, 3, n)
    log_prob_n = Categorical.log_prob(NETWORK.evaluate(theta_p, x_nd)[0], action_n)
    return Experience(x_nd, action_n, log_prob_n, rng.standard_normal(n), rng.standard_normal(n))


def objective(ppo, theta_p, batch):
    """Equations 7 and 9 of the paper, as they stand there."""
    logit_nk, value_n = NETWORK.evaluate(theta_p, batch.x_nd)
    ratio_n = np.exp(Categorical.log_prob(logit_nk, batch.action_n) - batch.log_prob_n)
    clipped_n = np.minimum(ratio_n * batch.adv_n, np.clip(ratio_n, 1 - ppo.clip, 1 + ppo.clip) * batch.adv_n)
    bonus_n = ppo.entropy_bonus * Categorical.entropy(logit_nk)
    return np.mean(clipped_n + bonus_n - VALUE_WEIGHT * 0.5 * (batch.return_n - value_n) ** 2)


def test_the_gradient_is_that_of_the_papers_objective():
    rng = np.random.default_rng(0)
    old_p, theta_p = rng.standard_normal((2, NETWORK.mlp.num_params))
    ppo, batch = make_ppo(), played(old_p)
    shifts = 1e-6 * np.eye(len(theta_p))
    numeric_p = [(objective(ppo, theta_p + s, batch) - objective(ppo, theta_p - s, batch)) / 2e-6 for s in shifts]
    gradient_p, info = ppo.gradient(theta_p, batch, total=30)
    np.testing.assert_allclose(gradient_p, numeric_p, atol=1e-7)
    assert 0.2 < info.clip_fraction < 0.8, "a case in which the clip matters"
    assert info.kl > 0


def test_the_first_step_is_reinforces():
    theta_p = np.random.default_rng(0).standard_normal(NETWORK.mlp.num_params)
    batch = played(theta_p)
    gradient_p, info = make_ppo(entropy_bonus=0.0).gradient(theta_p, batch, total=30)
    actor_p, _ = NETWORK.split(theta_p)
    logit_nk, tape = POLICY.mlp.forward(actor_p, batch.x_nd)
    score_nk = Categorical.score(logit_nk, batch.action_n) * batch.adv_n[:, None]
    (_, _), (w2_gradient, _) = NETWORK.mlp.layers(gradient_p)
    (_, _), (w2_score, _) = POLICY.mlp.layers(POLICY.mlp.vjp(actor_p, tape, score_nk))
    np.testing.assert_allclose(w2_gradient[:, :-1], w2_score / 30)
    assert info == (pytest.approx(0, abs=1e-12), 0)


def test_join_and_split_are_inverse():
    theta_p = np.random.default_rng(0).standard_normal(NETWORK.mlp.num_params)
    np.testing.assert_array_equal(NETWORK.join(*NETWORK.split(theta_p)), theta_p)
    actor_p, critic_h = NETWORK.split(theta_p)
    x_nd = played(theta_p).x_nd
    logit_nk, value_n = NETWORK.evaluate(theta_p, x_nd)
    np.testing.assert_allclose(POLICY.mlp.forward(actor_p, x_nd)[0], logit_nk)
    np.testing.assert_allclose(NETWORK.evaluate(NETWORK.join(actor_p, 2 * critic_h), x_nd)[1], 2 * value_n)


def test_an_update_improves_the_objective_and_repeats_with_its_generator():
    theta_p = np.random.default_rng(0).standard_normal(NETWORK.mlp.num_params)
    batch, ppo = played(theta_p), make_ppo(epochs=20)
    state = ppo.optimiser.init(len(theta_p))
    runs = [ppo.update(theta_p, state, batch, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert all(objective(ppo, new_p, batch) > objective(ppo, theta_p, batch) for new_p, *_ in runs)
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert not np.array_equal(runs[0][0], runs[2][0])
    assert runs[0][1]["count"] == 20 * 3, "three minibatches of ten in each epoch"


def test_threads_change_no_bit_and_inputs_that_are_dark_change_nothing():
    theta_p = np.random.default_rng(0).standard_normal(NETWORK.mlp.num_params).astype(np.float32)
    batch = played(theta_p)
    dark = batch.x_nd.toarray()
    dark[:, [2, 7]] = 0
    batch = batch._replace(x_nd=sparse.csr_matrix(dark))
    state = {name: array + 1 for name, array in Adam(1e-3).init(len(theta_p)).items()}
    runs = [make_ppo(threads=n).update(theta_p, state, batch, np.random.default_rng(0)) for n in (1, 2)]
    for one, two in zip(runs[0][1].values(), runs[1][1].values(), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    for array, before in ((runs[0][0], theta_p), (runs[0][1]["mean"], state["mean"])):
        (rows, _), _ = NETWORK.mlp.layers(array)
        (rows_before, _), _ = NETWORK.mlp.layers(before)
        changed = (rows != rows_before).any(axis=1)
        assert [*np.flatnonzero(~changed)] == [2, 7]
