"""The versions of what results depend on."""

import importlib.metadata
import platform
from functools import cache

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
