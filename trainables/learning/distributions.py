"""Action distributions as functions of a network's outputs (logits)."""

from collections.abc import Callable

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

Array = np.ndarray


class Bernoulli:
    """Two actions: 1 with probability sigmoid(logit), else 0."""

    @staticmethod
    def score(logit_n: Array, action_n: Array) -> Array:
        """d log p(action) / d logit  =  action - sigmoid(logit)   (Karpathy's "fake label" minus ``aprob``)."""
        return (action_n - expit(logit_n)).astype(logit_n.dtype)

    @staticmethod
    def entropy(logit_n: Array) -> Array:
        """Entropy in nats, between 0 and log 2."""
        return -(expit(logit_n) * log_expit(logit_n) + expit(-logit_n) * log_expit(-logit_n))


class Categorical:
    """k actions: action a with probability p_a = exp(logit_a) / sum_b exp(logit_b)."""

    @staticmethod
    def probabilities(logit_nk: Array) -> Array:
        """Probabilities (n, k) of all actions."""
        return _along_rows(softmax, logit_nk)

    @staticmethod
    def score(logit_nk: Array, action_n: Array) -> Array:
        """d log p(action) / d logits  =  e_action - p   (n, k), with e_a the unit vector of action a."""
        score_nk = np.negative(Categorical.probabilities(logit_nk), order="C")  # else BLAS adds in another order
        score_nk[np.arange(len(action_n)), action_n] += 1
        return score_nk

    @staticmethod
    def log_prob(logit_nk: Array, action_n: Array) -> Array:
        """log p(action), stable for any logits."""
        return _log_probs(logit_nk)[np.arange(len(action_n)), action_n]

    @staticmethod
    def entropy(logit_nk: Array) -> Array:
        """Entropy in nats, between 0 and log k."""
        log_p_nk = _log_probs(logit_nk)
        return -(np.exp(log_p_nk) * log_p_nk).sum(axis=1)

    @staticmethod
    def entropy_slope(logit_nk: Array) -> Array:
        """d entropy / d logits  =  -p * (log p + entropy)   (n, k)."""
        log_p_nk = _log_probs(logit_nk)
        p_nk = np.exp(log_p_nk)
        return -p_nk * (log_p_nk - (p_nk * log_p_nk).sum(axis=1, keepdims=True))

    @staticmethod
    def kl(old_logit_nk: Array, new_logit_nk: Array) -> Array:
        """KL(old || new)  =  sum_a old_a * (log old_a - log new_a)   in nats."""
        log_old_nk = _log_probs(old_logit_nk)
        return (np.exp(log_old_nk) * (log_old_nk - _log_probs(new_logit_nk))).sum(axis=1)

    @staticmethod
    def fisher_product(p_nk: Array, tangent_nk: Array) -> Array:
        """The Fisher information of the logits, where actions have probabilities p, times a direction u.

            F u  =  (diag(p) - p p^T) u  =  p * (u - <p, u>)

        It is the Hessian of KL(old || .) at old.
        """
        return p_nk * (tangent_nk - np.einsum("nk,nk->n", p_nk, tangent_nk)[:, None])


def _log_probs(logit_nk: Array) -> Array:
    return _along_rows(log_softmax, logit_nk)


def _along_rows(function: Callable[..., Array], x_nk: Array) -> Array:
    """SciPy's function of each row, by way of columns: the same bits for k < 9, and a seventh of the time for k = 3."""
    return function(np.ascontiguousarray(x_nk.T), axis=0).T
