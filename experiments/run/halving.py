"""Successive halving: at each rung the best third goes on, decided once all trials are there.

Seeds of one configuration go on together, or are stopped together, by its score over them.

Tune's ASHA promotes whoever comes first, so who wins depends on the cores. Here a decision depends on nothing but the
results at the rung and the trials' order, and holds from the moment at which it is written down.
"""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from experiments.disk.decisions import (
    Spread,
    decide,
    dropped,
    limited,
    read_decisions,
    spread,
    with_diverged,
    write_decisions,
)
from experiments.disk.folders import DECISIONS
from experiments.disk.mirror import Remote
from experiments.disk.restored import RestoredTrial
from experiments.disk.spec import ExperimentSpec
from experiments.disk.states import State
from experiments.plan.capacity import trials_in_time, trials_of_round
from experiments.plan.learners import Learner
from experiments.plan.trial_names import in_words
from experiments.run.lending import Lending
from experiments.run.ray_session import cluster_resources
from experiments.run.rounds import Rounds, playing
from experiments.run.tune_trials import state_now, trial_number
from trainables.checkpoints import CheckpointError, load_state
from trainables.metrics import METRIC, score_of


class Halving(Rounds):
    """Pauses all trials at each rung, and stops all but the best."""

    def __init__(
        self, learner: Learner, folder: Path, spec: ExperimentSpec, restored: Mapping[str, RestoredTrial]
    ) -> None:
        super().__init__(learner, folder, spec, restored)
        self._rungs = spec.rungs or []
        self._decisions = read_decisions(folder)
        self._deadline = time.monotonic() + (spec.time_budget_s or math.inf)
        self._lending = Lending(learner)
        self._steps_before = 0.0  # of all trials, when this program began
        self._playing_since: float | None = None  # in seconds of time.monotonic

    def round_end(self, trial: Trial) -> float:
        """The rung of the present round; none in the last round, which the budget ends."""
        index = len(self._decisions)
        if index >= len(self._rungs) - 1:
            return math.inf
        return self._rungs[index]

    def begin(self, trials: Mapping[int, Trial]) -> None:
        """Send decisions again that may not have come home; note where trials stand, to see how fast they are."""
        if self._decisions:
            self._write_down()
        self._steps_before = self._steps(trials)

    def choose(self, ready: Sequence[Trial], running: Sequence[Trial]) -> Trial | None:
        """The next trial for which a core is free, with its workers."""
        return self._lending.next(ready, running, cluster_resources(), self.max_concurrent - len(running))

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Take back what was lent to a trial that Tune starts anew, lest it wait for cores of a node that died.

        By now Tune has set the status ERROR of such a trial alone; of one that has failed for good it does so later.
        """
        super().on_trial_error(tune_controller, trial)
        if trial.status == Trial.ERROR:
            self._lending.after_error(trial, playing(tune_controller.get_trials()), cluster_resources())

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Pause the trial at a rung, and where it gains by going on with more workers.

        It can have more workers only while no other trial waits for a core: all that are paused wait at the rung.
        """
        if self._playing_since is None:
            self._playing_since = time.monotonic() - result["time_this_iter_s"]
        decision = super().on_trial_result(tune_controller, trial, result)
        alive = [other for other in tune_controller.get_trials() if not other.is_finished()]
        running = playing(alive)
        paused = [other for other in alive if other.status == Trial.PAUSED]
        if decision == TrialScheduler.PAUSE or not all(map(self.waits, paused)):
            return decision
        left = min(self.round_end(trial), self._rungs[-1]) - result[self.time_attr]
        seconds = left / self.spec.budget.made(result) * result["time_this_iter_s"]
        gains = self._lending.gains(trial, seconds, running, cluster_resources())
        return TrialScheduler.PAUSE if gains else decision

    def decide(self, tune_controller: Any, waiting: Mapping[int, Trial]) -> None:
        """Write down which of the best trials go on, as many as there is time for, and stop the others that wait."""
        trials = {int(trial_number(trial)): trial for trial in tune_controller.get_trials()}
        configurations = self.spec.configurations
        count = trials_of_round(len(configurations), len(self._decisions) + 1)
        scores = self._scores(trials)
        spreads = []
        for index, score in enumerate(scores):
            spreads.append(None if score is None else _spread(trials[index]))
        broke = [index for index in sorted(trials) if trials[index].status == Trial.ERROR]
        at = self._rungs[len(self._decisions)]
        decision = decide(at, scores, configurations, count, spreads=spreads, broke=broke)
        seeds = max(map(len, configurations))
        most = trials_in_time(self._rungs, len(self._decisions), self._steps_in_time(trials), seeds)
        decision = limited(decision, configurations, waiting, most)
        self._decisions.append(decision)
        self._write_down()
        for index, trial in waiting.items():
            if index not in decision.kept:
                tune_controller.stop_trial(trial)
        if decision.left_out:
            print(
                f"There is time for {in_words(decision.kept)} alone: {in_words(decision.left_out)} would have gone on,"
                " too.",
                flush=True,
            )

    def _write_down(self) -> None:
        """Write all decisions into the experiment's folder, and send the file home. Raises OSError."""
        write_decisions(self.folder, self._decisions)
        if home := Remote.of(self.folder):
            home.push(self.folder / DECISIONS)

    def _scores(self, trials: Mapping[int, Trial]) -> list[float | None]:
        """Every trial's score at the present rung; one that diverged has one if another seed of its settings has."""
        scores = [self._score(trials[index]) for index in range(len(self.spec.configs))]
        diverged = {}
        for index, trial in trials.items():
            if trial.last_result.get("diverged") and not dropped(self._decisions, index):
                diverged[index] = score_of(trial.last_result)
        return with_diverged(scores, diverged, self.spec.configurations)

    def _score(self, trial: Trial) -> float | None:
        """A score at the present rung, or where its budget ended; None if the trial was stopped, failed or diverged."""
        result = self.result_of(trial) if trial.status == Trial.PAUSED else trial.last_result
        failed = state_now(trial, self.spec.budget) == State.FAILED
        if failed or result.get("diverged") or dropped(self._decisions, int(trial_number(trial))):
            return None
        return result.get(METRIC)

    def _steps(self, trials: Mapping[int, Trial]) -> float:
        """What all trials together have behind them, in the budget's unit."""
        return sum(trial.last_result.get(self.time_attr, 0) for trial in trials.values())

    def _steps_in_time(self, trials: Mapping[int, Trial]) -> float:
        """What all trials together can play in the time that is left, in the budget's unit; infinity before a result.

        They go on at their pace since this program's first iteration began. The start of their processes is left out: a
        program that resumes a moment before a rung plays for less time than it takes to start.
        """
        if self._playing_since is None:
            return math.inf
        now = time.monotonic()
        played = self._steps(trials) - self._steps_before
        return (self._deadline - now) * played / (now - self._playing_since)


def _spread(trial: Trial) -> Spread | None:
    """How much the games behind a trial's score differ, as its newest checkpoint has them; None if that is unreadable.

    Where it lies at a URI it is fetched.
    """
    newest = trial.latest_checkpoint_result
    if not newest or not newest.checkpoint:
        return None
    try:
        with newest.checkpoint.as_directory() as folder:
            return spread(load_state(Path(folder)).episodes.scored_returns)
    except (CheckpointError, OSError):
        return None
