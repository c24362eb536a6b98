"""Who has the cores while a program runs."""

import os
import subprocess
import sys

import pytest

from experiments.benchmarks.account import AGENTS, IDLE, PROGRAM, STARTING, TRIALS, WORKERS, Account, kind_of

BUSY = "import time\nwhile time.process_time() < {}: pass\n"


def test_processor_time_is_that_of_a_program_and_of_what_it_starts_and_adds_up_to_all_cores():
    grandchild = BUSY.format(0.9) + "print(1, flush=True); input()"
    child = f"import subprocess, sys\n{BUSY.format(0.6)}subprocess.run([sys.executable, '-c', {grandchild!r}])"
    command = [sys.executable, "-c", child]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        account = Account(process.pid)
        process.stdout.readline()
        had_s = account.close()
        process.communicate(b"\n")
    assert had_s[PROGRAM] == pytest.approx(0.6, abs=0.2)
    assert had_s[STARTING] == pytest.approx(0.9, abs=0.2)
    assert sum(had_s.values()) >= 1.5 * (os.cpu_count() or 1) / 2
    assert [*had_s][-1] == IDLE


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("ray::RolloutActor.play", WORKERS),
        ("ray::PongPG.train", TRIALS),
        ("ray::OwnLearner.save", TRIALS),
        ("ray::IDLE", STARTING),
        ("ray::DashboardAgent", AGENTS),
        ("/x/python -u /x/ray/_private/log_monitor.py --session-dir=/x", AGENTS),
        ("/x/python -c from multiprocessing import resource_tracker", STARTING),
    ],
)
def test_a_process_is_known_by_its_command_line(command, kind):
    assert kind_of(command) == kind
