"""Where results come from: the code and its revision, a learner's own file, the versions of libraries, the machine."""

import datetime
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from experiments.disk.models import Count, Model
from trainables.checks import ConfigError
from trainables.processor import KERNELS
from trainables.versions import installed_versions, sources_digest


class Git(Model):
    """The commit that the code is checked out from, and whether a tracked file differs from it."""

    revision: str
    dirty: bool

    def __str__(self) -> str:
        return f"{self.revision[:12]}{' and uncommitted changes' if self.dirty else ''}"


class Origin(Model):
    """Where results come from: the code, its libraries, the machine."""

    started: str = "unknown"
    sources: list[dict[str, str]] = Field(default_factory=list)  # our packages' digests; one more for each other code
    git: Git | None = None  # None without git, or outside of a checkout
    versions: dict[str, str] = Field(default_factory=dict)
    python: str = "unknown"
    platform: str = "unknown"
    blas_kernels: str | None = None
    cpus: Count | None = None


def sources() -> dict[str, str]:
    """The digest of each of our packages' sources."""
    return {package: sources_digest(package) for package in ("experiments", "search_spaces", "trainables")}


def provenance() -> Origin:
    """The origin of what runs here and now."""
    versions = {**installed_versions()}
    return Origin(
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        sources=[sources()],
        git=git_revision(Path(__file__)),
        python=versions.pop("python"),
        versions=versions,
        platform=platform.platform(),
        blas_kernels=os.environ.get(KERNELS),
        cpus=os.cpu_count(),
    )


def git_revision(file: Path) -> Git | None:
    """The commit that ``file`` is checked out from, if it is tracked there: not so an installed package's.

    Git takes no lock for it, with which somebody's commit at the same moment would fail; and it looks where the file
    lies, also if a hook of another repository started this program, in whose environment ``GIT_DIR`` names that one.
    """
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(file.parent), *words]
        asked = subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings)
        return asked.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)
        return Git(revision=git("rev-parse", "HEAD"), dirty=bool(git("status", "--porcelain", "-uno")))
    except (OSError, subprocess.CalledProcessError):
        return None


def changes_since(origin: Origin) -> list[str]:
    """What of an origin is another thing here and now, in words."""

    def parts(of: Origin) -> dict[str, str | None]:
        return {**of.versions, "Python": of.python, "": of.platform, "BLAS kernels": of.blas_kernels}

    now = provenance()
    before, found = parts(origin), []
    for name, new in parts(now).items():
        if (old := before.get(name)) not in (None, "unknown", new):
            found.append(f"{name} {str(old)[:80]} ({(new or 'none')[:80]} here)".lstrip())
    code = [
        f"{name} of SHA-256 {ran.get(name, 'unknown')[:12]} ({digest[:12]} here)"
        for ran in origin.sources or [{}]
        for name, digest in now.sources[0].items()
        if ran.get(name) != digest
    ]
    if code and origin.git:
        code.append(f"git revision {origin.git} ({now.git or 'none'} here)")
    return found + code


def sha256_of(source: Path) -> str:
    """The digest of a learner's file. Raises ConfigError if it cannot be read."""
    try:
        return hashlib.sha256(source.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror}") from None


def say_if_changed(source: Path | None, digests: Sequence[str], before: Sequence[str]) -> None:
    """Print that the learner's file is another one than that with which its experiment ran last.

    ``digests`` are those of the files that it ran with, of which it had those ``before``.
    """
    if before and len(digests) > len(before):
        print(
            f"{source} has changed since this experiment last ran: results before and after are of different code"
            f" (SHA-256 {before[-1][:12]}, then {digests[-1][:12]})",
            file=sys.stderr,
        )
