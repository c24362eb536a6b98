"""Trials that are seeds of one configuration, and the mean of their results."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.read.trials import TrialResult


def together(trials: "Iterable[TrialResult]") -> "list[list[TrialResult]]":
    """Trials of one experiment or of several, those of a configuration together."""
    found: dict[tuple[Path, int], list[TrialResult]] = {}
    for trial in trials:
        found.setdefault((trial.folder.parent, trial.configuration), []).append(trial)
    return list(found.values())


def arrived(trials: "Iterable[TrialResult]") -> "list[TrialResult]":
    """Those seeds of a configuration that have results; of these none that failed, unless all of them did."""
    played = [trial for trial in trials if trial.rows]
    return [trial for trial in played if trial.state != "failed"] or played


def rank(trials: "Iterable[TrialResult]") -> tuple[bool, float]:
    """By this the best configuration is the greatest: those whose seeds all failed are behind others, then the mean."""
    seeds = arrived(trials)
    return any(trial.state != "failed" for trial in seeds), mean_last(seeds)


def mean_last(trials: "Iterable[TrialResult]") -> float:
    """The mean of the latest returns of the seeds of a configuration that ``arrived``; minus infinity without any."""
    scores = [trial.last for trial in arrived(trials)]
    return math.fsum(scores) / len(scores) if scores else -math.inf
