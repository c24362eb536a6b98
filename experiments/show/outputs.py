"""Films and frames as files: where they go is looked at before anything is played or computed."""

import json
import math
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from rich import filesize

from experiments.record.folders import display
from experiments.show.text import line
from trainables.checkpoints import STATE
from trainables.checks import ConfigError

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet", "json"]


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


def write_out(out: Path, content: bytes) -> None:
    """Write what ``--out`` asks for. Raises ConfigError if that fails."""
    try:
        out.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--out {out} cannot be written: {error.strerror}") from None


def format_of(path: Path | None) -> Format:
    """The format that a file's name asks for; CSV if it says nothing."""
    suffix = path.suffix.removeprefix(".") if path else ""
    return next((known for known in get_args(Format) if known == suffix), "csv")


def to_bytes(frame: "pd.DataFrame", kind: Format) -> bytes:
    """The frame with all digits of its numbers. A missing value is an empty cell in CSV, and null in JSON.

    JSON is an array of records, one a line. It has no notation for an infinite number, which is null, too.
    """
    if kind == "parquet":
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if kind == "csv":
        return frame.to_csv(index=False, lineterminator="\n").encode()
    records = frame.astype(object).where(frame.notna() & ~frame.isin([math.inf, -math.inf]), None).to_dict("records")
    return ("[\n" + ",\n".join(json.dumps(record, allow_nan=False) for record in records) + "\n]\n").encode()


def put(frame: "pd.DataFrame", kind: Format, path: Path | None) -> None:
    """Write the frame to a file and print where, or print the frame itself.

    Raises ConfigError if it cannot be written there, or for a format that is no text without a file.
    """
    if path is None and kind == "parquet":
        raise ConfigError("--format parquet is no text: it needs --out FILE")
    content = to_bytes(frame, kind)
    if path is None:
        for text in content.decode().splitlines():
            line(text)
        return
    write_out(path, content)
    line(f"{display(path.absolute())}  ({len(frame):,} rows, {filesize.decimal(len(content))})")
