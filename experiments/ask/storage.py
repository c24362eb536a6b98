"""Where experiments lie: in a folder, or beneath a URI such as ``s3://bucket/folder``."""

import functools
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from pyarrow.fs import FileSystem

from trainables.checks import ConfigError

MIRRORS = Path("results")
"""Folder of this machine's copies of experiments that lie beneath a URI."""

SECRET = re.compile(r"key|secret|token|password|credential", re.IGNORECASE)
"""A URI's option whose name has one of these words in it holds a credential."""


def is_uri(text: str) -> bool:
    """Whether this is a URI, and not a path."""
    return bool(re.match(r"\w+:/", text))


def is_name(name: str) -> bool:
    """Whether this can be the name of a file or folder of ours: one step downwards, and fit to be printed."""
    return name not in ("", ".", "..") and name.isprintable() and "/" not in name and "\\" not in name


@functools.cache
def locate(uri: str) -> tuple[FileSystem, str]:
    """The file system of a URI or an absolute path, and the path in it.

    Raises ConfigError if there is none, or if the URI holds credentials: it is written down in many places.
    """
    if is_uri(uri):
        _require_plain(uri)
    try:
        return FileSystem.from_uri(uri)
    except (ValueError, OSError) as error:
        raise ConfigError(f"{uri}: {str(error).splitlines()[0]}; accepted are paths, s3://... and gs://...") from None


def _require_plain(uri: str) -> None:
    """Raise ConfigError, without repeating any secret, for a URI with credentials or with a part behind a ``#``."""
    try:
        parts = urlsplit(uri)
        secret = parts.password is not None or parts.username not in (None, "anonymous")
        options = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError as error:
        raise ConfigError(f"the storage's URI cannot be read ({error}); accepted are s3://... and gs://...") from None
    if secret or any(SECRET.search(name) for name, _ in options):
        host = parts.netloc.rpartition("@")[2]
        raise ConfigError(
            f"{parts.scheme}://{host}{parts.path}: this URI holds credentials, and it is written into experiment.json"
            " and reports; they belong into the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or the"
            " provider's own files"
        )
    if parts.fragment:
        raise ConfigError(f"{uri}: write %23 for a # in a name; what follows a # is no part of a URI's path")
