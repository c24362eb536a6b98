"""Where a film of a game is written: looked at before the games, which take a minute."""

import os
from pathlib import Path

from trainables.checkpoints import STATE
from trainables.checks import ConfigError


def require_film_name(out: Path | None) -> None:
    """Raise ConfigError if ``--out`` names no file for a film: one that ends in .gif, and in no checkpoint."""
    if not out:
        return
    if out.suffix != ".gif":
        raise ConfigError(f"--out {out}: accepted is a file name that ends in .gif")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    if os.path.lexists(out.absolute().parent / STATE):
        raise ConfigError(f"--out {out}: {out.parent} is a checkpoint, which stays as it was written")


def require_writable(out: Path) -> None:
    """Raise ConfigError if a film cannot be written there."""
    if out.is_dir() or not os.access(out if out.exists() else out.absolute().parent, os.W_OK):
        raise ConfigError(f"--out {out} cannot be written: it names another place for the film")


def write_film(out: Path, gif: bytes) -> None:
    """Write it. Raises ConfigError if that fails."""
    try:
        out.write_bytes(gif)
    except OSError as error:
        raise ConfigError(f"--out {out} cannot be written: {error.strerror}") from None
