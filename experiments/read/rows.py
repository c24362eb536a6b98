"""The text that Tune and its loggers leave of a trial, whatever has become of it: what is no result is left out."""

import math
from pathlib import Path
from typing import Any

from experiments.record.folders import TUNE_STATES
from trainables.metrics import METRIC
from trainables.texts import MAX_JSON_BYTES, parse_json, printable, read_text

NUMBERS = (
    *("time_this_iter_s", "time_total_s", "perf/steps_per_s", "perf/workers", "diverged", "eval/iteration"),
    *("timesteps_this_iter", "episodes_this_iter", "episode_reward_batch_mean"),
)
"""Metrics that a row may lack; where it has one, it is a finite number, or the row is left out."""

MAX_COUNT = 10**15
"""Of iterations and steps: more than anybody trains."""

MAX_LINE = 1_000_000
"""Letters of a line; a row has 3,000."""


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Tune's rows of results, one per iteration in order.

    Where an iteration stands there twice, the row that was written last counts. What is no whole row, as a kill cuts
    it off, is left out, and so is a row without a count of iterations or steps, or with a number that is not finite
    where a return or one of ``NUMBERS`` should be.
    """
    rows = {row["training_iteration"]: row for row in map(_parse, lines(path)) if _is_result(row)}
    return [rows[iteration] for iteration in sorted(rows)]


def lines(path: Path) -> list[str]:
    """A file's lines, made printable, without blank ones and those of ``MAX_LINE`` letters or more.

    None if the file cannot be read.
    """
    try:
        found = read_text(path).splitlines()
    except OSError:
        return []
    return [printable(line) for line in found if len(line) < MAX_LINE and line.strip()]


def read_json(path: Path) -> Any:
    """A file of JSON; None if it is none, or cannot be read."""
    try:
        return parse_json(read_text(path, MAX_JSON_BYTES))
    except (OSError, ValueError):
        return None


def tune_statuses(experiment: Path) -> dict[str, str]:
    """Trials' statuses by number in Tune's newest state file: nothing else says that a time budget ended a trial."""
    try:
        newest = max(experiment.glob(TUNE_STATES), key=lambda path: path.stat().st_mtime, default=None)
        trials = [parse_json(pair[0]) for pair in read_json(newest)["trial_data"]] if newest else []
        return {trial["trial_id"].rpartition("_")[2]: trial["status"] for trial in trials}
    except (TypeError, KeyError, IndexError, ValueError, AttributeError, OSError):  # none yet, or cut off
        return {}


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _is_result(row: Any) -> bool:
    """Whether this is a row that has counts and a return, and numbers wherever they are looked for."""
    if not isinstance(row, dict) or not (_counts(row, "training_iteration") and _counts(row, "timesteps_total")):
        return False
    return _finite(row.get(METRIC)) and all(_finite(row[name]) for name in NUMBERS if name in row)


def _counts(row: dict[str, Any], name: str) -> bool:
    return type(row.get(name)) is int and 0 <= row[name] < MAX_COUNT


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < 1e15 and math.isfinite(value)
