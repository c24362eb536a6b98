"""Where results come from: the code's revision, the versions of its libraries, and the machine."""

import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainables.processor import KERNELS
from trainables.versions import installed_versions

ORIGIN: dict[str, Any] = {
    "started": str,
    "git": dict[str, str | bool] | None,
    "versions": dict[str, str],
    "python": str,
    "platform": str,
    "blas_kernels": str | None,
    "cpus": int | None,
}
"""The entries of ``provenance`` and their types."""


def provenance() -> dict[str, Any]:
    """What ``experiment.json`` says of its origin; ``git`` is None without git or outside of a checkout."""
    versions = {"pong-experiments": importlib.metadata.version("pong-experiments"), **installed_versions()}
    python = versions.pop("python")
    return {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "git": git_revision(Path(__file__)),
        "versions": versions,
        "python": python,
        "platform": platform.platform(),
        "blas_kernels": os.environ.get(KERNELS),
        "cpus": os.cpu_count(),
    }


def git_revision(file: Path) -> dict[str, Any] | None:
    """The commit that ``file`` is checked out from, and whether a tracked file differs from it.

    A file that lies in a checkout without being tracked (an installed package in a project's folder) has none.
    """

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(file.parent), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)
        return {"revision": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def changes_since(record: Mapping[str, Any]) -> list[str]:
    """What of an origin that ``experiment.json`` tells is another thing here and now, in words."""
    here, there = provenance(), dict(record)
    names: dict[str, tuple[str, ...]] = {f"{name} {{}}": ("versions", name) for name in here["versions"]}
    names |= {
        "Python {}": ("python",),
        "{}": ("platform",),
        "BLAS kernels {}": ("blas_kernels",),
        "git revision {}": ("git", "revision"),
    }
    found = []
    for text, path in names.items():
        old, new = (_entry(origin, path) for origin in (there, here))
        if old and old != new:
            length = 12 if path[0] == "git" else 80
            found.append(f"{text.format(old[:length])} ({(new or 'none')[:length]} here)")
    for origin, whose in ((there, "there"), (here, "here")):
        if there.get("git") and _entry(origin, ("git", "dirty")) == "True":
            found.append(f"uncommitted changes of the code {whose}")
    return found


def _entry(origin: Any, path: Sequence[str]) -> str | None:
    for name in path:
        origin = origin.get(name) if isinstance(origin, Mapping) else None
    return None if origin is None else str(origin)
