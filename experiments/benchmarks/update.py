"""Whole iterations of the default learners, as users run them, and where their time goes."""

from collections.abc import Callable, Iterator

from experiments.benchmarks.measure import RoundsFlags, Spread, Table, alternate, bare_emulators, shares
from experiments.plan.resources import local_cpus
from experiments.run.ray_session import start_ray
from trainables.trainable import PongPG, PongTrainable, PongTRPO

PARTS = {"rollouts": "perf/rollout_s", "updates": "perf/update_s"}
"""Parts of an iteration, and their metrics."""


def benchmark_update(flags: RoundsFlags) -> Iterator[Table]:
    """Iterations of both default learners on all cores, evaluation included, beside bare emulator loops."""
    start_ray(None, verbose=False)
    for trainable in (PongPG, PongTRPO):
        yield from _learner(trainable, flags.rounds)


def _learner(trainable: type[PongTrainable], rounds: int) -> Iterator[Table]:
    workers = local_cpus()
    trial = trainable(config={"num_workers": workers, "eval_interval": 1})
    usual = trainable.config_class().eval_interval
    trial.train()  # compiles, and the first games begin
    parts: list[dict[str, float]] = []
    with bare_emulators(workers) as bare:
        rates = alternate({"emulator": bare, trainable.__name__: _iteration(trial, usual, parts)}, rounds)
    trial.stop()
    iteration = f"{trial.settings.updates} updates of {trial.settings.segments_steps // trial.settings.updates:,} steps"
    note = f"An iteration is {iteration}, and an evaluation every {usual} iterations, which is counted as 1/{usual}."
    yield Table(f"{trainable.__name__}, {workers} workers, whole iterations", shares(rates, "frames/s"), note)
    rows = [{"part": name, "share": Spread.of([each[name] for each in parts])} for name in parts[0]]
    yield Table(
        "Parts of an iteration", rows, "Idle: of the workers' time in a rollout, what they had nothing to play."
    )


def _iteration(trial: PongTrainable, usual: int, parts: list[dict[str, float]]) -> Callable[[], float]:
    """A function that runs an iteration, notes its parts, and returns its frames per second."""

    def run() -> float:
        result = trial.train()
        evaluation_s = result["perf/evaluation_s"] / usual
        seconds = result["time_this_iter_s"] - result["perf/evaluation_s"] + evaluation_s
        shared = {name: result[metric] / seconds for name, metric in PARTS.items()}
        shared["evaluation"] = evaluation_s / seconds
        shared["all else"] = 1 - sum(shared.values())
        idle = result["perf/idle_s"] / (result["perf/rollout_s"] * trial.settings.num_workers)
        parts.append(shared | {"idle, of the rollouts": idle})
        return 4 * result["timesteps_this_iter"] / seconds

    return run
