"""What Tune and its loggers write of trials: rows of results, and Tune's accounts. What is damaged is left out."""

import contextlib
import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, overload

from pydantic import BaseModel, ConfigDict, Field

from experiments.disk.folders import TUNE_STATES, is_tunes_own
from trainables.metrics import Count
from trainables.texts import MAX_JSON_BYTES, parse_json, printable, read_text

MAX_LINE = 1_000_000  # letters of a line; a row has 3,000

Number = Annotated[float, Field(gt=-1e15, lt=1e15)]
"""Of steps, seconds or returns: greater ones than anybody's are refused."""


class Row(BaseModel):
    """The fields of a row that are checked as it is read: three that it must have, and some that must be numbers.

    Whatever else it has is checked by those who look at it.
    """

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


class Rows(Sequence[dict[str, Any]]):
    """A trial's rows of results, one per iteration in order.

    Where an iteration stands there twice, the row that was written last counts. What is no whole ``Row``, such as a
    line that a kill cut off, is left out. A list of experiments needs each trial's last row alone, so this one is read
    by itself where no other is asked for; the others are read as soon as one of them, or their number, is asked for.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    @cached_property
    def _all(self) -> list[dict[str, Any]]:
        rows = {}
        for row in map(_row, self._texts):
            if row:
                rows[row["training_iteration"]] = row
        return [rows[iteration] for iteration in sorted(rows)]

    @cached_property
    def _last(self) -> list[dict[str, Any]]:
        """The last row, alone in a list; none without rows."""
        try:
            in_order = sorted(self._texts, key=_iteration)
        except ValueError:
            return self._all[-1:]
        for row in map(_row, reversed(in_order)):
            if row:
                return [row]
        return []

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if index == -1:
            return self._last[-1]
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def __bool__(self) -> bool:
        return bool(self._last)


ITERATION = re.compile(r'"training_iteration"\s*:\s*(\d{1,15})\s*[,}]')


def _iteration(text: str) -> int:
    """The iteration of a row's text. Raises ValueError unless it stands there exactly once, as in any row of Tune's."""
    (iteration,) = ITERATION.findall(text)
    return int(iteration)


def _row(text: str) -> dict[str, Any]:
    """The row that a text holds; empty if it holds none."""
    with contextlib.suppress(ValueError):
        row: dict[str, Any] = parse_json(printable(text))
        Row.model_validate(row)
        return row
    return {}


def read_rows(path: Path) -> Rows:
    """Tune's rows of results in a file; none if it cannot be read."""
    return Rows(_lines(path))


def lines(path: Path) -> list[str]:
    """A file's lines, made printable, without blank and overlong ones; none if the file cannot be read."""
    return [*map(printable, _lines(path))]


def _lines(path: Path) -> list[str]:
    try:
        found = read_text(path).splitlines()
    except OSError:
        return []
    return [line for line in found if len(line) < MAX_LINE and line.strip()]


DAMAGE = (TypeError, KeyError, IndexError, ValueError, AttributeError, OSError, RecursionError)
"""What is raised where a file of Tune's was cut off, or is none of Tune's."""


def tune_accounts(experiment: Path) -> dict[str, dict[str, Any]]:
    """What Tune has noted of each trial, its status at least, by ``trial_folders``' keys.

    Of a Tuner of somebody's own each of Tune's state files counts, of ours the newest one.
    """
    tunes_own = is_tunes_own(experiment)
    paths = sorted(experiment.glob(TUNE_STATES))  # by their dates, which are in their names
    if not tunes_own:
        paths = paths[-1:]
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        with contextlib.suppress(*DAMAGE):
            found |= _accounts_in(path, tunes_own)
    return found


def _accounts_in(path: Path, tunes_own: bool) -> dict[str, dict[str, Any]]:
    """What one of Tune's state files notes of each trial. Raises one of ``DAMAGE`` if an account lacks id or status."""
    found = {}
    content = json.loads(read_text(path, MAX_JSON_BYTES))  # ``parse_json`` would spoil the line ends of the texts in it
    for pair in content["trial_data"]:
        account = parse_json(pair[0])
        if "status" not in account:
            raise KeyError("status")
        key = account["trial_id"]
        if not tunes_own:
            _, _, key = key.rpartition("_")  # ours end with the number with which the trial's folder begins
        found[key] = account
    return found


def tune_statuses(experiment: Path) -> dict[str, str]:
    """What Tune last called each trial, by ``trial_folders``' keys."""
    return {key: account["status"] for key, account in tune_accounts(experiment).items()}
