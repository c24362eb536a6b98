"""The report of one or several experiments, section by section."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from experiments.analysis.comparison import Side, arrivals, side
from experiments.analysis.configurations import Configuration, varied, with_results
from experiments.analysis.rank_correlation import is_luck, order_says
from experiments.analysis.windows import shortest_run, window_size
from experiments.disk.experiments import Experiment
from experiments.disk.trial import Trial
from experiments.plan.trial_names import SHORT
from experiments.show import tables
from experiments.show.answer import add_answer, confirmed
from experiments.show.figures import diagnostics_figures, learning_curves, legend_figure, speed_figure, styled
from experiments.show.origins import add_origins
from experiments.show.page import Page
from experiments.show.settings import at_first_rung, comparable, effects_figures, labels
from experiments.show.summary import plan_line, winner_lines
from experiments.show.text import block, code, to_markdown, without
from trainables.sampling.console import agent_step, is_pong
from trainables.texts import printable

MAX_EFFECTS = 24
"""Settings whose effects are drawn, at most."""

FIRST = ("trial", "experiment", "last", "best")
"""Columns with which the table of trials begins, since a telephone shows no more at once."""


class Kind(NamedTuple):
    """Configurations of one learner in one environment: what a figure may show, and a test compare."""

    learner: str
    env_id: str
    title: str  # the learner, and the environment if the page has several
    configurations: list[Configuration]  # the best first
    names: list[str]  # what each is called in a figure
    first_colour: int  # of the best one, in all figures of the page


@styled()
def report(experiments: Sequence[Experiment]) -> Page:
    """The page about these experiments."""
    trials = []
    for experiment in experiments:
        trials += experiment.trials
    configurations = with_results(experiments)
    page = Page()
    page.add(f"# {', '.join(code(experiment.name) for experiment in experiments)}")
    add_answer(page, experiments, configurations)
    if configurations:
        _add_figures(page, _kinds(configurations), experiments)
    _seeds(page, configurations)
    _confirmations(page, experiments)
    for experiment in experiments:
        if experiment.decisions:
            _rungs(page, experiment)
    _trials(page, trials, several=len(experiments) > 1)
    _failures(page, trials)
    add_origins(page, experiments)
    return page


def _add_figures(page: Page, kinds: Sequence[Kind], experiments: Sequence[Experiment]) -> None:
    """Curves, effects of settings, diagnostics and speeds, of each kind by itself."""
    _curves(page, kinds)
    for kind in kinds:
        _settings(page, kind, experiments)
    _diagnostics(page, kinds)
    for kind in kinds:
        _speeds(page, kind)


def _trials_of(configurations: Sequence[Configuration]) -> list[Trial]:
    """All trials of these configurations, with those that halving stopped earlier."""
    trials = []
    for configuration in configurations:
        trials += configuration.all_trials
    return trials


def _rungs(page: Page, experiment: Experiment) -> None:
    """Who went on at the rungs of a halved sweep, and who won, unless the answer says it."""
    page.add(f"## Who went on in {code(experiment.name)}")
    page.add(to_markdown(tables.rung_table(experiment)))
    lines = winner_lines(experiment, code)
    if not all(line in page.text for line in lines):
        for line in lines:
            page.add(line)
    plan = plan_line(experiment, code)
    if plan:
        page.add(plan)


def _trials(page: Page, trials: Sequence[Trial], several: bool) -> None:
    """The table of all trials, of one experiment or of several, and what its columns are."""
    page.add("## Trials")
    rows = []
    for row in tables.trial_table(trials):
        rows.append({title: row[title] for title in FIRST} | row)
    page.add(to_markdown(rows if several else without(rows, "experiment")))
    page.add(
        "A score is the mean return of the games that ended in the last 100,000 agent steps (at least 10 games, at most"
        " 100), with sampled actions: *best* is the highest, *last* the latest; a trial has none before its first game"
        " has ended. *Workers* are those that it had, which can be others than it asked for (`w` in its name). A fork's"
        " steps and time go on from its origin's."
    )


def _kinds(configurations: Sequence[Configuration]) -> list[Kind]:
    """These configurations by learner and environment."""
    found: dict[tuple[str, str], list[Configuration]] = {}
    for configuration in configurations:
        found.setdefault((configuration.learner, configuration.env_id), []).append(configuration)
    several = len({env_id for _, env_id in found}) > 1
    kinds: list[Kind] = []
    for learner, env_id in sorted(found):
        same = found[learner, env_id]
        title = code(learner)
        if several:
            title += f" in {code(env_id)}"
        kinds.append(Kind(learner, env_id, title, same, _names(same), first_colour=len(kinds)))
    return kinds


def _names(configurations: Sequence[Configuration]) -> list[str]:
    """Configurations of one learner by the settings in which they differ, and by experiment if they are of several."""
    origins = [_experiments_of(configuration) for configuration in configurations]
    names = labels(configurations, configurations)
    if len({*origins}) > 1:
        for index, origin in enumerate(origins):
            names[index] += f", {origin}"
    return names


def _experiments_of(configuration: Configuration) -> str:
    """The names of the experiments that a configuration's trials are of."""
    names = {trial.folder.parent.name: None for trial in configuration.all_trials}
    return printable(" and ".join(names))


