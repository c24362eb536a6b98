"""Films and tables as files. Where a film goes is checked before anything is played."""

import json
import math
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich import filesize

from experiments.ask.streams import require_written
from experiments.disk.folders import display, inside, is_experiment
from experiments.show.text import line
from trainables.checkpoints import STATE
from trainables.checks import ConfigError
from trainables.texts import counted

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet", "json"]


def place_for(origin: Path, name: str) -> Path:
    """Where a file goes that is made of a trial or a checkpoint, whose folder is ``origin``.

    That is its experiment's folder, or the present one if it is in no experiment that can be written to.
    """
    for folder in origin.absolute().parents[:2]:
        if is_experiment(folder) and os.access(folder, os.W_OK):
            return inside(folder, name)
    return Path(name)


def require_film(out: Path) -> None:
    """Raise ConfigError unless ``--out`` is a file for a film, in no checkpoint, that can be written."""
    folder = out.absolute().parent
    if out.suffix != ".gif":
        raise ConfigError(f"--out {out}: accepted is a file name that ends in .gif")
    if not folder.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    if os.path.lexists(folder / STATE):
        raise ConfigError(f"--out {out}: {out.parent} is a checkpoint, which stays as it was written")
    written = out if out.exists() else folder
    if out.is_dir() or not os.access(written, os.W_OK):
        raise ConfigError(f"--out {out} cannot be written: it names another place for the film")


def write_out(out: Path, content: bytes) -> None:
    """Write what ``--out`` asks for. Raises ConfigError if that fails."""
    try:
        out.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--out {out} cannot be written: {error.strerror}") from None


def to_bytes(frame: "pd.DataFrame", kind: str) -> bytes:
    """The frame with all digits of its numbers, as Parquet, JSON or, for any other kind, CSV.

    A missing value is an empty cell in CSV. JSON is an array of records, one a line; it has no notation for an infinite
    number, which is null, as a missing one.
    """
    if kind == "parquet":
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if kind == "json":
        has_notation = frame.notna() & ~frame.isin([math.inf, -math.inf])
        records = frame.astype(object).where(has_notation, None).to_dict("records")
        lines = [json.dumps(record, allow_nan=False) for record in records]
        return ("[\n" + ",\n".join(lines) + "\n]\n").encode()
    return frame.to_csv(index=False, lineterminator="\n").encode()


def put(frame: "pd.DataFrame", kind: str | None, path: Path | None) -> None:
    """Write the frame to a file, by default as its name ends, and print where; or print the frame itself.

    Raises ConfigError if it cannot be written there, or for a format that is no text without a file.
    """
    if path is None and kind == "parquet":
        raise ConfigError("--format parquet is no text: it needs --out FILE")
    content = to_bytes(frame, kind or (path.suffix[1:] if path else ""))
    if path is None:
        for text in content.decode().splitlines():
            line(text)
        require_written()
        return
    write_out(path, content)
    line(f"{display(path.absolute())}  ({counted(len(frame), 'row')}, {filesize.decimal(len(content))})")
