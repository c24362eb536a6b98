"""How long experiments took: by the clock, and summed over their trials."""

import datetime
import math
from collections.abc import Sequence

from experiments.disk.experiments import Experiment
from experiments.disk.folders import RECORD
from experiments.disk.trial import Trial

PAUSE_S = 120
"""Longer than so many seconds without a trial that plays is a pause, as between a kill and ``--resume``.

Starting Ray and its processes takes less.
"""

FAR_AHEAD = 1e11
"""Seconds since 1970, more than 3,000 years: a row that says that it was written later has no time that counts."""


def started(experiment: Experiment) -> float:
    """When the experiment was started, in seconds since 1970."""
    try:
        return datetime.datetime.fromisoformat(experiment.spec.origin.started).timestamp()
    except (ValueError, OverflowError):
        return (experiment.folder / RECORD).stat().st_mtime


def took(experiment: Experiment) -> float:
    """Seconds by the clock from the experiment's start to its latest result, without pauses.

    NaN where no row says when it was written.
    """
    spans = []
    for trial in experiment.trials:
        for row in trial.rows:
            written = row.get("timestamp")
            if isinstance(written, int | float) and 0 < written < FAR_AHEAD:
                spans.append((written - row.get("time_this_iter_s", 0), written))
    if not spans:
        return math.nan
    seconds, until = 0.0, started(experiment)
    for begin, end in sorted(spans):
        if begin - until > PAUSE_S:
            until = begin
        if end > until:
            seconds += end - until
            until = end
    return seconds


def trained(trials: Sequence[Trial]) -> float:
    """Seconds of training summed over these trials; a fork's without what its origin took."""
    seconds = 0.0
    for trial in trials:
        for row in trial.rows:
            seconds += row.get("time_this_iter_s", 0)
    return seconds
