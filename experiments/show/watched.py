"""A policy's games: played, printed and filmed, as ``watch.py`` shows them."""

from collections.abc import Sequence
from pathlib import Path

from experiments.disk import saved_policies
from experiments.disk.folders import display
from experiments.show.origins import environment
from experiments.show.outputs import write_out
from experiments.show.pictures import side_by_side
from experiments.show.text import line
from trainables.policy import PolicyRunner
from trainables.sampling.evaluation import MeasuredGame, caption, mean_with_interval, measure, watched_numbers
from trainables.saved import Checkpoint, Checkpoints


def watch(found: Checkpoints, out: Path, episodes: int, seed: int, greedy: bool, progress: bool) -> None:
    """Have the best of these checkpoints, of which one is usable, play so many games of a seed; film the first one.

    Their returns are printed. With ``progress`` the film shows what was learned: the best plays beside earlier ones.
    """
    best = found.best
    assert best
    actions = "most probable actions" if greedy else "actions sampled"
    numbers = watched_numbers(seed, episodes)

    def play(policy: PolicyRunner, index: int) -> MeasuredGame:
        return measure(policy.worker, policy.weights, numbers[index], greedy=greedy, filmed=index == 0)

    trained = saved_policies.policy_runner(best)
    env_id = saved_policies.settings_of(best).env_id
    line(saved_policies.in_words(best))
    line(f"{environment(env_id)}, {actions}, games of seed {seed}")
    played = []
    for index in range(episodes):
        played.append(play(trained, index))
        line(f"game {index + 1:3d}: return {played[-1].episode_return:+.0f} in {played[-1].length:,} steps")
    film = played[0].film
    is_pong = film is not None  # Other environments have no console to be filmed.
    line(score_text([game.episode_return for game in played], is_pong))
    if not film:
        line(f"No film: {env_id} has no console")
        return
    if progress:
        shown = [(name, play(policy, 0)) for name, policy in _earlier(found, best)]
        shown.append((f"iteration {best.iteration}", played[0]))
        gif = _progress(shown)
    else:
        gif = film.gif(caption(played[0], f"after iteration {best.iteration}, {actions}"))
    write_out(out, gif)
    line(f"Film of game 1: {display(out.absolute())}")


def _progress(shown: Sequence[tuple[str, MeasuredGame]]) -> bytes:
    """The films of games side by side, each below its name and score."""
    films, captions = [], []
    for name, game in shown:
        if game.film:
            films.append(game.film)
            captions.append((name, game.film.score(game.episode_return, game.length)))
    return side_by_side(films, captions)


def _earlier(found: Checkpoints, best: Checkpoint) -> list[tuple[str, PolicyRunner]]:
    """The untrained policy, and those of up to two of the trial's checkpoints between it and the best one, by name."""
    earlier = [checkpoint for checkpoint in found.usable if checkpoint.iteration < best.iteration]
    named = [("untrained", saved_policies.policy_runner(best, trained=False))]
    for checkpoint in saved_policies.on_the_way(earlier, best, 2):
        named.append((f"iteration {checkpoint.iteration}", saved_policies.policy_runner(checkpoint)))
    return named


def score_text(returns: list[float], pong: bool) -> str:
    """The mean return and its 95% interval; of one game its return."""
    if len(returns) == 1:
        return f"return {returns[0]:+.0f}; one game gives no interval"
    mean, low, high = mean_with_interval(returns, pong)
    return f"mean return {mean:+.1f} ({low:.1f} to {high:.1f}), 95% interval of {len(returns)} games"
