"""What the user sees while an experiment runs: a table of its trials, and how much time is left."""

import bisect
import math
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.progress_reporter import TrialProgressCallback
from rich.console import Console, Group
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, Segment
from rich.table import Table

from experiments.ask.budget import clock, duration
from experiments.ask.schedulers import SCHEDULERS
from experiments.disk.decisions import Ranked, ranking
from experiments.disk.spec import ExperimentSpec
from experiments.disk.states import State
from experiments.plan.capacity import in_turn, trials_of_round
from experiments.plan.trial_names import in_words
from experiments.run.tune_trials import state_now, trial_number
from trainables.metrics import METRIC, has_ended_a_game, score_of
from trainables.texts import counted

PLAIN_INTERVAL_S = 10.0
"""Seconds between status lines where there is no terminal to redraw."""

LIVE_INTERVAL_S = 0.5
"""Seconds between two frames of the live table."""

COLUMNS = 78
"""Width, in characters, of a table that calls trials by their numbers and has all columns but that of workers. With
less room the speed goes first, and then the bar."""

BAR_COLUMNS = 9
"""So many characters less than ``COLUMNS`` are room for the bar, without the speed."""

NAME_COLUMNS = 40
"""With so many characters more than ``COLUMNS`` trials are called by their names, if all of these fit."""

WORKER_COLUMNS = 20
"""With so many characters more than ``COLUMNS`` there is room for the number of workers."""

OTHER_LINES = 5
"""Lines of a frame beside those of trials: the header, the other trials in words, and a status that may wrap."""

RECENT = 20
"""Iterations by whose mean the time left is told: of so many, by default, one has an evaluation and takes longer."""


