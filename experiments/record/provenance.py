"""Where results come from: the code's revision, the versions of its libraries, and the machine."""

import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainables.processor import KERNELS
from trainables.versions import installed_versions

IN_WORDS = {"python": "Python {}", "platform": "{}", "blas_kernels": "BLAS kernels {}"}
"""How the entries of an origin that can differ are said."""


def provenance() -> dict[str, Any]:
    """The origin of what runs here and now; ``git`` is None without git or outside of a checkout."""
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


def changes_since(origin: Mapping[str, Any]) -> list[str]:
    """What of an origin, as ``experiment.json`` has it, is another thing here and now, in words."""
    now = provenance()
    pairs = [(f"{name} {{}}", origin["versions"].get(name), version) for name, version in now["versions"].items()]
    pairs += [(text, origin[name], now[name]) for name, text in IN_WORDS.items()]
    found = [
        f"{text.format(old[:80])} ({(new or 'none')[:80]} here)"
        for text, old, new in pairs
        if old not in (None, "unknown", new)
    ]
    git, git_here = origin["git"], now["git"]
    if git and git["revision"] != (revision := git_here["revision"] if git_here else "none"):
        found.append(f"git revision {git['revision'][:12]} ({revision[:12]} here)")
    if git and git["dirty"]:
        found.append("uncommitted changes of the code there")
    if git and git_here and git_here["dirty"]:
        found.append("uncommitted changes of the code here")
    return found