def _curves(page: Page, kinds: Sequence[Kind]) -> None:
    """Learning curves of each kind, and what short names and bands in these figures are."""
    page.add("## Learning curves")
    _add_best_curves(page, kinds)
    several_seeds = False
    full_names: dict[str, dict[str, None]] = {}
    for kind in kinds:
        if len(kinds) > 1:
            page.add(f"### Learner {kind.title}")
        _show_curves(page, kind.learner, kind.configurations, kind.names, kind.first_colour)
        several_seeds |= any(len(configuration.scores) > 1 for configuration in kind.configurations)
        for name in varied(kind.configurations):
            if name in SHORT:
                full_names.setdefault(SHORT[name], {})[name] = None
    if full_names:
        page.add(f"Short names: {_in_full(full_names)}.")
    if several_seeds:
        page.add(
            "Bands are 95% intervals of the mean over seeds by Student's t, as far as all of the seeds got; thin lines"
            " are the seeds, also those that a sweep stopped earlier, which are in no mean."
        )


def _in_full(full_names: Mapping[str, Mapping[str, None]]) -> str:
    """What short names stand for: ``lr learning_rate``; two learners can have one short name for different settings."""
    words = []
    for short_name, names in full_names.items():
        words.append(f"{short_name} {' or '.join(names)}")
    return ", ".join(words)


def _add_best_curves(page: Page, kinds: Sequence[Kind]) -> None:
    """The best of several learners in one figure; of several environments, why they are in none."""
    played = sorted({kind.env_id for kind in kinds})
    if len(played) > 1:
        steps = ", ".join(f"{code(env_id)} (an agent step is {agent_step(env_id)})" for env_id in played)
        page.add(
            f"These runs play different environments: {steps}. Neither agent steps nor returns are the same there, so"
            " they are drawn apart, and no difference between them is tested."
        )
    elif len(kinds) > 1:
        page.add("The best configuration of each learner:")
        best, names = [], []
        for kind in kinds:
            name = kind.names[0]
            if not name.startswith(kind.learner):
                name = f"{kind.learner}: {name}"
            best.append(kind.configurations[0])
            names.append(name)
        _show_curves(page, "learners", best, names, kinds[0].first_colour)


def _show_curves(
    page: Page, title: str, configurations: Sequence[Configuration], names: Sequence[str], first_colour: int
) -> None:
    """A figure over agent steps beside one over time; ``title`` begins the names of both."""
    over_steps = learning_curves(configurations, names, first_colour=first_colour)
    over_time = learning_curves(configurations, names, "time_total_s", first_colour=first_colour)
    page.show(**{f"{title}_over_steps": over_steps, f"{title}_over_time": over_time})


def _diagnostics(page: Page, kinds: Sequence[Kind]) -> None:
    """What else was recorded, beside which returns are easier to understand; colours are those of the curves."""
    shown = []
    for kind in kinds:
        shown.append((kind, diagnostics_figures(kind.configurations, kind.names, kind.first_colour)))
    if not any(figures for _, figures in shown):
        return
    page.add("## Diagnostics")
    evaluations = False
    for kind, figures in shown:
        if len(kinds) > 1:
            page.add(f"### Of {kind.title}")
        if len(kind.configurations) > 1 and figures:
            legend = legend_figure(kind.configurations, kind.names, kind.first_colour)
            page.show(**{f"{kind.learner}_legend": legend})
        page.show(**figures)
        for name in figures:
            evaluations |= "_eval_" in name
    if evaluations:
        page.add(
            "Bands around evaluations are 95% intervals of the games of the best configuration, if it has one seed."
            " Trials that were evaluated once are left out."
        )


