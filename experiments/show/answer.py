"""The first screen of a report: which configuration is best, how it plays, how sure that is, and what to type next."""

from collections import Counter
from collections.abc import Sequence

from experiments.analysis.configurations import Configuration, labelled
from experiments.analysis.luck import confirmations, verdict
from experiments.analysis.next_command import next_command
from experiments.analysis.rank_correlation import shown_order_says
from experiments.analysis.statistics import mean_interval
from experiments.ask.budget import duration
from experiments.disk.experiments import Experiment
from experiments.disk.folders import WINNER_FILM
from experiments.disk.standings import by_latest
from experiments.disk.trial import Trial
from experiments.show.page import Page
from experiments.show.summary import how_it_plays, play_command, time_is_up, whose_policy, winner_lines
from experiments.show.text import code, number, to_markdown
from trainables.checkpoints import FILM
from trainables.texts import MAX_BYTES, open_regular


def add_answer(page: Page, experiments: Sequence[Experiment], configurations: Sequence[Configuration]) -> None:
    """What a reader wants to know first. ``configurations`` are those that have results, of all these experiments."""
    trials = []
    for experiment in experiments:
        trials += experiment.trials
    states = Counter(trial.state for trial in trials)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none yet"
    if not configurations:
        page.add(f"Trials: {counts}. There are no results yet.")
        return
    best, experiment = _best(experiments, configurations)
    page.add(to_markdown([_figures(best, trials)]))
    _add_film(page, experiment)
    lines = winner_lines(experiment, code) or _best_lines(best, configurations, experiment)
    lines.append(shown_order_says(experiments))
    lines.append(time_is_up(experiment))
    lines += [verdict(found, code) for found in _confirmed(experiments)]
    if go_on := next_command(experiment):
        lines.append(f"Go on: {code(go_on)}")
    if play := play_command(experiment):
        lines.append(f"See it play: {code(play)}")
    lines.append(whose_policy(experiment, code))
    lines.append(f"Trials: {counts}.")
    page.add("\n\n".join(filter(None, lines)))


def _figures(best: Configuration, trials: Sequence[Trial]) -> dict[str, str]:
    """The score of the best configuration, and what all trials have played; a fork's without what its origin did."""
    shown = {"score": number(best.score)}
    if len(best.scores) > 1:
        shown["95% interval of mean"] = " to ".join(number(float(end)) for end in mean_interval(best.scores))
    steps, seconds = 0, 0.0
    for trial in trials:
        for row in trial.rows:
            steps += row.get("timesteps_this_iter", 0)
            seconds += row.get("time_this_iter_s", 0)
    shown |= {"its seeds": str(len(best.scores)), "trials": str(len(trials))}
    shown |= {"agent steps": f"{steps / 1e6:.2f} M", "training": duration(seconds)}
    return {title: text for title, text in shown.items() if text}


def _best_lines(best: Configuration, among: Sequence[Configuration], experiment: Experiment) -> list[str]:
    """Which configuration is best, and how it plays, where no rungs compared them."""
    of = f" of {len(among)}" if len(among) > 1 else ""
    name = code(labelled([best], among)[0])
    return [f"Best configuration{of}: {name} ({best.learner}).", how_it_plays(experiment, code)]


def _best(
    experiments: Sequence[Experiment], configurations: Sequence[Configuration]
) -> tuple[Configuration, Experiment]:
    """Of the experiments' best configurations the best, and whose it is; one with fresh seeds before all others."""
    by_key = {configuration.trials[0].key: configuration for configuration in configurations}
    found = []
    for experiment in experiments:
        if experiment.leader:
            configuration, best = by_key[experiment.leader.best.key], experiment.leader.best
            order = (configuration.fresh, configuration.standing.order, by_latest([best]).order)
            found.append((order, configuration, experiment))
    return max(found, key=lambda each: each[0])[1:]


def _confirmed(experiments: Sequence[Experiment]) -> list[list]:
    """What each confirmation says of its sweep, where both are among these."""
    named = {experiment.name: experiment for experiment in experiments}
    found = []
    for confirm in experiments:
        sweep = named.get(confirm.spec.confirms or "")
        if sweep:
            found.append(confirmations(sweep, confirm))
    return found


def _add_film(page: Page, experiment: Experiment) -> None:
    """The latest filmed game of the best trial: at a sweep's end, or in an evaluation.

    It is of the trial whose best checkpoint is the best policy (``saved_policies.of_experiment``), and says which
    iteration it is of: films are made when a trial is evaluated, and not of each checkpoint.
    """
    trial, played = experiment.best, experiment.played
    if trial is None:
        return
    # A checkpoint holds the film of the latest evaluation before it.
    films = [(checkpoint.evaluated, checkpoint.folder / FILM) for checkpoint in trial.checkpoints.usable]
    if played and played.trial == trial.number:
        films.append((played.iteration, experiment.folder / WINNER_FILM))
    there = [film for film in films if film[1].is_file() and not film[1].is_symlink()]
    if not there:
        return
    iteration, path = max(there, key=lambda film: film[0])
    with open_regular(path) as file:
        page.pictures[path.name] = file.read(MAX_BYTES)
    page.add(f"![A game of {code(trial.name)} after iteration {iteration}]({{figures}}/{path.name})")
