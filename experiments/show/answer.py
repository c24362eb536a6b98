"""The first screen of a report: which configuration is best, how it plays, how sure that is, and what to type next."""

import math
from collections import Counter
from collections.abc import Sequence

from experiments.analysis.configurations import Configuration
from experiments.analysis.luck import Confirmation, best_by_fresh_seeds, confirmations
from experiments.analysis.next_command import next_command
from experiments.analysis.rank_correlation import shown_order_says
from experiments.analysis.windows import millions
from experiments.ask.budget import duration
from experiments.disk.experiments import Experiment
from experiments.disk.folders import WINNER_FILM
from experiments.disk.saved_policies import of_experiment
from experiments.disk.standings import by_latest
from experiments.disk.trial import Trial
from experiments.show.durations import took, trained
from experiments.show.endings import how_it_plays
from experiments.show.page import Page
from experiments.show.settings import labels
from experiments.show.summary import play_command, time_is_up, whose_policy, winner_lines
from experiments.show.tables import has_score, interval_of_mean, interval_of_next_seed
from experiments.show.text import code, number, to_markdown
from trainables.checkpoints import FILM
from trainables.texts import MAX_BYTES, open_regular

PADDLE = "Ours is the green paddle, on the right."
SEEN = {
    "pg": "Beside it stands what the network sees, the difference of two frames: orange is what appeared, and blue what"
    " was there before. PPO sees the present frame, too, in darker orange.",
    "trpo": "Beside it stands what the network sees of the console's memory, byte by byte, and with coarse coding the"
    " bins of positions below: orange is above 0, blue below.",
}
"""What stands beside the game in a film, by the learner; films show games of Pong alone."""

SEEN_BY_OTHERS = "Beside it stands what the network sees: orange is above 0, blue below."
BAR = "The bar underneath is the probability of moving up (orange), of staying (grey) and of moving down (blue)."


def add_answer(page: Page, experiments: Sequence[Experiment], configurations: Sequence[Configuration]) -> None:
    """Add the first screen. ``configurations`` are those of all these experiments that have results."""
    trials = []
    for experiment in experiments:
        trials += experiment.trials
    states = Counter(trial.state for trial in trials)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none yet"
    if not configurations:
        page.add(f"Trials: {counts}. There are no results yet.")
        return
    played = dict.fromkeys(configuration.env_id for configuration in configurations)
    if len(played) > 1:
        page.add(
            f"Trials: {counts}. They played {' and '.join(map(code, played))}, whose returns cannot be compared: a"
            " report of each says which configuration is best."
        )
        return
    best, experiment = _best(experiments, configurations)
    page.add(to_markdown([_key_numbers(best, trials, experiments)]))
    _add_film(page, experiment)
    lines = [_whose(experiments, experiment)]
    lines += winner_lines(experiment, code) or _best_lines(best, configurations, experiment)
    lines.append(shown_order_says(experiments))
    lines.append(time_is_up(experiment))
    lines += [best_by_fresh_seeds(found, code) for _, found in confirmed(experiments)]
    go_on = next_command(experiment)
    if go_on:
        lines.append(f"Go on: {code(go_on)}")
    lines.append(_see_it_play(experiment))
    lines.append(whose_policy(experiment, code))
    lines.append(f"Trials: {counts}.")
    page.add("\n\n".join(filter(None, lines)))


def _see_it_play(experiment: Experiment) -> str:
    """The command that has the best policy play, and of which iteration it is: seldom of the one that was filmed."""
    policy = of_experiment(experiment).best
    if policy is None:
        return ""
    return f"See its best policy play, of iteration {policy.iteration}: {code(play_command(experiment))}"


def _whose(experiments: Sequence[Experiment], best: Experiment) -> str:
    """Which of several experiments, the ``best``, has the winner or leader; empty where no rungs compared its trials.

    Configurations without rungs can have seeds in several experiments.
    """
    if len(experiments) == 1 or not best.decisions:
        return ""
    return f"Of these {len(experiments)} experiments {code(best.name)} has the best trial. What follows is about it."