class Progress(TrialProgressCallback):
    """Shows how far all trials are: in a live table on a terminal, elsewhere in a status line now and then.

    It replaces Tune's own, which says "completed" of a trial that never began.
    """

    def __init__(self, spec: ExperimentSpec, planned_s: float | None = None) -> None:
        super().__init__()
        self._spec, self._planned_s = spec, planned_s
        self._time_attr = spec.budget.time_attr
        self._limit = spec.budget.limit
        self._rungs = spec.rungs or []
        self._unit = "step" if spec.timesteps else "iteration"
        self._live: Live | None = None
        self._start = self._printed = 0.0
        self._restored: float | None = None  # what had been played when this program began, in budgets of a trial
        self._drawn: list[int] = []  # widths of the lines on the terminal
        # Of each trial the numbers of its latest iterations, and seconds of a whole budget by each.
        self._recent: defaultdict[str, deque[tuple[int, float]]] = defaultdict(partial(deque, maxlen=RECENT))

    def setup(self, stop: Any = None, num_samples: Any = None, total_num_samples: Any = None, **info: Any) -> None:
        self._start = self._printed = time.monotonic()
        console = Console()
        if sys.stdout.isatty() and not console.is_dumb_terminal:
            self._printed = -math.inf  # The first frame is drawn at once.
            self._live = Live(console=console, auto_refresh=False, transient=True)
            self._live.start()

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: Any) -> None:
        """Say nothing, where Tune's own would print a line."""

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        now = time.monotonic()
        if self._restored is None:
            self._restored = self._played(trials)
        self._note_paces(trials)
        if now - self._printed < (LIVE_INTERVAL_S if self._live else PLAIN_INTERVAL_S):
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
        frame = self._frame(trials, live.console)
        self._erase_wrapped(live.console)
        self._drawn = [Segment.get_line_length(line) for line in live.console.render_lines(frame, pad=False)]
        live.update(frame, refresh=True)

    def _erase_wrapped(self, console: Console) -> None:
        """Erase the lines that were added as a window became narrower and lines wrapped: rich does not know of them."""
        wrapped = sum(max(0, width - 1) // console.width for width in self._drawn)
        if wrapped:
            line = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            console.control(Control(ControlType.CARRIAGE_RETURN, *line * wrapped))

    def _status(self, trials: Sequence[Trial]) -> str:
        """``3 min 40 s: 2 running, 4 waiting | best -19.5 (00001) | at most 7 min left``."""
        elapsed = time.monotonic() - self._start
        parts = [f"{clock(elapsed)}: {self._counts(trials)}"]
        best = self._best(trials)
        if best and len(trials) > 1:
            parts.append(f"best {best.score:.1f} ({in_words(best.trials)})")
        elif best:
            parts.append(f"score {best.score:.1f}, {counted(self._done(trials[0]), self._unit)}")
        left = self._seconds_left(trials)
        if left is not None:
            stops_early = SCHEDULERS[self._spec.scheduler].compares
            parts.append(f"{'at most' if stops_early else 'about'} {duration(left)} left")
        elif self._planned_s:  # Nothing has been played by which the time that is left could be told.
            parts.append(f"{duration(self._planned_s)} by the plan")
        return " | ".join(parts)

    def _counts(self, trials: Iterable[Trial]) -> str:
        """``2 running, 1 finished, 4 stopped, 1 paused, 1 waiting``."""
        found = Counter(map(self._state, trials))
        return ", ".join(f"{found[state]} {state}" for state in State if found[state])

    def _best(self, trials: Sequence[Trial]) -> Ranked | None:
        """The configuration that leads by its latest scores, under halving of those that still play.

        None before a game has ended.
        """
        scored = [trial for trial in trials if METRIC in trial.last_result and has_ended_a_game(trial.last_result)]
        racing = _alive(scored) if self._rungs else []
        scores = {int(trial_number(trial)): score_of(trial.last_result) for trial in racing or scored}
        return next(iter(ranking(scores, self._spec.configurations)), None)

    def _seconds_left(self, trials: Sequence[Trial]) -> float | None:
        """Seconds at the pace so far, or until the time budget is spent; None before there is a pace."""
        elapsed = time.monotonic() - self._start
        played = self._played(trials) - (self._restored or 0)
        if not played:
            return None
        if self._rungs:  # trials lend each other their cores, so that all together play as many steps as before
            left: float | None = elapsed * self._to_play(trials) / played
        else:
            left = self._seconds_in_turn(trials)
        if left is None:
            return None
        return max(0.0, min(left, (self._spec.time_budget_s or math.inf) - elapsed))

    def _seconds_in_turn(self, trials: Sequence[Trial]) -> float | None:
        """Seconds until all trials have played their budgets, those that wait after those that run.

        Each that runs goes on as in its latest iterations. One that has no pace yet is as fast as those that run are in
        the mean, or as all trials were if none of these has one. None if no trial has one.
        """
        running = [trial for trial in trials if trial.status == Trial.RUNNING]
        paces = self._paces(running) or self._paces(trials)
        if not paces:
            return None
        usual = fmean(paces)
        needs = []
        for trial in sorted(_alive(trials), key=lambda trial: trial.status != Trial.RUNNING):
            pace = self._pace(trial) or usual
            needs.append((0.0, (1 - self._share(trial)) * pace))
        return in_turn(needs, 0.0, max(1, len(running)))

    def _paces(self, trials: Iterable[Trial]) -> list[float]:
        """The paces of those trials that have one."""
        return [pace for pace in map(self._pace, trials) if pace]

    def _note_paces(self, trials: Iterable[Trial]) -> None:
        """Note how fast the trials were in iterations that have ended meanwhile.

        The first one since a trial's processes began tells nothing, nor do those before it. It begins with what they
        need once: on busy cores it took 35 s, and those that followed 2 s each.
        """
        for trial in trials:
            result, recent = trial.last_result, self._recent[trial.trial_id]
            made = self._spec.budget.made(result)
            if not made or "time_this_iter_s" not in result:
                continue
            number = result["training_iteration"]
            if result.get("iterations_since_restore") == 1:
                recent.clear()
            elif not recent or recent[-1][0] != number:
                recent.append((number, self._limit / made * result["time_this_iter_s"]))

    def _pace(self, trial: Trial) -> float | None:
        """Seconds of a whole budget by a trial's latest iterations; None before there is one that tells."""
        recent = self._recent[trial.trial_id]
        return fmean(pace for _, pace in recent) if recent else None

    def _played(self, trials: Iterable[Trial]) -> float:
        """What has been played, in budgets of a trial."""
        return sum(map(self._share, trials))

    def _to_play(self, trials: Sequence[Trial]) -> float:
        """What is still to play at the rungs of halving, in budgets of a trial."""
        configurations = len(self._spec.configurations)
        seeds = len(trials) / configurations
        now = self._round(trials)
        left = sum(max(0.0, self._rungs[now] / self._limit - self._share(trial)) for trial in _alive(trials))
        for later in range(now + 1, len(self._rungs)):
            length = (self._rungs[later] - self._rungs[later - 1]) / self._limit
            left += trials_of_round(configurations, later) * seeds * length
        return left

    def _round(self, trials: Sequence[Trial]) -> int:
        """The present round of halving, counted from 0: that of the trial that has come least far."""
        least = min(map(self._done, _alive(trials)), default=self._limit)
        return min(bisect.bisect_right(self._rungs, least), len(self._rungs) - 1)

    def _done(self, trial: Trial) -> int:
        """Agent steps or iterations, whichever the budget counts."""
        return int(trial.last_result.get(self._time_attr, 0))

    def _share(self, trial: Trial) -> float:
        """What of its budget a trial has used up, 1 for all."""
        return self._spec.budget.share(trial.last_result)

    def _state(self, trial: Trial) -> State:
        return state_now(trial, self._spec.budget)

    def _frame(self, trials: Sequence[Trial], console: Console) -> Group:
        """As many trials as the terminal has lines for, the others in words, and the status."""
        shown = self._most_telling(trials, max(1, console.height - OTHER_LINES))
        hidden = [trial for trial in trials if trial not in shown]
        table = self._table(shown, console.width - COLUMNS, self._end(trials))
        if not hidden:
            return Group(table, self._status(trials))
        return Group(table, f"and {self._counts(hidden)}", self._status(trials))

    def _end(self, trials: Sequence[Trial]) -> int:
        """Where the present round ends, in what the budget counts."""
        return self._rungs[self._round(trials)] if self._rungs else self._limit

    def _most_telling(self, trials: Sequence[Trial], count: int) -> list[Trial]:
        """So many trials of the most telling states, of equal states those that lead, in the order of their numbers."""
        order = [*State]

        def key(trial: Trial) -> tuple[int, float]:
            return order.index(self._state(trial)), -trial.last_result.get(METRIC, -math.inf)

        return sorted(sorted(trials, key=key)[:count], key=trial_number)

    def _table(self, trials: Sequence[Trial], room: int, end: int) -> Table:
        """One line a trial, called by its name if there is room. ``room`` are the characters beyond ``COLUMNS``."""
        longest = max((len(str(trial)) for trial in trials), default=0)
        named = room >= NAME_COLUMNS and longest <= room
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        columns = self._columns(room)
        for column in columns:
            to_the_left = column in ("trial", "state", "")
            table.add_column(column, justify="left" if to_the_left else "right", no_wrap=True)
        for trial in trials:
            cells = self._cells(trial, end) | {"trial": str(trial) if named else trial_number(trial)}
            table.add_row(*[cells[column] for column in columns])
        return table

    def _columns(self, room: int) -> list[str]:
        """The titles of those columns for which there is ``room``, as in ``_table``; that of the bar is empty."""
        columns = ["trial", "state", "score", f"{self._unit}s"]
        if room >= -BAR_COLUMNS:
            columns.append("")
        columns.append("left")
        if room >= 0:
            columns.append("steps/s")
        if self._rungs and room >= WORKER_COLUMNS:  # Halving gives a trial more workers than it asks for.
            columns.append("workers")
        return columns

    def _cells(self, trial: Trial, end: int) -> dict[str, Any]:
        """What the table says of a trial that plays to ``end``, by column."""
        done, result = self._done(trial), trial.last_result
        cells: dict[str, Any] = {
            "state": self._state(trial),
            "score": _number(result, METRIC, ".1f") if has_ended_a_game(result) else "",
            f"{self._unit}s": f"{done:,}",
            "": "",
            "left": self._time_left(trial, end),
            "steps/s": _number(result, "perf/steps_per_s", ",.0f"),
            "workers": _number(result, "perf/workers", ".0f"),
        }
        if not trial.is_finished():
            cells |= {f"{self._unit}s": f"{done:,}/{end:,}", "": ProgressBar(end, min(done, end), width=12)}
        return cells

    def _time_left(self, trial: Trial, end: int) -> str:
        """How long a trial that runs takes to the end of its round, at its latest pace."""
        pace = self._pace(trial)
        if trial.status != Trial.RUNNING or not pace:
            return ""
        left = max(0, end - self._done(trial)) / self._limit
        return duration(left * pace)


def _alive(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that have not ended."""
    return [trial for trial in trials if not trial.is_finished()]


def _number(result: dict[str, Any], name: str, form: str) -> str:
    """A metric as text; empty without one, as a fork's trial has a return at its start, but no speed yet."""
    return format(result[name], form) if name in result else ""
