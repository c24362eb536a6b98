"""The report of one or several experiments, section by section."""

from collections.abc import Sequence

from experiments.analysis.comparison import Side, arrivals, side
from experiments.analysis.configurations import Configuration, by_configuration, labelled, varied
from experiments.analysis.luck import confirmations
from experiments.analysis.rank_correlation import is_luck, order_says
from experiments.analysis.windows import window_size
from experiments.disk.experiments import Experiment
from experiments.disk.trial import Trial
from experiments.plan.identity import SPEED_ONLY
from experiments.plan.trial_names import SHORT
from experiments.show import tables
from experiments.show.answer import add_answer
from experiments.show.figures import diagnostics_figures, learning_curves, speed_figure, styled
from experiments.show.origins import add_origins
from experiments.show.page import Page
from experiments.show.settings import at_first_rung, comparable, effects_figure
from experiments.show.summary import plan_line, winner_lines
from experiments.show.text import block, code, to_markdown, without
from trainables.sampling.console import agent_step

MAX_EFFECTS = 24
"""Settings whose effects are drawn."""


@styled()
def report(experiments: Sequence[Experiment]) -> Page:
    """The page about these experiments."""
    page = Page()
    page.add(f"# {', '.join(code(experiment.name) for experiment in experiments)}")
    configurations = [found for found in by_configuration(experiments) if len(found.scores)]
    trials = []
    for experiment in experiments:
        trials += experiment.trials
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


def _add_figures(page: Page, kinds: dict[str, list[Configuration]], experiments: Sequence[Experiment]) -> None:
    """Curves, effects of settings, diagnostics and speeds, of each kind by itself."""
    _curves(page, kinds)
    for title, found in kinds.items():
        _settings(page, title, [configuration for configuration in found if not configuration.fresh], experiments)
    _diagnostics(page, kinds)
    for title, found in kinds.items():
        trials = []
        for configuration in found:
            trials += configuration.all_trials
        _speeds(page, title, trials)


def _rungs(page: Page, experiment: Experiment) -> None:
    """Who went on at the rungs of a halved sweep, and who won, unless the answer says it."""
    page.add(f"## Who went on in {code(experiment.name)}")
    page.add(to_markdown(tables.rung_table(experiment)))
    lines = [*winner_lines(experiment, code), plan_line(experiment, code)]
    page.add("\n\n".join(line for line in lines if line not in page.text))


def _trials(page: Page, trials: Sequence[Trial], several: bool) -> None:
    """The table of all trials, of one experiment or of several, and what its columns are."""
    page.add("## Trials")
    rows = tables.trial_table(trials)
    page.add(to_markdown(rows if several else without(rows, "experiment")))
    page.add(
        "A score is the mean return of the games that ended in the last 100,000 agent steps (at least 10 games, at most"
        " 100), with sampled actions: *best* is the highest, *last* the latest. A fork's steps and time go on from its"
        " origin's."
    )


def _kinds(configurations: Sequence[Configuration]) -> dict[str, list[Configuration]]:
    """Configurations of one learner in one environment, by its title: what a figure may show, and a test compare."""
    kinds: dict[str, list[Configuration]] = {}
    several = len({c.env_id for c in configurations}) > 1
    for c in sorted(configurations, key=lambda c: (c.learner, c.env_id)):
        kinds.setdefault(code(c.learner) + (f" in {code(c.env_id)}" if several else ""), []).append(c)
    return kinds


def _curves(page: Page, kinds: dict[str, list[Configuration]]) -> None:
    configurations = [c for found in kinds.values() for c in found]
    page.add("## Learning curves")
    _add_best_curves(page, kinds, configurations)
    for title, found in kinds.items():
        if len(kinds) > 1:
            page.add(f"### Learner {title}")
        _show_curves(page, found[0].learner, found, labelled(found, found))
    names: set[str] = set()
    for found in kinds.values():
        names.update(varied(found))
    short_names = [f"{SHORT[name]} {name}" for name in SHORT if name in names]
    if short_names:
        page.add(f"Short names: {', '.join(short_names)}.")
    if any(len(c.scores) > 1 for c in configurations):
        page.add(
            "Bands are 95% intervals of the mean over seeds by Student's t, as far as all of the seeds got; thin lines"
            " are the seeds, also those that a sweep stopped earlier, which are in no mean."
        )


def _add_best_curves(
    page: Page, kinds: dict[str, list[Configuration]], configurations: Sequence[Configuration]
) -> None:
    """The best of several learners in one figure; of several environments, why they are in none."""
    played = sorted({c.env_id for c in configurations})
    if len(played) > 1:
        steps = ", ".join(f"{code(env_id)} (an agent step is {agent_step(env_id)})" for env_id in played)
        page.add(
            f"These runs play different environments: {steps}. Neither agent steps nor returns are the same there, so"
            " they are drawn apart, and no difference between them is tested."
        )
    elif len(kinds) > 1:
        page.add("The best configuration of each learner:")
        best = [found[0] for found in kinds.values()]
        labels = labelled(best, configurations)
        for index, configuration in enumerate(best):
            if not labels[index].startswith(configuration.learner):
                labels[index] = f"{configuration.learner}: {labels[index]}"
        _show_curves(page, "learners", best, labels)


