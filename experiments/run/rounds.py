"""Trials that wait for each other, so that what is decided depends on their results and not on who was first."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from experiments.disk.restored import RestoredTrial
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import Learner
from experiments.run.ray_internals import takes_over
from experiments.run.tune_trials import trial_number


class Rounds(FIFOScheduler):
    """Runs every trial to the end of a round and pauses it there on its checkpoint; once all are there, it decides.

    It decides by nothing but the results that came with the trials' newest checkpoints. These are on disk, so a program
    that was killed at any moment decides the same when it goes on. Trials have to be added paused (``PlannedTrials``).
    """

    def __init__(
        self, learner: Learner, folder: Path, spec: ExperimentSpec, restored: Mapping[str, RestoredTrial]
    ) -> None:
        super().__init__()
        self.folder, self.spec, self.time_attr = folder, spec, spec.budget.time_attr
        self.max_concurrent = spec.max_concurrent or len(spec.configs)
        self._began = False

    @abstractmethod
    def round_end(self, trial: Trial) -> float:
        """The value of ``time_attr`` at which a trial waits for the others; infinity to run on to its end."""

    @abstractmethod
    def decide(self, tune_controller: Any, waiting: Mapping[int, Trial]) -> None:
        """Decide about the trials that have not ended, by index. All of them wait, and then the next round begins.

        Called again, as Tune next asks for a trial to run, if all of them still wait. Raises OSError if what is decided
        cannot be written.
        """

    def begin(self, trials: Mapping[int, Trial]) -> None:
        """Called once, when all trials of the experiment are there and none runs. Raises OSError as ``decide`` does."""

    def result_of(self, trial: Trial) -> dict[str, Any]:
        """The result that came with a trial's newest checkpoint; empty without one."""
        newest = trial.latest_checkpoint_result
        return newest.metrics if newest else {}

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Pause the trial at its round's end."""
        return TrialScheduler.PAUSE if result[self.time_attr] >= self.round_end(trial) else TrialScheduler.CONTINUE

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """The first trial that may play on, in the order of the experiment, after deciding if all of them wait.

        Raises RuntimeError, at which the experiment goes on from its checkpoints, if a decision cannot be written.
        """
        trials = {int(trial_number(trial)): trial for trial in tune_controller.get_trials()}
        if len(trials) < len(self.spec.configs):
            return None
        try:
            if not self._began:
                self._began = True
                self.begin(trials)
            alive = _alive(trials)
            if alive and all(map(self.waits, alive.values())):
                self.decide(tune_controller, alive)
                alive = _alive(trials)
        except OSError as error:
            raise RuntimeError(f"What was decided cannot be written: {error}") from error
        running = playing(alive.values())
        ready = [trial for trial in alive.values() if trial.status == Trial.PAUSED and not self.waits(trial)]
        return self.choose(ready, running) if ready and len(running) < self.max_concurrent else None

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Raise RuntimeError, at which the experiment goes on from its checkpoints, if a process that a trial was to
        have from another one has ended. Tune alone would count that trial as failed for good.
        """
        if takes_over(tune_controller, trial):
            raise RuntimeError(f"The process that was to go on with {trial} has ended.")

    def choose(self, ready: Sequence[Trial], running: Sequence[Trial]) -> Trial | None:
        """The trial to start of those that may play on; None to start none now."""
        return ready[0]

    def waits(self, trial: Trial) -> bool:
        """Whether a trial has come to its round's end."""
        return trial.status == Trial.PAUSED and self.result_of(trial).get(self.time_attr, 0) >= self.round_end(trial)


def playing(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that have their cores, or are about to have them."""
    return [trial for trial in trials if not trial.is_finished() and trial.status != Trial.PAUSED]


def _alive(trials: Mapping[int, Trial]) -> dict[int, Trial]:
    """The trials that have not ended, by index, in order."""
    return {index: trials[index] for index in sorted(trials) if not trials[index].is_finished()}
