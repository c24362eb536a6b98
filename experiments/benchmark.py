"""How near the learners come to the emulator's limit, and how far the originals' arithmetic stays behind.

Speed depends on the machine and on what else it does, so every figure is a ratio of sides that alternate in one run.
"""

import sys
from pathlib import Path
from pkgutil import resolve_name

if (beside := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, beside)  # what stands beside this program runs, whatever is installed

from threadpoolctl import threadpool_limits

from experiments.ask.command_line import clean_exit, parse, program, subcommand
from experiments.benchmarks.measure import show
from experiments.benchmarks.questions import BENCHMARKS, MEASURED_IN

DESCRIPTION = """Benchmarks:
{benchmarks}

Each prints tables of medians, with the middle half of the measurements in brackets.

Examples:
  python experiments/benchmark.py rollout
  python experiments/benchmark.py update --json update.json
  python experiments/benchmark.py reinforce --games-per-update 10 60
  python experiments/benchmark.py simulate --nodes 11 --cores 18 --games-per-update 300
"""


@clean_exit()
def main() -> None:
    """Measure what the command line names."""
    lines = "\n".join(f"  {key:10} {each.__doc__}" for key, each in BENCHMARKS.items())
    name = subcommand("benchmark", BENCHMARKS, DESCRIPTION.format(benchmarks=lines))
    description = f"{BENCHMARKS[name].__doc__}\n\nExample: python experiments/benchmark.py {name} --json {name}.json"
    asked = parse(BENCHMARKS[name](), description, prog=f"{program()} {name}", args=sys.argv[2:])
    module = MEASURED_IN[BENCHMARKS[name]]
    benchmark = resolve_name(f"experiments.benchmarks.{module}:benchmark_{name}")  # loads what measures
    with threadpool_limits(1):  # as in the rollout actors
        show(benchmark(asked), asked.json)


if __name__ == "__main__":
    main()
