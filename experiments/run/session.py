"""What a run of an experiment carries from the moment that it can begin."""

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from ray import tune

from experiments.analysis.next_command import resume_command
from experiments.ask.flags import RunFlags
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import Learner
from experiments.run.stopping import StopSignals


@dataclass(frozen=True)
class Session:
    """One program's run of an experiment, whose lock it holds and whose ``experiment.json`` is written."""

    learner: Learner
    folder: Path
    spec: ExperimentSpec
    run: RunFlags = field(default_factory=RunFlags)
    callbacks: Sequence[tune.Callback] = ()
    signals: StopSignals = field(default_factory=StopSignals)
    deadline: float = math.inf
    """When the time budget is up, in seconds of ``time.monotonic``."""
    planned_s: float | None = None
    """Seconds that all trials take by the plan; None without a plan."""

    @classmethod
    def begin(
        cls,
        learner: Learner,
        folder: Path,
        spec: ExperimentSpec,
        run: RunFlags,
        callbacks: Sequence[tune.Callback],
        planned_s: float | None = None,
    ) -> Self:
        """A session whose time budget begins now."""
        signals = StopSignals(resume_command(folder, spec, run.again))
        deadline = time.monotonic() + (spec.time_budget_s or math.inf)
        return cls(learner, folder, spec, run, callbacks, signals, deadline, planned_s)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; infinite without one, and not above 0 once it has passed."""
        return self.deadline - time.monotonic()

    def restarted(self) -> Self:
        """The session after Ray Tune gave up: its time budget is what is left, and no plan says how long it takes."""
        spec = self.spec
        if spec.time_budget_s:
            spec = spec.but(time_budget_s=self.seconds_left)
        return dataclasses.replace(self, spec=spec, planned_s=None)
