"""Where results come from: the code and its revision, the versions of its libraries, and the machine."""

import datetime
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainables.processor import KERNELS
from trainables.versions import installed_versions, sources_digest

IN_WORDS = {"python": "Python {}", "platform": "{}", "blas_kernels": "BLAS kernels {}"}
"""How the entries of an origin that can differ are said."""


def sources() -> dict[str, str]:
    """The digest of each of our packages' sources."""
    return {package: sources_digest(package) for package in ("experiments", "search_spaces", "trainables")}


def provenance() -> dict[str, Any]:
    """The origin of what runs here and now; ``git`` is None without git or outside of a checkout."""
    versions = {**installed_versions()}
    python = versions.pop("python")
    return {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "sources": [sources()],
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
    code = [
        f"{name} of SHA-256 {ran.get(name, 'unknown')[:12]} ({digest[:12]} here)"
        for ran in origin["sources"] or [{}]
        for name, digest in sources().items()
        if ran.get(name) != digest
    ]
    if code and origin["git"]:
        code.append(f"git revision {_revision(origin['git'])} ({_revision(now['git'])} here)")
    return found + code


def _revision(git: Mapping[str, Any] | None) -> str:
    return f"{git['revision'][:12]}{' and uncommitted changes' if git['dirty'] else ''}" if git else "none"
