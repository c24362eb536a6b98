"""Output that nobody can read stops nothing: the work goes on, and the exit status is the right one."""

import subprocess
import sys

import pytest

from tests.helpers.programs import ROOT, command

WORKS = """
from experiments.ask.streams import go_on_unread, open_streams
open_streams()
go_on_unread()
print("Resume:  ...", flush=True)
"""


@pytest.mark.ray
@pytest.mark.parametrize("streams", [">&- 2>&-", ">/dev/full 2>/dev/full"])
def test_a_wrong_word_ends_with_2_whatever_becomes_of_the_output(streams):
    words = command(ROOT / "experiments" / "results.py", "lisst")
    assert subprocess.run(["bash", "-c", f'"$@" {streams}', "bash", *words], check=False).returncode == 2


def test_what_a_program_that_trains_says_to_a_reader_that_has_gone_comes_on_stderr():
    words = [sys.executable, "-c", WORKS]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.close()
        assert running.stderr.read() == "Resume:  ...\n"
    assert running.returncode == 0
