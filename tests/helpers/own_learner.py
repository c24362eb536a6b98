"""The learner that docs/own_learner.md prints, as a file."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "own_learner.md"


def blocks():
    """The page's blocks: parts of the file, and in the end the file. Methods alone are "text", which ruff leaves be."""
    return re.findall(r"^```(?:python|text)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def write_a2c(folder):
    """Write the file as it is printed; return its path."""
    path = folder / "a2c.py"
    path.write_text(blocks()[-1], encoding="utf-8")
    return path
