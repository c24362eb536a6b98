"""Whole programs: what Tune costs, the wait before the first game, and a sweep from its command to its end."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ray import tune

from experiments.analysis.frame import Frames
from experiments.ask.budget import Budget
from experiments.ask.flags import RunFlags
from experiments.benchmarks.account import Account
from experiments.benchmarks.measure import FRAME_SKIP, REINFORCE, Quartiles, Table, alternate, bare_emulators, timed
from experiments.benchmarks.questions import Sweep, Tune
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.rows import read_rows
from experiments.disk.spec import create
from experiments.disk.trial import Trial
from experiments.plan.learners import PG
from experiments.plan.resources import local_cpus
from experiments.run.draft import Draft
from experiments.run.ray_session import start_ray
from experiments.run.session import Session
from experiments.run.tuner import make_tuner
from trainables.checks import ConfigError
from trainables.config import PGConfig
from trainables.texts import counted
from trainables.trainable import PongPG

SETTINGS = REINFORCE | {"num_workers": local_cpus(), "eval_interval": 0}
"""Settings of the trial that runs under Tune and without it."""

PROGRAMS = {"pg": "sweep_pong.py", "trpo": "sweep_trpo.py"}
"""The sweep program of each learner."""


def _command(learner: str, *words: Any) -> list[str]:
    """The command line of a sweep, as a user types it."""
    return [sys.executable, str(Path(__file__).parents[1] / PROGRAMS[learner]), *map(str, words)]


def benchmark_tune(flags: Tune) -> Iterator[Table]:
    """The tables of ``Tune``."""
    starts = alternate({"s": _seconds_to_first_game}, flags.rounds)
    start_ray(None, verbose=False)

    def bare() -> float:
        _, *seconds = timed(PongPG(config=SETTINGS), flags.iterations)
        return sum(seconds) / len(seconds)

    def under_tune() -> float:
        return _under_tune(flags.iterations)

    sides = alternate({"bare learner": bare, "under Tune": under_tune}, flags.rounds)
    rows: list[dict[str, Any]] = []
    for name, values in sides.items():
        of_bare = Quartiles.of(np.divide(values, sides["bare learner"]))
        rows.append({"side": name, "s/iteration": Quartiles.of(values), "of bare": of_bare})
    title = f"PongPG, 10 games per update, {counted(local_cpus(), 'worker')}, {flags.iterations - 1} iterations a run"
    note = "Both play the same games. Under Tune come logs and a checkpoint every 5 iterations, while workers play on."
    yield Table(title, rows, note)
    command = f"python experiments/{PROGRAMS['pg']} --smoke-test"
    yield Table("From the command to the first game", [{"command": command, "s": Quartiles.of(starts["s"])}])


class _Clock(tune.Callback):
    """Notes when each result arrives."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_trial_result(self, iteration: int, trials: list, trial: Any, result: dict[str, Any], **info: Any) -> None:
        self.times.append(time.perf_counter())


def _under_tune(iterations: int) -> float:
    """Seconds per iteration, from result to result."""
    spec = Draft(PG, RunFlags(), Budget(iterations), [PGConfig.from_dict(SETTINGS)]).spec
    clock = _Clock()
    with tempfile.TemporaryDirectory() as storage:
        folder = create(Path(storage), "benchmark", spec)
        make_tuner(Session(PG, folder, spec, callbacks=[clock]), {}).fit()
    return (clock.times[-1] - clock.times[0]) / (iterations - 1)


def _seconds_to_first_game() -> float:
    """Seconds from the command of the sweep's smoke test until its first game.

    The first game began as long before the first result was written as the first iteration took.
    """
    with tempfile.TemporaryDirectory() as storage:
        command = _command("pg", "--smoke-test", "--storage-path", storage, "--name", "smoke")
        start = time.time()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while process.poll() is None:
                for path in Path(storage).glob("smoke/*/result.json"):
                    if rows := read_rows(path):
                        return path.stat().st_mtime - start - rows[0]["time_this_iter_s"]
                time.sleep(0.02)
        finally:
            process.terminate()
            process.wait()
    raise RuntimeError("the smoke test ended without a result")


def _with_results(sweep: Experiment) -> list[Trial]:
    """The trials of a sweep that have results. Raises ConfigError if none has."""
    trials = [trial for trial in sweep.trials if trial.rows]
    if not trials:
        raise ConfigError(f"{sweep.name} ended, and none of its trials has a result")
    return trials


