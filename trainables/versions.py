"""The versions of what results depend on: libraries, and the sources of these packages."""

import hashlib
import importlib.metadata
import os
import platform
from functools import cache
from pathlib import Path

PACKAGES = ("ray", "numpy", "scipy", "numba", "gymnasium", "ale-py")


@cache
def installed_versions() -> dict[str, str]:
    """Versions of ``PACKAGES`` and of Python, by name; ``"nothing"`` where a package is missing.

    Looked up once, since each is a file to read.
    """
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "nothing"
    return found


SOURCES = "PONG_EXPERIMENTS_SOURCES"
"""The variable of the environment that tells workers which digest the sources of ``trainables`` have for the driver.
They import nothing else of ours."""


class OtherSourcesError(RuntimeError):
    """A worker has other sources than the driver: its results would be of code that no record names."""


@cache
def sources_digest(package: str = "trainables") -> str:
    """SHA-256 of the names and texts of a package's modules, as they are when it is first asked for; takes 1 ms."""
    folder, sha256 = Path(__file__).parents[1] / package, hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        name, text = file.relative_to(folder), file.read_bytes()
        if all(part.isidentifier() for part in name.with_suffix("").parts):  # else nothing imports it
            sha256.update(f"{name.as_posix()} {len(text)}\n".encode() + text)
    return sha256.hexdigest()


def require_same_sources() -> None:
    """Raise OtherSourcesError in a worker whose sources are not those that its driver had as it began."""
    here, wanted = sources_digest(), os.environ.get(SOURCES)
    if wanted not in (None, here):
        raise OtherSourcesError(
            f"a worker's sources in {Path(__file__).parent} ({here[:12]}) are not those that the program began with"
            f" ({wanted[:12]}); were they edited meanwhile?"
        )
