"""Evaluation: games that only measure, which share no randomness with training, and how sure their mean is."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from trainables.sampling.film import Film, Look, film_game
from trainables.sampling.rollout import GameNumber, GameSummary, rollout
from trainables.sampling.worker import Worker

EVALUATION = 2**31
"""The evaluation after iteration i plays as iteration 2**31 + i, which no training reaches."""

WATCHED = 3 * 2**30
"""Games that are watched, outside of any trial, play as this iteration."""


class MeasuredGame(NamedTuple):
    """A game as a measurement."""

    episode_return: float
    length: int  # agent steps
    film: Film | None


def measure(
    worker: Worker, weights: Any, number: GameNumber, greedy: bool = False, filmed: bool = False
) -> MeasuredGame:
    """Play a game with actions drawn as in training, or ``greedy``: the most probable action each time.

    An environment without a console (CartPole) cannot be filmed.
    """
    env_rng, action_rng = number.generators()
    probabilities = worker.probabilities(weights)
    choose = (lambda obs: int(probabilities(obs).argmax())) if greedy else worker.policy.sampler(weights, action_rng)
    game = rollout(worker.env, choose, env_rng)
    film = None
    if filmed and hasattr(worker.env, "console"):
        look = Look(0, worker.view(weights), probabilities)
        film = film_game(worker.env, bytes(worker.env.console.played), [look])
    return MeasuredGame(game.episode_return, len(game.action_n), film)


def evaluation_numbers(seed: int, iteration: int, count: int) -> list[GameNumber]:
    """Numbers of the ``count`` games of the evaluation after an iteration."""
    return [GameNumber(seed, EVALUATION + iteration, game) for game in range(count)]


def watched_numbers(seed: int, count: int) -> list[GameNumber]:
    """Numbers of games that are neither played in training nor in an evaluation of any trial."""
    return [GameNumber(seed, WATCHED, game) for game in range(count)]


def evaluate(
    worker: Worker, weights: Any, block: Sequence[GameNumber], sampled: int
) -> tuple[GameSummary, bytes | None]:
    """Play a game of an evaluation: greedy from game ``sampled`` on, and filmed if it is the first."""
    (number,) = block
    game = measure(worker, weights, number, greedy=number.game >= sampled, filmed=number.game == 0)
    summary = GameSummary(game.episode_return, game.length)
    if not game.film:
        return summary, None
    return summary, game.film.gif(caption(game, f"after iteration {number.iteration - EVALUATION}, actions sampled"))


def play_evaluation(
    play: Callable[..., Iterable[tuple[GameSummary, bytes | None]]], seed: int, iteration: int, count: int
) -> tuple[dict[str, float], bytes | None]:
    """The evaluation after an iteration: its metrics, and the film of its first game.

    ``play`` is a pool's, with the weights. ``count`` games with sampled actions and as many greedy ones are handed out
    together, to leave no actor idle.
    """
    played = play(evaluation_numbers(seed, iteration, 2 * count), how=partial(evaluate, sampled=count))
    games, gifs = zip(*played, strict=True)
    return summarise(iteration, games[:count], games[count:], pong=gifs[0] is not None), gifs[0]


def caption(game: MeasuredGame, circumstances: str) -> list[str]:
    """The lines above the right half of the game's film."""
    assert game.film
    return [game.film.score(game.episode_return, game.length), circumstances, "what the network sees:"]


def mean_with_interval(returns: Sequence[float], pong: bool) -> tuple[float, float, float]:
    """The mean of n returns and its 95% confidence interval (mean, low, high), Student's t.

        mean -+ t * s / sqrt(n),    t the 97.5% quantile for n - 1 degrees of freedom, s the sample deviation

    In Pong it ends where returns do, at -21 and 21. It speaks of this policy's games: what another seed of training
    would have given lies outside of it. Where all returns are equal it is a point, which says little if n is small.
    """
    mean = float(np.mean(returns))
    half = float(stdtrit(len(returns) - 1, 0.975) * np.std(returns, ddof=1) / np.sqrt(len(returns)))
    least, most = (-21.0, 21.0) if pong else (-np.inf, np.inf)
    return mean, max(mean - half, least), min(mean + half, most)


def summarise(
    iteration: int, sampled: Sequence[GameSummary], greedy: Sequence[GameSummary], pong: bool
) -> dict[str, float]:
    """The metrics of the ``eval/`` family."""
    metrics: dict[str, float] = {}
    for name, games in (("sampled", sampled), ("greedy", greedy)):
        mean, low, high = mean_with_interval([game.episode_return for game in games], pong)
        metrics |= {
            f"eval/return_{name}_mean": mean,
            f"eval/return_{name}_ci95_low": low,
            f"eval/return_{name}_ci95_high": high,
        }
    lengths = [game.length for game in (*sampled, *greedy)]
    return metrics | {"eval/episode_len_mean": float(np.mean(lengths)), "eval/iteration": iteration}
