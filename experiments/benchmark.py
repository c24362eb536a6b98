"""How near the learners come to the emulator's limit, and how far the originals' arithmetic stays behind.

Speed depends on the machine and on what else it does, so every figure is a ratio of sides that alternate in one run.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from threadpoolctl import threadpool_limits

from experiments.ask.command_line import clean_exit, parse, program, subcommand
from experiments.benchmarks.measure import OutputFlags, RoundsFlags, Table, show
from experiments.benchmarks.one_core import benchmark_emulator, benchmark_rollout
from experiments.benchmarks.programs import SweepFlags, TuneFlags, benchmark_sweep, benchmark_tune
from experiments.benchmarks.simulate import SimulateFlags, benchmark_simulate
from experiments.benchmarks.updates import (
    ReinforceFlags,
    TRPOFlags,
    benchmark_reinforce,
    benchmark_trpo,
    benchmark_update,
)

DESCRIPTION = """Benchmarks:
{benchmarks}

Each prints tables of medians, with the middle half of the measurements in brackets.

Examples:
  python experiments/benchmark.py rollout
  python experiments/benchmark.py update --json update.json
  python experiments/benchmark.py reinforce --batch-sizes 10 60
  python experiments/benchmark.py simulate --nodes 11 --cores 18 --batch-size 300
"""

Benchmark = Callable[[Any], Iterator[Table]]
BENCHMARKS: dict[str, tuple[type[OutputFlags], Benchmark]] = {
    "emulator": (RoundsFlags, benchmark_emulator),
    "rollout": (RoundsFlags, benchmark_rollout),
    "update": (RoundsFlags, benchmark_update),
    "reinforce": (ReinforceFlags, benchmark_reinforce),
    "trpo": (TRPOFlags, benchmark_trpo),
    "tune": (TuneFlags, benchmark_tune),
    "sweep": (SweepFlags, benchmark_sweep),
    "simulate": (SimulateFlags, benchmark_simulate),
}


@clean_exit()
def main() -> None:
    """Measure what the command line names."""
    lines = "\n".join(f"  {key:10} {(function.__doc__ or '').strip()}" for key, (_, function) in BENCHMARKS.items())
    name = subcommand("benchmark", BENCHMARKS, DESCRIPTION.format(benchmarks=lines))
    arguments, benchmark = BENCHMARKS[name]
    description = f"{benchmark.__doc__}\n\nExample: python experiments/benchmark.py {name} --json {name}.json"
    flags = parse(arguments, description, prog=f"{program()} {name}", args=sys.argv[2:])
    with threadpool_limits(1):  # as in the rollout actors
        show(benchmark(flags), flags.json)


if __name__ == "__main__":
    main()
