"""The text that Tune and its loggers leave of a trial, whatever has become of it: what is no result is left out."""

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from experiments.disk.folders import TUNE_STATES, is_tunes_own
from trainables.metrics import Count
from trainables.texts import MAX_JSON_BYTES, parse_json, printable, read_text

MAX_LINE = 1_000_000  # letters of a line; a row has 3,000

Number = Annotated[float, Field(gt=-1e15, lt=1e15)]


class Row(BaseModel):
    """What is asked of a row. Whatever else it has is looked at only if it is a number."""

    model_config = ConfigDict(strict=True)

    training_iteration: Count
    timesteps_total: Count
    episode_score: Number
    episode_reward_batch_mean: Number = 0
    timesteps_this_iter: Number = 0
    episodes_this_iter: Number = 0
    time_this_iter_s: Number = 0
    time_total_s: Number = 0
    diverged: Number = 0
    steps_per_s: Number = Field(0, alias="perf/steps_per_s")
    workers: Number = Field(0, alias="perf/workers")
    evaluated: Number = Field(0, alias="eval/iteration")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Tune's rows of results, one per iteration in order.

    Where an iteration stands there twice, the row that was written last counts. What is no whole ``Row``, as a kill
    cuts it off, is left out.
    """
    rows = {}
    for text in lines(path):
        with contextlib.suppress(ValueError):
            row = parse_json(text)
            Row.model_validate(row)
            rows[row["training_iteration"]] = row
    return [rows[iteration] for iteration in sorted(rows)]


def lines(path: Path) -> list[str]:
    """A file's lines, made printable, without blank and overlong ones; none if the file cannot be read."""
    try:
        found = read_text(path).splitlines()
    except OSError:
        return []
    return [printable(line) for line in found if len(line) < MAX_LINE and line.strip()]


DAMAGE = (TypeError, KeyError, IndexError, ValueError, AttributeError, OSError, RecursionError)
"""What is raised where a file of Tune's was cut off, or is none."""


def tune_accounts(experiment: Path) -> dict[str, dict[str, Any]]:
    """What Tune has noted of each trial, by ``trial_folders``' keys.

    Of a Tuner of somebody's own each of Tune's state files counts, of ours the newest one.
    """
    own, found = is_tunes_own(experiment), dict[str, dict[str, Any]]()
    accounts = sorted(experiment.glob(TUNE_STATES))  # whose names are dates
    if not own:
        accounts = accounts[-1:]
    for path in accounts:
        with contextlib.suppress(*DAMAGE):
            trials = {}
            for pair in json.loads(read_text(path, MAX_JSON_BYTES))["trial_data"]:
                trial = parse_json(pair[0])  # a text of JSON within JSON, of several lines
                key = trial["trial_id"]
                if not own:
                    _, _, key = key.rpartition("_")
                trials[key] = {"status": trial["status"]} | trial
            found |= trials
    return found


def tune_statuses(experiment: Path) -> dict[str, str]:
    """Trials' statuses, by ``trial_folders``' keys: nothing else says that a time budget ended a trial."""
    return {key: trial["status"] for key, trial in tune_accounts(experiment).items()}
