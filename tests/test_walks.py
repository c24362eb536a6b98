"""Pages that a reader types along: each command ends well, and prints the lines that the page shows below it."""

import re
import shlex

import pytest

from tests.helpers.programs import ROOT, run

WALKS = {"played_again.md": "", "comparing.md": "## What is compared"}
"""Pages, and the heading at which the walk ends."""


def blocks(text):
    """The indented blocks of a page, as lists of lines."""
    found = []
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        found.append([line[4:] for line in block.splitlines()])
    return found


def without_times(line):
    """A line as any machine prints it: durations and numbers of workers depend on the machine."""
    line = re.sub(r"\d+(\.\d+)? (s|min|h)\b", "A TIME", line)
    line = re.sub(r"\(\d[\d.]* [kM]?B\)", "A SIZE", line)  # a picture's size depends on the names in it
    return re.sub(r"\d+ workers?", "WORKERS", line)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize("name", WALKS)
def test_what_a_page_shows_below_a_command_is_what_the_command_prints(name, tmp_path):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    walk = text.partition(WALKS[name])[0] if WALKS[name] else text
    printed, shown = [], 0
    for block in blocks(walk):
        for line in block:
            if line.startswith("python "):
                _, program, *words = shlex.split(line)
                printed += map(without_times, run(ROOT / program, *words, cwd=tmp_path, timeout=400).splitlines())
            else:
                shown += 1
                assert without_times(line) in printed, printed
    assert shown >= 4
