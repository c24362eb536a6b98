"""TRPO's update on small random batches; whole trials are in test_pong_trpo.py."""

import dataclasses

import numpy as np
import pytest

from tests.helpers.trials import CARTPOLE
from trainables.algorithms.trpo import TRPO
from trainables.config import TRPOConfig
from trainables.learning.distributions import Categorical
from trainables.learning.surrogate import Surrogate

CONFIG = TRPOConfig.from_dict(CARTPOLE | {"hidden_sizes": (5, 5)})
POLICY = TRPO(CONFIG).policy


def improve(theta_p, obs_nd, action_n, adv_n, max_kl=0.03, **settings):
    return TRPO(dataclasses.replace(CONFIG, **settings)).improve_policy(theta_p, obs_nd, action_n, adv_n, max_kl)


def batch(n: int = 400) -> tuple[np.ndarray, ...]:
    """A policy's parameters, and a batch on which action 0 pays where the first input is positive."""
    rng = np.random.default_rng(0)
    obs_nd = rng.standard_normal((n, 4)).astype(np.float32)
    action_n = rng.integers(0, 2, n)
    adv_n = np.where(action_n == 0, np.sign(obs_nd[:, 0]), 0).astype(np.float32)
    return POLICY.init(rng), obs_nd, action_n, adv_n


def test_an_update_improves_the_loss_within_the_trust_region():
    theta_p, obs_nd, action_n, adv_n = batch()
    new_theta_p, info = improve(theta_p, obs_nd, action_n, adv_n, max_kl=0.01)
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
    new_theta_p, info = improve(theta_p, obs_nd, action_n, adv_n)
    np.testing.assert_array_equal(new_theta_p, theta_p)
    assert info["update_accepted"] == 0
    assert info["kl"] == 0


def test_every_update_reports_the_same_keys():
    theta_p, obs_nd, action_n, adv_n = batch()
    infos = [improve(theta_p, obs_nd, action_n, adv)[1] for adv in (adv_n, 0 * adv_n)]
    assert list(infos[0]) == list(infos[1])
    assert all(type(value) is float for info in infos for value in info.values())


def test_the_fisher_information_looks_at_every_third_step(monkeypatch):
    seen = []
    fisher_product = Surrogate.fisher_product
    monkeypatch.setattr(Surrogate, "fisher_product", lambda s, v_p: seen.append(s.steps) or fisher_product(s, v_p))
    theta_p, *steps = batch()
    improve(theta_p, *steps, fisher_every=3)
    assert set(seen) == {134}, "of 400 steps"


def test_an_input_that_is_never_active_keeps_its_weights():
    theta_p, obs_nd, action_n, adv_n = batch()
    obs_nd[:, 2] = 0
    new_p, _ = improve(theta_p, obs_nd, action_n, adv_n)
    (before, _), *_ = POLICY.mlp.layers(theta_p)
    (after, _), *_ = POLICY.mlp.layers(new_p)
    assert [*np.flatnonzero((before == after).all(axis=1))] == [2]
