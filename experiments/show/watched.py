"""A policy's games: played, printed and filmed, as ``watch.py`` shows them."""

from pathlib import Path

from experiments.read import saved_policies
from experiments.read.saved_policies import CheckpointRef
from experiments.record.folders import display
from experiments.show.outputs import write_out
from experiments.show.pictures import side_by_side
from experiments.show.summary import environment
from experiments.show.text import line
from trainables.policy import PolicyRunner
from trainables.sampling.evaluation import MeasuredGame, caption, mean_with_interval, measure, watched_numbers


def watch(
    found: list[CheckpointRef], best: CheckpointRef, out: Path, episodes: int, seed: int, greedy: bool, progress: bool
) -> None:
    """Play so many games of a seed, print their returns, and film the first one.

    With ``progress`` its film shows what was learned: earlier policies among those ``found`` play beside the best.
    """
    actions = "most probable actions" if greedy else "actions sampled"
    numbers = watched_numbers(seed, episodes)

    def play(runner: PolicyRunner, index: int = 0) -> MeasuredGame:
        return measure(runner.worker, runner.weights, numbers[index], greedy=greedy, filmed=index == 0)

    runner = saved_policies.policy_runner(best)
    line(f"{display(best.folder)}: iteration {best.iteration}, {best.in_training}")
    line(f"{environment(best.settings.env_id)}, {actions}, games of seed {seed}")
    played = []
    for index in range(episodes):
        played.append(play(runner, index))
        line(f"game {index + 1:3d}: return {played[-1].episode_return:+.0f} in {played[-1].length:,} steps")
    film = played[0].film
    line(score_text([game.episode_return for game in played], pong=film is not None))
    if not film:
        line(f"No film: {best.settings.env_id} has no console")
        return
    if progress:
        earlier = [(name, play(runner)) for name, runner in _earlier(found, best)]
        shown = [*earlier, (f"iteration {best.iteration}", played[0])]
        films = [(name, game, game.film) for name, game in shown if game.film]
        captions = [(name, film.score(game.episode_return, game.length)) for name, game, film in films]
        gif = side_by_side([film for *_, film in films], captions)
    else:
        gif = film.gif(caption(played[0], f"after iteration {best.iteration}, {actions}"))
    write_out(out, gif)
    line(f"Film of game 1: {display(out.absolute())}")


def _earlier(found: list[CheckpointRef], best: CheckpointRef) -> list[tuple[str, PolicyRunner]]:
    """The untrained policy, and up to two of the trial's checkpoints between it and the best one."""
    earlier = [item for item in found if item.folder.parent == best.folder.parent and item.iteration < best.iteration]
    between = saved_policies.on_the_way(earlier, best, 2)
    runners = [(f"iteration {item.iteration}", saved_policies.policy_runner(item)) for item in between]
    return [("untrained", saved_policies.policy_runner(best, trained=False)), *runners]


def score_text(returns: list[float], pong: bool) -> str:
    """The mean return and its 95% interval."""
    if len(returns) == 1:
        return f"return {returns[0]:+.0f}; one game gives no interval"
    mean, low, high = mean_with_interval(returns, pong)
    return f"mean return {mean:+.1f}, 95% interval [{low:.1f}, {high:.1f}] of {len(returns)} games"
