"""The arithmetic of Ray's Pong notebook, dense and in float64, written afresh.

It is the reference that the sparse path is compared with: for equality in tests, for speed in the benchmark.
"""

import gymnasium
import numpy as np

from trainables.learning.returns import discounted_returns, standardise
from trainables.sampling.frames import NUM_PIXELS, preprocess

Array = np.ndarray
UP, DOWN = 2, 3
"""Gymnasium's numbers of the two actions."""


class NotebookModel:
    """Two dense layers: ``w1`` (h, 6400) and ``w2`` (h,), float64."""

    def __init__(self, w1: Array, w2: Array) -> None:
        self.w1, self.w2 = w1, w2

    def forward(self, x: Array) -> tuple[float, Array]:
        """Probability of moving up, and the hidden layer, of one dense difference frame (6400,)."""
        hidden = self.w1 @ x
        hidden[hidden < 0] = 0
        return 1.0 / (1.0 + np.exp(-(self.w2 @ hidden))), hidden

    def gradient(self, x_nd: Array, hidden_nh: Array, score_n: Array) -> tuple[Array, Array]:
        """Gradients of ``w1`` and ``w2`` of sum_n score[n] * logit[n]."""
        back_nh = np.outer(score_n, self.w2)
        back_nh[hidden_nh <= 0] = 0
        return back_nh.T @ x_nd, hidden_nh.T @ score_n


def play_game(model: NotebookModel, env: gymnasium.Env, rng: np.random.Generator, gamma: float) -> tuple[Array, ...]:
    """Play a game on Gymnasium's own environment; return both gradients, the actions and the rewards."""
    picture, _ = env.reset()
    before = None
    frames, hiddens, scores, actions, rewards = [], [], [], [], []
    done = False
    while not done:
        now = preprocess(picture).astype(np.float64)
        x = now - before if before is not None else np.zeros(NUM_PIXELS)
        before = now
        up_probability, hidden = model.forward(x)
        up = rng.random() < up_probability
        picture, reward, terminated, truncated, _ = env.step(UP if up else DOWN)
        done = terminated or truncated
        frames.append(x)
        hiddens.append(hidden)
        scores.append(up - up_probability)
        actions.append(up)
        rewards.append(reward)
    reward_n = np.array(rewards)
    score_n = np.array(scores) * standardise(discounted_returns(reward_n, gamma))
    return *model.gradient(np.vstack(frames), np.vstack(hiddens), score_n), np.array(actions), reward_n
