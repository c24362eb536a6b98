"""Output that nobody can read stops nothing: the work goes on, and the exit status is the right one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.programs import ROOT, command
from tests.helpers.written_experiments import write_experiment

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


@pytest.mark.slow
def test_a_table_that_is_cut_by_a_full_disk_is_said_to_be_so_and_a_list_for_the_eye_is_not(tmp_path):
    write_experiment(tmp_path / "results", "one", "pg", [({}, [-20.0], None)])
    cut = "results.py: error: standard output cannot be written: No space left on device\n"
    for words, status, said in ((["table", "one"], 2, cut), (["best", "one", "--json"], 2, cut), (["list"], 0, "")):
        with Path("/dev/full").open("w") as full:
            program = command(ROOT / "experiments" / "results.py", *words)
            ended = subprocess.run(program, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (status, said)


def test_what_a_program_that_trains_says_to_a_reader_that_has_gone_comes_on_stderr():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        words = [sys.executable, "-c", WORKS]
        ended = subprocess.run(words, cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "Resume:  ...\n")
