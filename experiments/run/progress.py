"""What the user sees while an experiment runs: a line for each iteration of one trial, or a table of all trials."""

import math
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import Any

from ray import tune
from ray.tune.experiment import Trial
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from experiments.ask.budget import Budget, duration
from experiments.plan.capacity import trials_of_round
from experiments.read.trial import ended_as
from experiments.record.spec import ExperimentSpec
from experiments.run.tune_trials import trial_number
from trainables.metrics import METRIC

PLAIN_INTERVAL_S = 10.0
"""Seconds between status lines where there is no terminal to redraw."""

TREND_ITERATIONS = 10
"""Iterations over which the live table says how a trial's return changed."""

STATES = {Trial.RUNNING: "running", Trial.ERROR: "failed"}
"""What Tune's states are called here. A trial in another one has ended ("finished", "stopped" before its budget was
spent, "diverged"), or is "paused" at a rung or "waiting"."""

ORDER = ("running", "failed", "finished", "diverged", "stopped", "paused", "waiting")
"""The most telling states first."""


class IterationLines(tune.Callback):
    """One line per iteration of a single trial, with the time left."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._recent: deque[tuple[float, float]] = deque(maxlen=10)  # games grow, so the latest updates alone predict

    def on_trial_result(
        self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any
    ) -> None:
        number = result["training_iteration"]
        steps, these = result["timesteps_total"], result["timesteps_this_iter"]
        share = self.budget.share(result)
        before = self.budget.share({"training_iteration": number - 1, "timesteps_total": steps - these})
        self._recent.append((share - before, result["time_this_iter_s"]))
        gained, seconds = map(sum, zip(*self._recent, strict=True))
        left = (1 - share) * seconds / max(gained, 1e-9)
        print(
            f"iteration {number:4d}  games {result['episodes_total']:5d}  last 100: {result[METRIC]:5.1f}"
            f"  {result['time_this_iter_s']:5.1f} s  {result['perf/steps_per_s']:5.0f} steps/s"
            f"  {duration(left)} left",
            flush=True,
        )


class SweepView(tune.Callback):
    """A table that follows all trials: live in a terminal, else a status line now and then."""

    def __init__(self, spec: ExperimentSpec) -> None:
        self.budget, self.time_budget_s, self._rungs = spec.budget, spec.time_budget_s or math.inf, spec.rungs
        self._configurations = len(spec.configurations)
        self._live: Live | None = None
        self._start = self._printed = 0.0
        self._restored: float | None = None  # what of all budgets a resumed experiment had used up when it went on
        self._recent: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=TREND_ITERATIONS + 1))

    def setup(self, stop: Any = None, num_samples: Any = None, total_num_samples: Any = None, **info: Any) -> None:
        self._start = self._printed = time.monotonic()
        if sys.stdout.isatty():
            self._printed = -math.inf  # draw at once
            self._live = Live(console=Console(), refresh_per_second=2, transient=True)
            self._live.start()

    def on_trial_result(
        self, iteration: int, trials: list[Trial], trial: Trial, result: dict[str, Any], **info: Any
    ) -> None:
        self._recent[trial.trial_id].append(result[METRIC])

    def on_step_end(self, iteration: int, trials: list[Trial], **info: Any) -> None:
        now = time.monotonic()
        if self._restored is None:
            self._restored = sum(map(self._share, trials))
        if now - self._printed < (0.5 if self._live else PLAIN_INTERVAL_S):
            return
        self._printed = now
        if self._live:
            self._live.update(self._table(trials, self._live.console))
        else:
            print(self._status(trials), flush=True)

    def on_experiment_end(self, trials: list[Trial], **info: Any) -> None:
        """Take the live table away: what it showed last is in the summary, too."""
        if self._live:
            self._live.stop()
            self._live = None

    def _status(self, trials: list[Trial]) -> str:
        scored = [trial for trial in trials if METRIC in trial.last_result]
        racing = [trial for trial in scored if not trial.is_finished()] if self._rungs else []
        best = max(racing or scored, key=lambda trial: trial.last_result[METRIC], default=None)
        parts = [f"{duration(time.monotonic() - self._start)}: {self._counts(trials)}"]
        if best:
            parts.append(f"best {best.last_result[METRIC]:.1f} ({trial_number(best)})")
        if best and (left := self._left(trials)) is not None:
            parts.append(f"at most {duration(left)} left")
        return " | ".join(parts)

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
        each = len(trials) / self._configurations
        counts = [trials_of_round(self._configurations, round_) * each for round_ in range(len(self._rungs))]
        now = max((round_ for round_, count in enumerate(counts) if count >= len(alive)), default=0)
        ends = [rung / self._rungs[-1] for rung in self._rungs]
        later = sum(counts[round_] * (ends[round_] - ends[round_ - 1]) for round_ in range(now + 1, len(ends)))
        return sum(max(0.0, ends[now] - self._share(trial)) for trial in alive) + later

    def _share(self, trial: Trial) -> float:
        return self.budget.share(trial.last_result)

    def _table(self, trials: list[Trial], console: Console) -> Group:
        """One line a trial, names in full from 80 columns on; as many trials as the terminal has lines for."""
        wide = console.width > 90
        table = Table(box=None, pad_edge=False, padding=(0, 2 if wide else 1, 0, 0))
        for column in ("trial", "state"):
            table.add_column(column, no_wrap=True)
        table.add_column("")  # the one that gives way where it is narrow
        progress = "steps" if self.budget.timesteps else "iteration"
        lent = ["workers"] if self._rungs and wide else []  # halving gives a trial more workers than it asks for
        for column in (progress, "return", f"in {TREND_ITERATIONS} it.", *lent, "steps/s"):
            table.add_column(column, justify="right", no_wrap=True)
        shown = self._most_telling(trials, max(1, console.height - 5))  # header, rest, status, which may wrap
        for trial in shown:
            result, recent = trial.last_result, self._recent[trial.trial_id]
            table.add_row(
                str(trial),
                self._state(trial),
                ProgressBar(1.0, self._share(trial), width=16 if wide else 4),
                self._progress(trial),
                _number(result, METRIC, ".1f"),
                f"{recent[-1] - recent[0]:+.1f}" if len(recent) > 1 else "",
                *[_number(result, "perf/workers", ".0f") for _ in lent],
                _number(result, "perf/steps_per_s", ".0f"),
            )
        hidden = [trial for trial in trials if trial not in shown]
        more = [f"and {self._counts(hidden)}"] if hidden else []
        return Group(table, *more, self._status(trials))

    def _progress(self, trial: Trial) -> str:
        if self.budget.timesteps:
            return f"{trial.last_result.get('timesteps_total', 0) / 1e6:.2f}/{self.budget.timesteps / 1e6:g} M"
        return f"{trial.last_result.get('training_iteration', 0)}/{self.budget.iterations}"

    def _state(self, trial: Trial) -> str:
        if trial.status == Trial.TERMINATED:
            return ended_as([trial.last_result], self.budget)
        paused = trial.status == Trial.PAUSED and METRIC in trial.last_result
        return "paused" if paused else STATES.get(trial.status, "waiting")

    def _counts(self, trials: Iterable[Trial]) -> str:
        """``2 running, 1 finished, 4 stopped, 1 paused, 1 waiting``."""
        found = Counter(map(self._state, trials))
        return ", ".join(f"{found[state]} {state}" for state in ORDER if found[state])

    def _most_telling(self, trials: list[Trial], count: int) -> list[Trial]:
        """Those of the most telling states, and of these the best; all in their usual order."""
        ranked = sorted(
            trials, key=lambda trial: (ORDER.index(self._state(trial)), -trial.last_result.get(METRIC, -math.inf))
        )
        return sorted(ranked[:count], key=trial_number)


def _number(result: dict[str, Any], name: str, form: str) -> str:
    """A metric as text; a trial that starts from another one's checkpoint has a return, but no speed yet."""
    return format(result[name], form) if name in result else ""
