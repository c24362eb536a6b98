"""A report's text, in Markdown, and the pictures that it shows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.ask.words import duration
from experiments.read import policies
from experiments.read.comparison import Side, arrivals, side
from experiments.read.configurations import SPEED_ONLY, Configuration, by_configuration, varied
from experiments.read.experiments import Experiment
from experiments.read.luck import confirmations, verdict
from experiments.read.statistics import importances
from experiments.read.trial import Trial, rank
from experiments.read.windows import window_size
from experiments.show import tables
from experiments.show.effects import at_first_rung, comparable, effects_figure
from experiments.show.figures import STYLE, learning_curves
from experiments.show.halving import rung_table, winner_lines
from experiments.show.importance import importance_figure, importance_lines
from experiments.show.lineage import lineage
from experiments.show.origin import origin
from experiments.show.parallel import MAX_AXES, MIN_TRIALS, parallel_figure
from experiments.show.speed import speed_figure, speeds
from experiments.show.table import to_markdown, without
from experiments.show.text import block, code, number
from trainables.sampling.evaluation import FILM
from trainables.texts import MAX_BYTES, open_regular

MAX_EFFECTS = 24
"""Settings whose effects are drawn."""


@dataclass
class Page:
    """Markdown that names its pictures as ``{figures}/NAME``, and the pictures' bytes by name."""

    text: str = ""
    pictures: dict[str, bytes] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Another paragraph."""
        self.text += text.rstrip() + "\n\n"

    def show(self, **figures: Figure) -> None:
        """Figures side by side, if the screen is wide enough."""
        for name, figure in figures.items():
            buffer = BytesIO()
            with mpl.rc_context(STYLE):  # for ticks become text, and ids are given, only as the figure is saved
                figure.savefig(buffer, format="svg", metadata={"Date": None})
            self.pictures[f"{name}.svg"] = buffer.getvalue()
        self.add("\n".join(f"![{name.replace('_', ' ')}]({{figures}}/{name}.svg)" for name in figures))


def report(experiments: Sequence[Experiment]) -> Page:
    """The page about these experiments."""
    page = Page()
    page.add(f"# {', '.join(code(experiment.name) for experiment in experiments)}")
    configurations = [found for found in by_configuration(experiments) if len(found.scores)]
    trials = [trial for experiment in experiments for trial in experiment.trials]
    _summary(page, experiments)
    if configurations:
        _curves(page, configurations)
        _settings(page, configurations, experiments)
        _speeds(page, configurations)
    _seeds(page, configurations)
    _confirmations(page, experiments)
    page.text += "".join(map(lineage, experiments))
    _halvings(page, experiments)
    page.add("## Trials")
    rows = tables.trial_table(trials)
    page.add(to_markdown(rows if len(experiments) > 1 else without(rows, "experiment")))
    page.add(
        "Returns are means of the last 100 games, with sampled actions: *best* is the highest of them, *last* the"
        " latest. *Area* is the mean of the learning curve over agent steps (the area under it, divided by its length),"
        " so it is high for a trial that learns early."
    )
    if any(trial.error or trial.diverged for trial in trials):
        page.add("## Failures")
        _failures(page, trials)
    page.add("## Where these results come from")
    for experiment in experiments:
        page.add(f"### {code(experiment.name)}")
        page.add(origin(experiment))
    return page


def _summary(page: Page, experiments: Sequence[Experiment]) -> None:
    trials = [trial for experiment in experiments for trial in experiment.trials]
    scored = [trial for trial in trials if trial.rows]
    states = {state: sum(trial.state == state for trial in trials) for state in sorted({t.state for t in trials})}
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "none yet"
    if not scored:
        page.add(f"Trials: {counts}. There are no results yet.")
        return
    best = max((e.best for e in experiments if e.best), key=lambda trial: rank([trial]))
    steps = sum(trial.rows[-1].get("timesteps_total", 0) for trial in scored)
    seconds = sum(trial.rows[-1].get("time_total_s", 0) for trial in scored)
    figures = {"best return": number(best.last), "trials": str(len(trials))}
    page.add(to_markdown([figures | {"agent steps": f"{steps / 1e6:.2f} M", "training": duration(seconds)}]))
    page.add(f"The best trial is {code(f'{best.folder.parent.name}/{best.name}')} ({best.learner}). Trials: {counts}.")
    if filmed := [checkpoint for checkpoint in policies.of_trial(best.folder) if (checkpoint.folder / FILM).is_file()]:
        chosen = policies.best_of(filmed)
        with open_regular(chosen.folder / FILM) as file:
            page.pictures[FILM] = file.read(MAX_BYTES)
        # A checkpoint holds the film of the latest evaluation before it.
        game = f"A game of the best trial, after iteration {chosen.evaluated}"
        page.add(f"![{game}]({{figures}}/{FILM})")
        page.add(f"*{game}.*")


def _by_learner(configurations: Sequence[Configuration]) -> dict[str, list[Configuration]]:
    learners = sorted({configuration.learner for configuration in configurations})
    return {name: [found for found in configurations if found.learner == name] for name in learners}


def _curves(page: Page, configurations: Sequence[Configuration]) -> None:
    page.add("## Learning curves")
    by_learner = _by_learner(configurations)
    if len(by_learner) > 1:
        page.add("The best configuration of each learner:")
        best = [found[0] for found in by_learner.values()]
        names = [varied(by_learner[c.learner]) for c in best]
        labels = [f"{c.learner}: {c.label(n)}" if n else c.label(n) for c, n in zip(best, names, strict=True)]
        _show_curves(page, "learners", best, labels)
    for learner, found in by_learner.items():
        page.add(f"### Learner {code(learner)}")
        _show_curves(page, learner, found, [c.label(varied(found)) for c in found])
    if any(len(c.scores) > 1 for c in configurations):
        page.add(
            "Bands are 95% intervals of the mean over seeds by Student's t, as far as all of the seeds got; thin lines"
            " are the seeds."
        )


def _show_curves(page: Page, name: str, configurations: Sequence[Configuration], labels: Sequence[str]) -> None:
    over = {"over_steps": "timesteps_total", "over_time": "time_total_s"}
    page.show(**{f"{name}_{suffix}": learning_curves(configurations, labels, x) for suffix, x in over.items()})


def _settings(page: Page, configurations: Sequence[Configuration], experiments: Sequence[Experiment]) -> None:
    """Figures of each learner. Fresh seeds are left out: they were given to the best settings only."""
    for learner, found in _by_learner(configurations).items():
        swept = [c for c in found if not c.fresh]
        if not (names := varied(swept)[:MAX_EFFECTS]):
            continue
        if "## Effect" not in page.text:
            page.add("## Effect of each setting")
        trials = [trial for c in swept for trial in c.trials]
        decisive = [name for name in names if name not in SPEED_ONLY]
        _trials_and_settings(page, learner, trials, decisive)
        steps, fair, scores = at_first_rung(experiments, trials) or comparable(trials)
        page.add(
            f"A dot is the mean return of a trial of {code(learner)} after {steps:,} agent steps, as far as all"
            " of them came; a bar is the mean over the trials at or around that value."
        )
        page.show(**{f"{learner}_effects": effects_figure(fair, scores, names)})
        if any(e.spec.scheduler == "pbt" and e.learner == learner for e in experiments):
            page.add("How important each setting is cannot be said: settings changed while trials played.")
        elif decisive:
            count, estimates = importances(swept, fair, scores, decisive)
            page.add("\n\n".join(importance_lines(count, estimates, steps)))
            if any(math.isfinite(estimate.value) for estimate in estimates.values()):
                page.show(**{f"{learner}_importance": importance_figure(estimates)})


def _trials_and_settings(page: Page, learner: str, trials: Sequence[Trial], names: Sequence[str]) -> None:
    """Combinations of settings. Of a single setting the effects show all."""
    shown = [trial for trial in trials if math.isfinite(trial.last)]
    if len(names) < 2 or len(shown) < MIN_TRIALS:
        return
    page.add(
        f"A line is a trial of {code(learner)}: its settings, and its latest return. Where it is dashed, the trial has"
        " fewer agent steps than others, and a lower return for that."
    )
    page.show(**{f"{learner}_parallel_coordinates": parallel_figure(shown, names[:MAX_AXES])})


def _speeds(page: Page, configurations: Sequence[Configuration]) -> None:
    for learner, found in _by_learner(configurations).items():
        trials = [trial for c in found for trial in c.trials]
        if rates := speeds(trials):
            if "## Speed" not in page.text:
                page.add("## Speed")
                page.add(
                    "The speed-up is over the fewest workers; it is linear if n times as many workers are n times as"
                    " fast. Parallel efficiency is the speed-up divided by n. Trials that ran at the same time shared"
                    " the machine, so a sweep's figures are a lower bound."
                )
            page.add(f"### Workers of {code(learner)}")
            page.show(**{f"{learner}_speed": speed_figure(trials, rates)})
            page.add(to_markdown(tables.speed_table(rates)))


def _seeds(page: Page, configurations: Sequence[Configuration]) -> None:
    if several := [c for c in configurations if len(c.scores) > 1]:
        by_learner = _by_learner(configurations)
        labels = [c.label(varied(by_learner[c.learner])) for c in several]
        page.add("## Configurations with several seeds")
        page.add(to_markdown(tables.configuration_table(several, labels)))
        window = window_size([trial.rows for c in several for trial in c.trials if not trial.diverged])
        add_arrivals(page, labels, [side(label, c, window) for label, c in zip(labels, several, strict=True)], window)


def add_arrivals(page: Page, labels: Sequence[str], sides: Sequence[Side], window: int) -> None:
    """A table of the steps that scores took, if any seed came to one; mean returns are of windows of agent steps."""
    if found := arrivals(sides, window):
        page.add("## Steps to a score")
        page.add(to_markdown(tables.arrival_table(labels, found)))
        page.add(
            f"Agent steps by which half of all seeds had come to a mean return in a window of {window:,} steps, and how"
            " many came at all. Seeds that never came count as later than the end of their run (Kaplan and Meier's"
            " estimate)."
        )


def _confirmations(page: Page, experiments: Sequence[Experiment]) -> None:
    named = {experiment.name: experiment for experiment in experiments}
    for experiment in experiments:
        sweep = named.get(experiment.spec.confirms or "")
        if sweep and (found := confirmations(sweep, experiment)):
            page.add(f"## Was {code(sweep.name)} lucky?")
            page.add(
                "A sweep's best owes a part of its score to luck. These are mean returns of the last 100 games with"
                " the same settings: the sweep's, and fresh seeds' there and at their end."
            )
            page.add(to_markdown(tables.confirmation_table(found)))
            page.add(verdict(found, code))


def _halvings(page: Page, experiments: Sequence[Experiment]) -> None:
    for experiment in experiments:
        if lines := winner_lines(experiment, code):
            page.add(f"## Who went on in {code(experiment.name)}")
            page.add(to_markdown(rung_table(experiment)))
            page.add("\n\n".join(lines))


def _failures(page: Page, trials: Sequence[Trial]) -> None:
    for trial in trials:
        if trial.error:
            page.add(f"{code(trial.name)} failed:\n\n{block(trial.error)}")
        elif trial.diverged:
            page.add(f"{code(trial.name)} diverged at iteration {trial.iterations}: an update was not finite.")
