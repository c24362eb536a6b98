"""Where results come from: the code's revision, the versions of its libraries, and the machine."""

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from trainables.versions import installed_versions

ORIGIN: dict[str, Any] = {
    "started": str,
    "git": dict[str, str | bool] | None,
    "versions": dict[str, str],
    "python": str,
    "platform": str,
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
