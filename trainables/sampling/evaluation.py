"""Games that only measure: nothing is learned from them, and no training game shares their randomness."""

from collections.abc import Sequence
from typing import NamedTuple

from trainables.sampling.film import Camera, Film
from trainables.sampling.rollout import GameNumber, rollout
from trainables.sampling.worker import Worker

EVALUATION = 2**31
"""The evaluation after iteration i plays as iteration 2**31 + i, which no training reaches."""

WATCHED = 3 * 2**30
"""Games that are watched, outside of any trial, play as this iteration."""


class MeasuredGame(NamedTuple):
    """A game as a measurement."""

    episode_return: float
    length: int  # agent steps
    truncated: bool
    film: Film | None


class EvaluatedGame(NamedTuple):
    """What a game of an evaluation sends back."""

    episode_return: float
    length: int  # agent steps
    gif: bytes | None


def measure(
    worker: Worker, weights: object, number: GameNumber, greedy: bool = False, filmed: bool = False
) -> MeasuredGame:
    """Play a game with actions drawn as in training, or ``greedy``: the most probable action each time.

    An environment without a console (CartPole) cannot be filmed.
    """
    env_rng, action_rng = number.generators()
    probabilities = worker.probabilities(weights)
    choose = (lambda obs: int(probabilities(obs).argmax())) if greedy else worker.sampler(weights, action_rng)
    camera = (
        Camera(worker.env, probabilities, worker.view(weights)) if filmed and hasattr(worker.env, "console") else None
    )
    game = rollout(camera or worker.env, choose, env_rng)
    return MeasuredGame(game.episode_return, len(game.action_n), game.truncated, camera.film if camera else None)


def evaluation_numbers(seed: int, iteration: int, count: int) -> list[GameNumber]:
    """Numbers of the ``count`` games of the evaluation after an iteration."""
    return [GameNumber(seed, EVALUATION + iteration, game) for game in range(count)]


def watched_numbers(seed: int, count: int) -> list[GameNumber]:
    """Numbers of games that are neither played in training nor in an evaluation of any trial."""
    return [GameNumber(seed, WATCHED, game) for game in range(count)]


def evaluate(worker: Worker, weights: object, block: Sequence[GameNumber], sampled: int) -> EvaluatedGame:
    """Play a game of an evaluation: greedy from game ``sampled`` on, and filmed if it is the first."""
    (number,) = block
    game = measure(worker, weights, number, greedy=number.game >= sampled, filmed=number.game == 0)
    gif = None
    if game.film:
        iteration = number.iteration - EVALUATION
        gif = game.film.gif(caption(game, f"after iteration {iteration}, actions sampled"))
    return EvaluatedGame(game.episode_return, game.length, gif)


def caption(game: MeasuredGame, circumstances: str) -> list[str]:
    """The lines above a film's right half."""
    return [f"return {game.episode_return:+.0f} in {game.length:,} steps", circumstances, "what the network sees:"]
