"""Why a run ends, and what follows: what ``experiment.json`` says, what is printed, the program's exit status.

A further way to end is one more ``End`` here, and one case in ``end_of_error`` or ``end_of_trials``.
"""

from typing import NamedTuple

from experiments.ask.signals import SIGNALLED
from experiments.disk.experiments import Experiment
from experiments.disk.spec import ALL_DONE, GAVE_UP, INTERRUPTED, TIME_BUDGET, ExperimentSpec
from trainables.versions import OtherSourcesError

UNFINISHED = 3
"""Exit status of an experiment that ended before its trials did, or that could not be sent to where it lives.

A program whose Ray has ended ends with it at once, by way of ``stopping.RayWatch``, and writes nothing down.
"""

TUNES_ERROR = "Ray Tune gave up: {error}"
"""What is printed where Ray Tune ends with an error, of which ``error`` is the last line."""


class End(NamedTuple):
    """Why a run ended, in words, and what follows."""

    why: str
    ended: str
    """What ``experiment.json`` says."""
    status: int
    """The exit status. Where it is 0, a trial that failed makes it 1; a signal's number is added to ``SIGNALLED``."""
    winner_plays: bool = False
    """Whether the winner, or the best trial, plays games: not where somebody waits for the end, nor where Ray may be
    gone."""
    error: str = ""
    """What is printed of the error with which Ray Tune ended, in place of the summary of trials; empty without one."""
    restarts: bool = False
    """Whether the program first goes on from the last checkpoints by itself, a few times."""


TRIALS_ENDED = End("every trial has come to its end, or failed", ALL_DONE, 0, winner_plays=True)
TIME_UP = End("the time budget is up", TIME_BUDGET, 0, winner_plays=True)
SIGNAL_SAVED = End("a signal came, and the trials saved", INTERRUPTED, SIGNALLED)
SIGNAL_UNSAVED = End("a signal came, and then Ray Tune gave up", INTERRUPTED, SIGNALLED, error=TUNES_ERROR)
TUNE_STOPPED = End("Ray Tune ended early, as a callback can have it do", GAVE_UP, UNFINISHED, winner_plays=True)
TUNE_GAVE_UP = End("Ray Tune gave up each time", GAVE_UP, UNFINISHED, error=TUNES_ERROR, restarts=True)
OTHER_CODE = End("a new process would run edited code", GAVE_UP, UNFINISHED, error=TUNES_ERROR)


def end_of_error(error: Exception, received: int | None) -> End:
    """The end of a run in which Ray Tune gave up with an error.

    ``received`` is the signal that had come before, or None.
    """
    if received:
        return SIGNAL_UNSAVED
    if isinstance(error, OtherSourcesError):
        return OTHER_CODE
    return TUNE_GAVE_UP


def end_of_trials(experiment: Experiment, spec: ExperimentSpec, received: int | None) -> End:
    """The end of a run in which Ray Tune came to an end, or gave up when the time budget was up.

    ``received`` is the signal that had come before, or None.
    """
    if received:
        return SIGNAL_SAVED
    if experiment.all_ended:
        return TRIALS_ENDED
    if spec.time_budget_s:
        return TIME_UP
    return TUNE_STOPPED


def unsent(end: End) -> End:
    """The same end where the results could not be sent to where the experiment lives: it is unfinished."""
    if end.status == SIGNALLED:
        return end
    return end._replace(status=UNFINISHED)


def exit_status(end: End, experiment: Experiment, received: int | None) -> int:
    """The program's exit status."""
    if received:
        return SIGNALLED + received
    if end.status == 0 and any(trial.failed for trial in experiment.trials):
        return 1
    return end.status
