"""Numbers as text, and text from files made harmless for Markdown and for a terminal."""

import math


def number(value: float, digits: int = 1) -> str:
    """A number with commas between thousands; empty if it is not finite."""
    return f"{value:,.{digits}f}" if math.isfinite(value) else ""


def code(text: str) -> str:
    """A name from a file as Markdown that shows it as it stands, whatever is in it."""
    return "`" + text.replace("`", "'").replace("|", "¦").replace("\n", " ") + "`"


def block(text: str) -> str:
    """Lines from a file as Markdown that shows them as they stand."""
    return "```text\n" + text.replace("```", "'''") + "\n```\n"


def printable(text: str) -> str:
    """A name from a file without control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
