"""Where experiments lie: in a folder, or beneath a URI as ``s3://bucket/folder``."""

import functools
import re
from pathlib import Path

from pyarrow.fs import FileSystem

from trainables.checks import ConfigError

MIRRORS = Path("results")
"""Where experiments whose home is a URI have their mirrors."""


def is_uri(text: str) -> bool:
    """Whether this is a URI, and not a path."""
    return bool(re.match(r"\w+:/", text))


@functools.cache
def locate(uri: str) -> tuple[FileSystem, str]:
    """The file system of a URI or an absolute path, and the path in it. Raises ConfigError if there is none."""
    try:
        return FileSystem.from_uri(uri)
    except (ValueError, OSError) as error:
        raise ConfigError(f"{uri}: {str(error).splitlines()[0]}; accepted are paths, s3://... and gs://...") from None
