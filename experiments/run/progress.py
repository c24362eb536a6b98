"""What the user sees while an experiment runs: a table of its trials, and how much time is left."""

import math
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.progress_reporter import TrialProgressCallback
from rich.console import Console, Group
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, Segment
from rich.table import Table

from experiments.ask.budget import duration
from experiments.plan.capacity import trials_of_round
from experiments.plan.trial_names import in_words
from experiments.read.states import State
from experiments.record.decisions import Ranked, ranking
from experiments.record.spec import ExperimentSpec
from experiments.run.tune_trials import state_now, trial_number
from trainables.metrics import METRIC, score_of
from trainables.texts import counted

PLAIN_INTERVAL_S = 10.0
"""Seconds between status lines where there is no terminal to redraw."""

COLUMNS = 78
"""Of a table with all columns that it has at 80; with less, the speed goes first, and then the bar."""


class Progress(TrialProgressCallback):
    """A table that follows all trials: live in a terminal, else a status line now and then.

    It replaces Tune's own, which says "completed" of a trial that never began.
    """

    def __init__(self, spec: ExperimentSpec, planned_s: float | None = None) -> None:
        super().__init__()
        self.budget, self.time_budget_s, self._rungs = spec.budget, spec.time_budget_s or math.inf, spec.rungs
        self._unit = "step" if spec.timesteps else "iteration"
        self._configurations, self._planned_s = spec.configurations, planned_s
        self._live: Live | None = None
        self._start = self._printed = 0.0
        self._restored: float | None = None  # what of all budgets a resumed experiment had used up when it went on
        self._drawn: list[int] = []  # widths of the lines on the terminal

    def setup(self, stop: Any = None, num_samples: Any = None, total_num_samples: Any = None, **info: Any) -> None:
        self._start = self._printed = time.monotonic()
        if sys.stdout.isatty():
            self._printed = -math.inf  # draw at once
            self._live = Live(console=Console(), auto_refresh=False, transient=True)
            self._live.start()

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Say nothing."""

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        now = time.monotonic()
        if self._restored is None:
            self._restored = sum(map(self._share, trials))
        if now - self._printed < (0.5 if self._live else PLAIN_INTERVAL_S):
            return
        self._printed = now
        if self._live:
            self._draw(self._live, trials)
        else:
            print(self._status(trials), flush=True)

    def on_experiment_end(self, trials: list[Trial], **info: Any) -> None:
        """Take the live table away: what it showed last is in the summary, too."""
        if self._live:
            self._erase_wrapped(self._live.console)
            self._live.stop()
            self._live = None

    def _draw(self, live: Live, trials: list[Trial]) -> None:
        frame = self._table(trials, live.console)
        self._erase_wrapped(live.console)
        self._drawn = [Segment.get_line_length(line) for line in live.console.render_lines(frame, pad=False)]
        live.update(frame, refresh=True)

    def _erase_wrapped(self, console: Console) -> None:
        """Erase the lines that a window made narrower has wrapped, of which rich knows nothing."""
        wrapped = sum(max(0, width - 1) // console.width for width in self._drawn)
        if wrapped:
            line = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            console.control(Control(ControlType.CARRIAGE_RETURN, *line * wrapped))

    def _status(self, trials: list[Trial]) -> str:
        """``40 s: 2 running, 4 waiting | best -19.5 (00001) | at most 7 min left``."""
        elapsed = time.monotonic() - self._start
        parts = [f"{duration(elapsed)}: {self._counts(trials)}"]
        if best := self._best(trials):
            score = f"{best.score:.1f}"
            steps = counted(self._done(trials[0]), self._unit)
            parts.append(f"best {score} ({in_words(best.trials)})" if trials[1:] else f"return {score}, {steps}")
        if (left := self._left(trials)) is not None:
            parts.append(f"at most {duration(left)} left")
        elif self._planned_s:
            parts.append(f"about {duration(max(0.0, self._planned_s - elapsed))} left")
        return " | ".join(parts)

    def _best(self, trials: list[Trial]) -> Ranked | None:
        """The configuration that leads by its latest scores, under halving of those that still play."""
        scored = [trial for trial in trials if METRIC in trial.last_result]
        racing = [trial for trial in scored if not trial.is_finished()] if self._rungs else []
        scores = {int(trial_number(trial)): score_of(trial.last_result) for trial in racing or scored}
        return next(iter(ranking(scores, self._configurations)), None)

    def _left(self, trials: list[Trial]) -> float | None:
        """Seconds at the pace so far, or until the time budget is spent; None before this program's first result."""
        elapsed = time.monotonic() - self._start
        left = self._shares_left(trials)
        played = sum(map(self._share, trials)) - (self._restored or 0)
        return max(0.0, min(elapsed * left / played, self.time_budget_s - elapsed)) if played else None

    def _shares_left(self, trials: list[Trial]) -> float:
        """What is still to play, in budgets of a trial, if no trial is stopped early but at the rungs of halving."""
        alive = [trial for trial in trials if not trial.is_finished()]
        if not self._rungs or not alive:
            return sum(1 - self._share(trial) for trial in alive)
        now, counts = self._round(trials)
        ends = [rung / self._rungs[-1] for rung in self._rungs]
        later = sum(counts[round_] * (ends[round_] - ends[round_ - 1]) for round_ in range(now + 1, len(ends)))
        return sum(max(0.0, ends[now] - self._share(trial)) for trial in alive) + later

    def _round(self, trials: list[Trial]) -> tuple[int, list[float]]:
        """The present round of halving, counted from 0, and how many trials play in each."""
        alive, each = sum(not trial.is_finished() for trial in trials), len(trials) / len(self._configurations)
        counts = [trials_of_round(len(self._configurations), round_) * each for round_ in range(len(self._rungs or []))]
        return max((round_ for round_, count in enumerate(counts) if count >= alive), default=0), counts

    def _done(self, trial: Trial) -> int:
        """Agent steps or iterations, whichever the budget counts."""
        return int(trial.last_result.get(self.budget.time_attr, 0))

    def _share(self, trial: Trial) -> float:
        return self.budget.share(trial.last_result)

    def _table(self, trials: list[Trial], console: Console) -> Group:
        """One line a trial, and as many trials as the terminal has lines for; with its name where there is room."""
        room = console.width - COLUMNS
        shown = self._most_telling(trials, max(1, console.height - 5))  # header, rest, status, which may wrap
        named = room >= 40 and max(map(len, map(str, shown)), default=0) <= room
        end = self._rungs[self._round(trials)[0]] if self._rungs else self.budget.limits[self.budget.time_attr]
        columns = ["trial", "state", "return", f"{self._unit}s"]
        columns += ["", "left"] if room >= -9 else ["left"]
        columns += ["steps/s"] if room >= 0 else []
        columns += ["workers"] if self._rungs and room >= 20 else []  # halving gives a trial more than it asks for
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column in columns:
            table.add_column(column, justify="left" if column in ("trial", "state", "") else "right", no_wrap=True)
        for trial in shown:
            result, over, done = trial.last_result, trial.is_finished(), self._done(trial)
            cells = {
                "trial": str(trial) if named else trial_number(trial),
                "state": self._state(trial),
                "return": _number(result, METRIC, ".1f"),
                columns[3]: f"{done:,}" if over else f"{done:,}/{end:,}",
                "": "" if over else ProgressBar(end, min(done, end), width=12),
                "left": self._time_left(trial, end),
                "steps/s": _number(result, "perf/steps_per_s", ".0f"),
                "workers": _number(result, "perf/workers", ".0f"),
            }
            table.add_row(*[cells[column] for column in columns])
        hidden = [trial for trial in trials if trial not in shown]
        more = [f"and {self._counts(hidden)}"] if hidden else []
        return Group(table, *more, self._status(trials))

    def _time_left(self, trial: Trial, end: float) -> str:
        """How long a trial that runs takes to the end of its round, at the pace of its last iteration."""
        result = trial.last_result
        made = result.get("timesteps_this_iter", 0) if self.budget.timesteps else 1
        if trial.status != Trial.RUNNING or not made or "time_this_iter_s" not in result:
            return ""
        return duration(max(0, end - self._done(trial)) / made * result["time_this_iter_s"])

    def _state(self, trial: Trial) -> State:
        return state_now(trial, self.budget)

    def _counts(self, trials: Iterable[Trial]) -> str:
        """``2 running, 1 finished, 4 stopped, 1 paused, 1 waiting``."""
        found = Counter(map(self._state, trials))
        return ", ".join(f"{found[state]} {state}" for state in State if found[state])

    def _most_telling(self, trials: list[Trial], count: int) -> list[Trial]:
        """Those of the most telling states, and of these the best; all in their usual order."""
        order = [*State]
        ranked = sorted(
            trials, key=lambda trial: (order.index(self._state(trial)), -trial.last_result.get(METRIC, -math.inf))
        )
        return sorted(ranked[:count], key=trial_number)


def _number(result: dict[str, Any], name: str, form: str) -> str:
    """A metric as text; a trial that starts from another one's checkpoint has a return, but no speed yet."""
    return format(result[name], form) if name in result else ""
