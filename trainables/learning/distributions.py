"""Action distributions as functions of a network's outputs (logits)."""

import numpy as np
from scipy.special import expit, log_expit

Array = np.ndarray


class Bernoulli:
    """Two actions: 1 with probability sigmoid(logit), else 0."""

    @staticmethod
    def score(logit_n: Array, action_n: Array) -> Array:
        """d log p(action) / d logit  =  action - sigmoid(logit)   (the seeds' "fake label" minus ``aprob``)."""
        return (action_n - expit(logit_n)).astype(logit_n.dtype)

    @staticmethod
    def log_prob(logit_n: Array, action_n: Array) -> Array:
        """log p(action), stable for any logit."""
        return log_expit(np.where(action_n == 1, logit_n, -logit_n))

    @staticmethod
    def entropy(logit_n: Array) -> Array:
        """Entropy in nats, between 0 and log 2."""
        return -(expit(logit_n) * log_expit(logit_n) + expit(-logit_n) * log_expit(-logit_n))
