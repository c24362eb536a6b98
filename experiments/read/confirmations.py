"""What fresh random seeds say of the configurations that a sweep chose: its winner owes a part of its score to luck."""

import math
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from experiments.ask.budget import Budget
from experiments.read.configurations import Configuration, best_configurations, by_configuration, varied
from experiments.read.differences import difference
from experiments.read.trials import Experiment, read_experiment
from experiments.record import folders
from trainables.checks import ConfigError

SUFFIX = "-confirm"
"""What the confirmation's name adds to its sweep's."""

UNITS = {"timesteps_total": "steps", "training_iteration": "iterations"}
"""What the metrics count by which trials are compared."""


class Confirmation(NamedTuple):
    """A configuration's score in a sweep, and with fresh seeds. Scores are mean returns of the last 100 games."""

    chosen: Configuration  # as the sweep has it
    end: int  # where the sweep's trial ended; ``sweep`` and ``fresh`` are taken there
    unit: str  # steps or iterations
    sweep: float
    fresh: np.ndarray  # one score for each fresh seed that came so far (n,)
    final: np.ndarray  # where the fresh seeds ended (n,), NaN until all did; later if the sweep's trial was cut short

    @property
    def where(self) -> str:
        """The end in words."""
        return f"{self.end / 1e6:.2f} M steps" if self.unit == "steps" else f"{self.end} {self.unit}"

    @property
    def drop(self) -> float:
        """How much higher the sweep's score is: an estimate of its selection bias."""
        return self.sweep - float(self.fresh.mean())


def confirmations(sweep: Experiment, confirm: Experiment) -> list[Confirmation]:
    """Scores in the sweep beside those of fresh seeds at equal steps (or iterations), the sweep's best first.

    They are compared where the sweep's trial ended, or at the fresh seeds' budget if the sweep was extended beyond it.
    A seed that has not come so far is left out, and so is a configuration without any that has.
    """
    budget, time_attr = Budget.of_record(confirm.record), Budget.of_record(sweep.record).time_attr
    limit = budget.limits.get(time_attr, math.inf) if budget != Budget.of_record(sweep.record) else math.inf
    fresh = {repr(sorted(again.config.items())): again for again in by_configuration([confirm])}
    found = []
    for chosen in best_configurations(sweep, len(sweep.trials)):
        again = fresh.get(repr(sorted(chosen.config.items())))
        end = min(limit, *(trial.rows[-1][time_attr] for trial in chosen.arrived))
        trials = [trial for trial in again.trials if trial.rows] if again else []
        arrived = [t for t in trials if t.state in ("finished", "diverged") or t.rows[-1][time_attr] >= end]
        after = np.array([trial.score_at(time_attr, end) for trial in arrived])
        after = after[np.isfinite(after)]  # a first result can come after the end
        if len(after):
            before = float(chosen.scores_at(time_attr, end).mean())
            final = [trial.last if confirm.over else math.nan for trial in trials if trial.state != "failed"]
            found.append(Confirmation(chosen, int(end), UNITS[time_attr], before, after, np.array(final or [math.nan])))
    return found


def verdict(found: Sequence[Confirmation], mark: Callable[[str], str] = str) -> str:
    """Which of the configurations is best by its fresh seeds, and how sure that is.

    Empty unless there are two, all of whose seeds have come to their end. ``mark`` makes of a configuration's label
    what is shown of it.
    """
    if len(found) < 2 or not all(np.isfinite(c.final).all() for c in found):
        return ""
    best, next_best = sorted(found, key=lambda c: float(c.final.mean()), reverse=True)[:2]
    names = varied(c.chosen for c in found)
    lead = difference(next_best.final, best.final, paired=False)
    text = (
        f"By the end of its fresh seeds {mark(best.chosen.label(names))} is best: by {lead.value:.1f} points over"
        f" {mark(next_best.chosen.label(names))}"
    )
    if math.isnan(lead.low):
        return f"{text}, and one seed does not say how much of that is luck."
    told = "which is more than luck" if lead.excludes(0) else "so the two cannot be told apart"
    return f"{text} (95% interval {lead.low:.1f} to {lead.high:.1f}), {told}."


def wanted(sweep: Experiment) -> dict[str, int] | None:
    """The confirmation that a sweep was started with, ``{"best": n, "seeds": k}``, once it can begin."""
    return sweep.record.get("confirm") if sweep.settled and best_configurations(sweep, 1) else None


def state_with_confirmation(experiment: Experiment) -> str:
    """An experiment's state; "confirming" or "unconfirmed" while it is over, but not the confirmation it promised."""
    if experiment.running or not wanted(experiment):
        return experiment.state
    again = experiment.folder.with_name(experiment.name + SUFFIX)
    try:
        confirm = read_experiment(again) if os.path.isfile(again / folders.RECORD) else None
    except ConfigError:  # which its own line says
        confirm = None
    if confirm and confirm.running:
        return "confirming"
    return experiment.state if confirm and confirm.over else "unconfirmed"
