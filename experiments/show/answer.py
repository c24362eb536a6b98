"""The first screen of a report: which configuration is best, how it plays, how sure that is, and what to type next."""

from collections import Counter
from collections.abc import Sequence

from experiments.ask.budget import duration
from experiments.read.configurations import Configuration, varied
from experiments.read.experiments import Experiment
from experiments.read.luck import confirmations, verdict
from experiments.read.next_command import next_command
from experiments.read.standings import by_latest
from experiments.read.statistics import mean_interval
from experiments.record.folders import WINNER_FILM
from experiments.show.page import Page
from experiments.show.summary import how_it_plays, play_command, time_is_up, whose_policy, winner_lines
from experiments.show.text import code, number, to_markdown
from trainables.checkpoints import FILM
from trainables.texts import MAX_BYTES, open_regular


def add_answer(page: Page, experiments: Sequence[Experiment], configurations: Sequence[Configuration]) -> None:
    """What a reader wants to know first. ``configurations`` are those that have results, of all these experiments."""
    trials = [trial for experiment in experiments for trial in experiment.trials]
    states = Counter(trial.state for trial in trials)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none yet"
    if not configurations:
        page.add(f"Trials: {counts}. There are no results yet.")
        return
    best, experiment = _best(experiments, configurations)
    ends = [number(float(end)) for end in mean_interval(best.scores)] if len(best.scores) > 1 else []
    rows = [row for trial in trials for row in trial.rows]  # a fork's are without its origin's
    steps, seconds = (sum(row.get(name, 0) for row in rows) for name in ("timesteps_this_iter", "time_this_iter_s"))
    shown = {"mean return": number(best.score), "95% interval": " to ".join(ends), "its seeds": str(len(best.scores))}
    shown |= {"trials": str(len(trials)), "agent steps": f"{steps / 1e6:.2f} M", "training": duration(seconds)}
    page.add(to_markdown([{title: text for title, text in shown.items() if text}]))
    _add_film(page, experiment)
    lines = winner_lines(experiment, code) or [
        f"Best configuration{f' of {len(configurations)}' if configurations[1:] else ''}:"
        f" {code(best.label(varied(configurations)))} ({best.learner}).",
        how_it_plays(experiment, code),
    ]
    lines.append(time_is_up(experiment))
    lines += [verdict(found, code) for found in _confirmed(experiments)]
    if go_on := next_command(experiment):
        lines.append(f"Go on: {code(go_on)}")
    if play := play_command(experiment):
        lines.append(f"See it play: {code(play)}")
    lines.append(whose_policy(experiment, code))
    lines.append(f"Trials: {counts}.")
    page.add("\n\n".join(line for line in lines if line))


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
    named = {experiment.name: experiment for experiment in experiments}
    pairs = [(named.get(experiment.spec.confirms or ""), experiment) for experiment in experiments]
    return [confirmations(sweep, confirm) for sweep, confirm in pairs if sweep]


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