def _show_curves(page: Page, name: str, configurations: Sequence[Configuration], labels: Sequence[str]) -> None:
    over_time = learning_curves(configurations, labels, "time_total_s", legend=False)
    page.show(**{f"{name}_over_steps": learning_curves(configurations, labels), f"{name}_over_time": over_time})


def _diagnostics(page: Page, kinds: dict[str, list[Configuration]]) -> None:
    """What else was recorded, beside which returns are easier to understand; colours are those of the curves."""
    page.add("## Diagnostics")
    for title, found in kinds.items():
        if len(kinds) > 1:
            page.add(f"### Of {title}")
        page.show(**diagnostics_figures(found, labelled(found, found)))


def _settings(
    page: Page, title: str, configurations: Sequence[Configuration], experiments: Sequence[Experiment]
) -> None:
    """What settings do, of configurations without fresh seeds, which were given to the best settings only."""
    names = [name for name in varied(configurations) if name not in SPEED_ONLY][:MAX_EFFECTS]
    if not names:
        return
    page.add_section("Effect of each setting")
    learner = configurations[0].learner
    trials = []
    for configuration in configurations:
        trials += configuration.all_trials
    steps, fair, scores = at_first_rung(experiments, trials) or comparable(trials)
    if is_luck(steps, configurations[0].env_id):
        page.add(f"{order_says(steps, configurations[0].env_id)} So no effects of settings are drawn.")
        return
    page.add(
        f"A dot is the mean return of a trial of {title} after {steps:,} agent steps, as far as all"
        " of them came; a bar is the mean over the trials at or around that value."
    )
    page.show(**{f"{learner}_effects": effects_figure(fair, scores, names)})


def _speeds(page: Page, title: str, trials: Sequence[Trial]) -> None:
    if not (found := tables.speeds(trials)):
        return
    page.add_section(
        "Speed",
        "The speed-up is over the fewest workers; it is linear if n times as many workers are n times as fast. Parallel"
        " efficiency is the speed-up divided by n. Trials that ran at the same time shared the machine, so a sweep's"
        " figures are a lower bound.",
    )
    page.add(f"### Workers of {title}")
    page.show(**{f"{trials[0].learner}_speed": speed_figure(found)})
    page.add(to_markdown(tables.speed_table(found)))


def _seeds(page: Page, configurations: Sequence[Configuration]) -> None:
    """Configurations with several seeds: their scores, and when they came to scores."""
    several = [configuration for configuration in configurations if len(configuration.scores) > 1]
    if not several:
        return
    labels, rows = labelled(several, configurations), []
    for configuration in several:
        rows += [trial.rows for trial in configuration.trials if not trial.diverged]
    page.add("## Configurations with several seeds")
    page.add(to_markdown(tables.configuration_table(several, labels)))
    window, sides = window_size(rows), []
    for label, configuration in zip(labels, several, strict=True):
        sides.append(side(label, configuration, window))
    add_arrivals(page, labels, sides, window)


def add_arrivals(page: Page, labels: Sequence[str], sides: Sequence[Side], window: int) -> None:
    """A table of the steps that scores took, if any seed came to one; mean returns are of windows of agent steps."""
    if found := arrivals(sides, window):
        page.add("## Steps to a score")
        page.add(to_markdown(tables.arrival_table(labels, found)))
        page.add(
            f"Agent steps by which half of all seeds had come to a mean return in a window of {window:,} steps, and how"
            " many came at all. Seeds that never came count as later than the end of their run (Kaplan and Meier's"
            " estimate). *At most*: forks that had the score as they began came to it then or before."
        )


def _confirmations(page: Page, experiments: Sequence[Experiment]) -> None:
    named = {experiment.name: experiment for experiment in experiments}
    for experiment in experiments:
        sweep = named.get(experiment.spec.confirms or "")
        if sweep and (found := confirmations(sweep, experiment)):
            page.add(f"## Was {code(sweep.name)} lucky?")
            page.add(
                "A sweep's best owes a part of its score to luck. These are scores with"
                " the same settings: the sweep's, and fresh seeds' there and at their end."
            )
            page.add(to_markdown(tables.confirmation_table(found)))


def _failures(page: Page, trials: Sequence[Trial]) -> None:
    for trial in trials:
        if trial.error:
            page.add_section("Failures")
            page.add(f"{code(trial.name)} failed:\n\n{block(trial.error)}")
        elif trial.diverged:
            page.add_section("Failures")
            page.add(f"{code(trial.name)} diverged at iteration {trial.iterations}: an update was not finite.")
