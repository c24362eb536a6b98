"""Numbers as text, and text from files made harmless: one way into a page, and one to the terminal.

``code`` and ``block`` are how a text from a file comes into a page, ``line`` and ``say`` how it comes to the terminal.
"""

import math
import sys

from rich.console import Console

from trainables.texts import printable


def number(value: float, digits: int = 1) -> str:
    """A number with commas between thousands; empty if it is not finite."""
    return f"{value:,.{digits}f}" if math.isfinite(value) else ""


def code(text: str) -> str:
    """A name from a file as Markdown that shows it as it stands, whatever is in it."""
    return "`" + (printable(text).replace("`", "'").replace("|", "¦") or " ") + "`"


def block(text: str) -> str:
    """Lines from a file as Markdown that shows them as they stand."""
    lines = "\n".join(map(printable, text.splitlines()))
    return "```text\n" + lines.replace("```", "'''") + "\n```\n"


def line(text: str = "") -> None:
    """Print a line, whatever is in it."""
    print(printable(text), flush=True)


def say(text: str) -> None:
    """Print prose, whatever is in it: no word is cut at a terminal's edge, and a file gets whole lines."""
    Console(markup=False, highlight=False).print(printable(text), soft_wrap=not sys.stdout.isatty())