class _Ended(NamedTuple):
    """A sweep that came to its end, beside bare loops on all cores."""

    experiment: Experiment
    seconds: float  # from the command to its end
    bare: list[float]  # frames a second of the loops before it and after it
    had_s: dict[str, float]  # processor time by whose it was, seconds; all cores together


def benchmark_sweep(flags: Sweep) -> Iterator[Table]:
    """The tables of ``Sweep``, of which some trials may have failed.

    Raises ConfigError if the sweep does not come to its end, or if no trial has a result.
    """
    words = ["--scheduler", flags.scheduler, "--time-budget-s", f"{flags.time_budget_s:g}"]
    ended = _sweep(flags, words)
    cores = local_cpus()
    title = f"{PROGRAMS[flags.learner]} {' '.join(words)}: {ended.seconds:.0f} s on {counted(cores, 'core')}"
    yield Table(title, [_outcome(ended)])
    note = "Updates and evaluations hold all of a trial's cores. All else is starting, saving, cores without a trial."
    yield Table("Where the cores' time goes", _parts(ended, cores), note)
    spent = []
    for who, each_s in ended.had_s.items():
        spent.append({"who": who, "core-seconds": each_s, "share": each_s / sum(ended.had_s.values())})
    yield Table("Who had the cores", spent, "Processor time by Linux's count, every two seconds; shares add up to 1.")


def _sweep(flags: Sweep, words: Sequence[str]) -> _Ended:
    """Run the sweep with these words. Raises ConfigError if it does not come to its end."""
    with bare_emulators(local_cpus()) as measure, tempfile.TemporaryDirectory() as storage:
        folder = flags.keep.absolute() if flags.keep else Path(storage, "sweep")
        bare = [measure() for _ in range(flags.rounds)]
        # Loops that are not compiled yet are compiled in a smoke test, so that this does not count.
        compiling = _command(flags.learner, "--smoke-test", "--storage-path", storage)
        subprocess.run(compiling, check=False, stdout=subprocess.DEVNULL)
        where = ["--seed", flags.seed, "--storage-path", folder.parent, "--name", folder.name]
        start = time.perf_counter()
        with subprocess.Popen(_command(flags.learner, *words, *where), stdout=subprocess.DEVNULL) as process:
            account = Account(process.pid)
            status = process.wait()
        seconds = time.perf_counter() - start
        had_s = account.close()
        if status not in (0, 1):
            raise ConfigError(f"{PROGRAMS[flags.learner]} ended with exit status {status} after {seconds:.0f} s")
        experiment = read_experiment(folder)
        bare += [measure() for _ in range(flags.rounds)]
    return _Ended(experiment, seconds, bare, had_s)


def _outcome(ended: _Ended) -> dict[str, Any]:
    """How much was played, how fast, and what came of it. Raises ConfigError if no trial has a result."""
    trials = _with_results(ended.experiment)
    steps = sum(trial.steps for trial in trials)
    rate = steps * FRAME_SKIP / ended.seconds
    row: dict[str, Any] = {
        "trials": len(trials),
        "M agent steps": steps / 1e6,
        "frames/s": round(rate),
        "bare frames/s": round(np.median(ended.bare)),
        "share of bare": Quartiles.of(np.divide(rate, ended.bare)),
        "best return": max(trial.last for trial in trials),
    }
    if ended.experiment.played:
        for kind in ("sampled", "greedy"):
            row[f"winner, {kind}"] = ended.experiment.played.metrics[f"eval/return_{kind}_mean"]
    return row


def _parts(ended: _Ended, cores: int) -> list[dict[str, Any]]:
    """What the cores did: shares of the time of all of them, from the command to its end."""
    rows = Frames(ended.experiment).rows()
    held_s = rows.filter(like="perf/").mul(rows["perf/workers"], axis=0).sum()  # the trials' cores
    idle_s = rows["perf/idle_s"].sum()  # of a trial's workers together already
    parts_s = {
        "games to learn from": held_s["perf/rollout_s"] - idle_s,
        "workers that wait for the last game": idle_s,
        "updates": held_s["perf/update_s"],
        "evaluations": held_s["perf/evaluation_s"],
    }
    all_s = ended.seconds * cores
    parts_s["all else"] = all_s - sum(parts_s.values())
    return [{"part": part, "share": float(part_s / all_s)} for part, part_s in parts_s.items()]