def _key_numbers(best: Configuration, trials: Sequence[Trial], experiments: Sequence[Experiment]) -> dict[str, str]:
    """The score of the best configuration, and what all trials have played; a fork's without what its origin did.

    Two times are shown: by the clock, and the training summed over trials, of which several can run at a time.
    """
    shown = {}
    if has_score(best.judged_by):
        shown["score in training"] = number(best.score)
        interval = interval_of_mean(best.scores, best.env_id)
        if interval:
            shown["95% interval of mean"] = interval
        next_one = interval_of_next_seed(best.scores, best.env_id)
        if next_one:
            shown["next seed (95%)"] = next_one
    steps = 0
    for trial in trials:
        for row in trial.rows:
            steps += row.get("timesteps_this_iter", 0)
    shown |= {"its seeds": str(len(best.scores)), "trials": str(len(trials)), "agent steps": millions(steps)}
    seconds = sum(map(took, experiments))
    if math.isfinite(seconds):
        shown["took"] = duration(seconds)
    shown["training of all trials"] = duration(trained(trials))
    return shown


def _best_lines(best: Configuration, among: Sequence[Configuration], experiment: Experiment) -> list[str]:
    """Which configuration is best, and how it plays, where no rungs compared them."""
    (label,) = labels([best], among)
    if len(among) > 1:
        name = f"Best configuration of {len(among)}: {code(label)} ({best.learner})."
    elif label == best.learner:
        name = f"One configuration of {code(label)}; its settings stand at the end of this page."
    else:
        name = f"One configuration: {code(label)} ({best.learner})."
    return [name, how_it_plays(experiment, code, best.trials)]


def _best(
    experiments: Sequence[Experiment], configurations: Sequence[Configuration]
) -> tuple[Configuration, Experiment]:
    """Of the experiments' best configurations the best, and whose it is; one with fresh seeds before all others."""
    by_key = {configuration.trials[0].key: configuration for configuration in configurations}
    found = []
    for experiment in experiments:
        if experiment.leader:
            trial = experiment.leader.best
            configuration = by_key[trial.key]
            order = (configuration.fresh, configuration.standing.order, by_latest([trial]).order)
            found.append((order, configuration, experiment))
    _, best, its_experiment = max(found, key=lambda each: each[0])
    return best, its_experiment


def confirmed(experiments: Sequence[Experiment]) -> list[tuple[Experiment, list[Confirmation]]]:
    """The sweeps that others of these experiments confirm, each with what its confirmation says of it."""
    named = {experiment.name: experiment for experiment in experiments}
    found = []
    for confirm in experiments:
        sweep = named.get(confirm.spec.confirms or "")
        if sweep:
            found.append((sweep, confirmations(sweep, confirm)))
    return found


def _add_film(page: Page, experiment: Experiment) -> None:
    """Add the latest filmed game of the best trial, from a sweep's end or an evaluation, and say what it shows.

    It is of the trial whose best checkpoint is the best policy (``saved_policies.of_experiment``), and says which
    iteration it is of: films are made when a trial is evaluated, and not of each checkpoint.
    """
    trial, played = experiment.best, experiment.played
    if trial is None:
        return
    candidates = []
    for checkpoint in trial.checkpoints.usable:
        # A checkpoint keeps the film of the latest evaluation before it.
        candidates.append((checkpoint.evaluated, checkpoint.folder / FILM))
    if played and played.trial == trial.number:
        candidates.append((played.iteration, experiment.folder / WINNER_FILM))
    films = []
    for iteration, path in candidates:
        if path.is_file() and not path.is_symlink():
            films.append((iteration, path))
    if not films:
        return
    iteration, path = max(films, key=lambda film: film[0])
    try:
        with open_regular(path) as file:
            page.pictures[path.name] = file.read(MAX_BYTES)
    except OSError:  # The page is worth having without a film that cannot be read.
        return
    picture = f"![A game of {code(trial.name)} after iteration {iteration}]({{figures}}/{path.name})"
    of = f"A game of {code(trial.name)} after iteration {iteration} of {trial.iterations}, actions sampled."
    page.add(f"{picture}\n{of} {PADDLE} {SEEN.get(trial.learner, SEEN_BY_OTHERS)} {BAR}")
