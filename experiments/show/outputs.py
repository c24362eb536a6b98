"""Films and frames as files: where they go is looked at before anything is played or computed."""

import json
import math
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich import filesize

from experiments.disk.folders import display, inside, is_experiment
from experiments.show.text import line
from trainables.checkpoints import STATE
from trainables.checks import ConfigError
from trainables.texts import counted

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet", "json"]


def place_for(checkpoint: Path, name: str) -> Path:
    """Where what is made of a checkpoint goes: into its experiment's folder, or here if it has none that takes it."""
    for folder in checkpoint.absolute().parents[:2]:
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
    if out.is_dir() or not os.access(out if out.exists() else folder, os.W_OK):
        raise ConfigError(f"--out {out} cannot be written: it names another place for the film")


def write_out(out: Path, content: bytes) -> None:
    """Write what ``--out`` asks for. Raises ConfigError if that fails."""
    try:
        out.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--out {out} cannot be written: {error.strerror}") from None


def to_bytes(frame: "pd.DataFrame", kind: str) -> bytes:
    """The frame with all digits of its numbers, as CSV for any other kind. A missing value is an empty cell there.

    JSON is an array of records, one a line. It has no notation for an infinite number, which is null, as a missing one.
    """
    if kind == "parquet":
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if kind != "json":
        return frame.to_csv(index=False, lineterminator="\n").encode()
    records = frame.astype(object).where(frame.notna() & ~frame.isin([math.inf, -math.inf]), None).to_dict("records")
    return ("[\n" + ",\n".join(json.dumps(record, allow_nan=False) for record in records) + "\n]\n").encode()


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
        return
    write_out(path, content)
    line(f"{display(path.absolute())}  ({counted(len(frame), 'row')}, {filesize.decimal(len(content))})")
