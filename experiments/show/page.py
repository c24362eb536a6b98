"""A report's text, in Markdown, and the pictures that it shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO

from matplotlib.figure import Figure

from experiments.ask.words import duration
from experiments.read import policies
from experiments.read.configurations import Configuration, group, varied
from experiments.read.trials import Experiment, TrialResult
from experiments.show import tables
from experiments.show.effects import comparable, effects, speed_figure, speeds
from experiments.show.figures import learning_curves, over_steps, over_time
from trainables.evaluation import FILM


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
            figure.savefig(buffer, format="svg", metadata={"Date": None})
            self.pictures[f"{name}.svg"] = buffer.getvalue()
        self.add("\n".join(f"![{name.replace('_', ' ')}]({{figures}}/{name}.svg)" for name in figures))


def report(experiments: Sequence[Experiment]) -> Page:
    """The page about these experiments."""
    page = Page()
    page.add(f"# {', '.join(tables.code(experiment.name) for experiment in experiments)}")
    groups = [found for found in group(experiments) if len(found.scores)]
    trials = [trial for experiment in experiments for trial in experiment.trials]
    _summary(page, experiments, trials)
    if groups:
        _curves(page, groups)
        _effects(page, groups)
        _speeds(page, groups)
    _seeds(page, experiments, groups)
    page.add("## Trials")
    page.add(tables.trial_table(experiments))
    page.add(
        "Returns are means of the last 100 games, with sampled actions: *best* is the highest of them, *last* the"
        " latest. *Area* is the mean of the learning curve over agent steps (the area under it by its length), so it"
        " is high for a trial that learns early."
    )
    if failed := tables.failures(trials):
        page.add("## Failures")
        page.add(failed)
    page.add("## Where these results come from")
    for experiment in experiments:
        page.add(f"### {tables.code(experiment.name)}")
        page.add(tables.origin(experiment))
    return page


def _summary(page: Page, experiments: Sequence[Experiment], trials: Sequence[TrialResult]) -> None:
    scored = [trial for trial in trials if trial.rows]
    states = {state: sum(trial.state == state for trial in trials) for state in sorted({t.state for t in trials})}
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "none yet"
    if not scored:
        page.add(f"Trials: {counts}. There are no results yet.")
        return
    best = max(scored, key=lambda trial: trial.last)
    steps = sum(trial.rows[-1].get("timesteps_total", 0) for trial in scored)
    seconds = sum(trial.rows[-1].get("time_total_s", 0) for trial in scored)
    figures = [tables.number(best.last), str(len(trials)), f"{steps / 1e6:.2f} M", duration(seconds)]
    page.add(tables.table(["best return", "trials", "agent steps", "training"], [figures], texts=0))
    page.add(
        f"The best trial is {tables.code(f'{best.folder.parent.name}/{best.name}')} ({best.learner}). Trials: {counts}."
    )
    if filmed := [checkpoint for checkpoint in policies.of_trial(best.folder) if (checkpoint.folder / FILM).is_file()]:
        chosen = policies.best_of(filmed)
        page.pictures[FILM] = (chosen.folder / FILM).read_bytes()
        # A checkpoint holds the film of the latest evaluation before it.
        game = f"A game of the best trial, after iteration {chosen.state['evaluation']['eval/iteration']}"
        page.add(f"![{game}]({{figures}}/{FILM})")
        page.add(f"*{game}.*")


def _by_learner(groups: Sequence[Configuration]) -> dict[str, list[Configuration]]:
    return {name: [g for g in groups if g.learner == name] for name in sorted({g.learner for g in groups})}


def _curves(page: Page, groups: Sequence[Configuration]) -> None:
    page.add("## Learning curves")
    by_learner = _by_learner(groups)
    if len(by_learner) > 1:
        page.add("The best configuration of each learner:")
        best = [found[0] for found in by_learner.values()]
        names = [varied(by_learner[g.learner]) for g in best]
        labels = [f"{g.learner}: {g.label(n)}" if n else g.label(n) for g, n in zip(best, names, strict=True)]
        page.show(
            learners_over_steps=learning_curves(best, labels, over_steps),
            learners_over_time=learning_curves(best, labels, over_time),
        )
    for learner, found in by_learner.items():
        page.add(f"### Learner {tables.code(learner)}")
        labels = [g.label(varied(found)) for g in found]
        page.show(
            **{
                f"{learner}_over_steps": learning_curves(found, labels, over_steps),
                f"{learner}_over_time": learning_curves(found, labels, over_time),
            }
        )
    if any(len(g.scores) > 1 for g in groups):
        page.add(
            "Bands are 95% bootstrap intervals of the mean over seeds, as far as all of the seeds got; thin lines"
            " are the seeds."
        )


def _effects(page: Page, groups: Sequence[Configuration]) -> None:
    """One figure a learner. Fresh seeds are left out: they were given to the best settings only."""
    for learner, found in _by_learner(groups).items():
        swept = [g for g in found if not g.fresh]
        if not (names := varied(swept)):
            continue
        steps, trials, scores = comparable([trial for g in swept for trial in g.trials])
        if "## Effect" not in page.text:
            page.add("## Effect of each setting")
        page.add(
            f"A dot is the mean return of a trial of {tables.code(learner)} after {steps:,} agent steps, as far as all"
            " of them came; a bar is the mean over the trials at or around that value."
        )
        page.show(**{f"{learner}_effects": effects(trials, scores, names)})


def _speeds(page: Page, groups: Sequence[Configuration]) -> None:
    for learner, found in _by_learner(groups).items():
        trials = [trial for g in found for trial in g.trials]
        if rates := speeds(trials):
            if "## Speed" not in page.text:
                page.add("## Speed")
                page.add(
                    "Efficiency is the speed-up against the fewest workers, by the ideal one. Trials that ran at"
                    " the same time shared the machine, so a sweep's figures are a lower bound."
                )
            page.add(f"### Workers of {tables.code(learner)}")
            page.show(**{f"{learner}_speed": speed_figure(trials, rates)})
            page.add(tables.speed_table(rates))


def _seeds(page: Page, experiments: Sequence[Experiment], groups: Sequence[Configuration]) -> None:
    """Configurations of several seeds, and what fresh ones say of a sweep's best."""
    if several := [g for g in groups if len(g.scores) > 1]:
        by_learner = _by_learner(groups)
        page.add("## Configurations with several seeds")
        page.add(tables.group_table(several, [g.label(varied(by_learner[g.learner])) for g in several]))
    named = {experiment.name: experiment for experiment in experiments}
    for experiment in experiments:
        sweep = named.get(experiment.record.get("confirms", ""))
        if sweep and (text := tables.confirmation_table(sweep, experiment)):
            page.add(f"## Was {tables.code(sweep.name)} lucky?")
            page.add("A sweep's best owes a part of its score to luck. These are the same settings with fresh seeds:")
            page.add(text)
