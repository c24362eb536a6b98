"""How an experiment stops before its trials end, by a signal or its time budget: at checkpoints, so that nothing that
has a row is played again."""

import math
import time
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from experiments.run.rounds import playing
from experiments.run.stop_signals import StopSignals


class Stop:
    """Whether an experiment is to stop, and its end once it can.

    From then on each trial that ends an iteration is paused on a checkpoint of it; so is one whose next iteration would
    take longer than the time that is left, if it takes as long as the last one. Then the experiment ends. An iteration
    that is under way at that moment is lost, and ends first if its trial's last one is on no checkpoint.
    """

    def __init__(self, signals: StopSignals, seconds: float | None) -> None:
        self._signals = signals
        self.deadline = time.monotonic() + (seconds or math.inf)
        self.began = False

    def due(self, seconds: float = 0.0) -> bool:
        """Whether a trial is not to begin an iteration of so many seconds."""
        due = self._signals.received is not None or time.monotonic() + seconds >= self.deadline
        self.began |= due
        return due

    def end(self, tune_controller: Any) -> None:
        """End the experiment if nothing is left to save, and nothing that runs has time left."""
        trials = tune_controller.get_trials()
        if any(map(_unsaved, trials)):
            return
        if self._signals.received:
            self._signals.end_experiment()
        elif self.due() or not playing(trials):
            tune_controller.search_alg.set_finished()
            for trial in trials:
                tune_controller.stop_trial(trial)


def _unsaved(trial: Trial) -> bool:
    """Whether a trial that runs has made iterations since its newest checkpoint."""
    saved = trial.latest_checkpoint_result
    iterations = [result.get("training_iteration", 0) for result in (trial.last_result, saved.metrics if saved else {})]
    return trial.status == Trial.RUNNING and iterations[0] > iterations[1]


def stoppable(scheduler: type, stop: Stop) -> type:
    """A scheduler's class that decides as it does until the experiment is to stop."""

    class Stoppable(scheduler):  # type: ignore[misc]
        def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
            decision: str = super().on_trial_result(tune_controller, trial, result)
            pause = decision == TrialScheduler.CONTINUE and stop.due(result["time_this_iter_s"])
            return TrialScheduler.PAUSE if pause else decision

        def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
            if not (stop.due() or stop.began):
                chosen: Trial | None = super().choose_trial_to_run(tune_controller)
                return chosen
            stop.end(tune_controller)
            return None

    return Stoppable