def _settings(page: Page, kind: Kind, experiments: Sequence[Experiment]) -> None:
    """What settings do, of configurations without fresh seeds, which were given to the best settings only."""
    configurations = [configuration for configuration in kind.configurations if not configuration.fresh]
    names = varied(configurations)[:MAX_EFFECTS]
    if not names:
        return
    page.add_section("Effect of each setting")
    trials = _trials_of(configurations)
    steps, fair, scores = at_first_rung(experiments, trials) or comparable(trials)
    if is_luck(steps, kind.env_id):
        page.add(f"{order_says(steps, kind.env_id)} So no effects of settings are drawn.")
        return
    page.add(
        f"A dot is the mean return of a trial of {kind.title} after {steps:,} agent steps, as far as all"
        " of them came; a bar is the mean over the trials at or around that value."
    )
    figures = {}
    for index, figure in enumerate(effects_figures(fair, scores, names)):
        # Pictures are files, and a setting's name may hold what no file's name may.
        figures[f"{kind.learner}_effects_{index}"] = figure
    page.show(**figures)


def _speeds(page: Page, kind: Kind) -> None:
    """The speed by number of workers, if trials had several."""
    found = tables.speeds(_trials_of(kind.configurations))
    if not found:
        return
    page.add_section(
        "Speed",
        "The speed-up is over the fewest workers; it is linear if n times as many workers are n times as fast. Parallel"
        " efficiency is the speed-up divided by n. Trials that ran at the same time shared the machine, so a sweep's"
        " figures are a lower bound.",
    )
    page.add(f"### Workers of {kind.title}")
    page.show(**{f"{kind.learner}_speed": speed_figure(found)})
    page.add(to_markdown(tables.speed_table(found)))


def _seeds(page: Page, configurations: Sequence[Configuration]) -> None:
    """Configurations with several seeds: their scores, and the agent steps that each score took."""
    several = [configuration for configuration in configurations if len(configuration.scores) > 1]
    if not several:
        return
    names = labels(several, configurations)
    page.add("## Configurations with several seeds")
    page.add(to_markdown(tables.configuration_table(several, names)))
    names_of_pong, of_pong = [], []
    for name, configuration in zip(names, several, strict=True):
        if is_pong(str(configuration.env_id)):
            names_of_pong.append(name)
            of_pong.append(configuration)
    window = _window(of_pong)
    sides = [side(name, each, window) for name, each in zip(names_of_pong, of_pong, strict=True)]
    add_arrivals(page, names_of_pong, sides, window)


def _window(configurations: Sequence[Configuration]) -> int:
    """The size of windows in which scores are looked for: it follows from trials half as long as the longest, or more.

    A seed that failed early, or has just begun, would make the windows of all others so short that luck comes to any
    score.
    """
    found = []
    for configuration in configurations:
        found += [trial.rows for trial in configuration.trials if not trial.diverged]
    longest = max((shortest_run([rows]) for rows in found), default=0)
    return window_size([rows for rows in found if 2 * shortest_run([rows]) >= longest])


def add_arrivals(page: Page, names: Sequence[str], sides: Sequence[Side], window: int) -> None:
    """A table of the steps that scores took, if any seed came to one; mean returns are of windows of agent steps.

    ``names`` are those of the ``sides``.
    """
    found = arrivals(sides, window)
    if found:
        page.add("## Steps to a score")
        page.add(to_markdown(tables.arrival_table(names, found)))
        page.add(
            f"Agent steps by which half of all seeds had come to a mean return in a window of {window:,} steps, and how"
            " many came at all. Seeds that never came count as later than the end of their run (Kaplan and Meier's"
            " estimate). *At most*: forks that had the score as they began came to it then or before."
        )


def _confirmations(page: Page, experiments: Sequence[Experiment]) -> None:
    """The scores of each confirmed sweep beside those of fresh seeds, where some have come so far."""
    for sweep, found in confirmed(experiments):
        if found:
            page.add(f"## Was {code(sweep.name)} lucky?")
            page.add(
                "A sweep's best owes a part of its score to luck. These are scores with"
                " the same settings: the sweep's, and fresh seeds' there and at their end."
            )
            page.add(to_markdown(tables.confirmation_table(found)))


def _failures(page: Page, trials: Sequence[Trial]) -> None:
    """The errors that ended trials, and the trials that diverged."""
    for trial in trials:
        if trial.error:
            page.add_section("Failures")
            page.add(f"{code(trial.name)} failed:\n\n{block(trial.error)}")
        elif trial.diverged:
            page.add_section("Failures")
            page.add(f"{code(trial.name)} diverged at iteration {trial.iterations}: an update was not finite.")
