"""Look at experiments, running, killed or finished: what there is, what was best, and a report with all figures."""

import sys
from pathlib import Path

if (beside := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, beside)  # what stands beside this program runs, whatever is installed

from experiments.ask.command_line import clean_exit, parse, program, subcommand
from experiments.subcommands.look import Best, Compare, Export, List, Report, Table
from experiments.subcommands.verify import Replay, Verify

DESCRIPTION = """Look at experiments, running, killed or finished.

Examples:
  python experiments/results.py list                            what is there, and how it goes on
  python experiments/results.py report first                    figures and tables: first/report.html, report.md
  python experiments/results.py compare pg-1 pg-2               which one is better, and how sure that is
  python experiments/results.py table first --out first.csv     its trials with their settings, for other programs
  python experiments/results.py best first                      the command that trains the best configuration
  python experiments/results.py export first --out policy       the best policy alone, small enough to give away
  python experiments/results.py verify first                    is what was recorded what the code plays?
  python experiments/results.py replay first --iteration 50     the film of a training game, played again
"""


@clean_exit()
def main() -> None:
    """Do what the command line says."""
    commands = {
        command.__name__.lower(): command for command in (Report, Compare, Table, Best, Export, List, Verify, Replay)
    }
    name = subcommand("command", commands, DESCRIPTION)
    parse(commands[name](), prog=f"{program()} {name}", args=sys.argv[2:]).run()


if __name__ == "__main__":
    main()
