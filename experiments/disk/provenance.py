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
        text = self.revision[:12]
        if self.dirty:
            text += " and uncommitted changes"
        return text


class Origin(Model):
    """Where results come from: the code, its libraries, the machine."""

    started: str = "unknown"
    sources: list[dict[str, str]] = Field(default_factory=list)  # digests by package; one entry for each code that ran
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
    """The commit that ``file`` is checked out from; None if Git does not track it, as in an installed package.

    Git is told to take no lock, with which somebody's commit at the same moment would fail. ``GIT_DIR`` is taken out of
    its environment: if a hook of another repository started this program, it names that repository.
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
    """What differs between an origin of results and here and now, in words."""
    now = provenance()
    before, found = _libraries_and_machine(origin), []
    for name, new in _libraries_and_machine(now).items():
        old = before.get(name)
        if old not in (None, "unknown", new):
            found.append(f"{name} {str(old)[:80]} ({(new or 'none')[:80]} here)".lstrip())
    code = []
    for ran in origin.sources or [{}]:  # {}: code of which nothing is known
        for name, digest in now.sources[0].items():
            if ran.get(name) != digest:
                code.append(f"{name} of SHA-256 {ran.get(name, 'unknown')[:12]} ({digest[:12]} here)")
    if code and origin.git:
        code.append(f"git revision {origin.git} ({now.git or 'none'} here)")
    return found + code


def _libraries_and_machine(origin: Origin) -> dict[str, str | None]:
    """What an origin says of libraries and machine, by name; the platform stands without a name."""
    return {
        **origin.versions,
        "Python": origin.python,
        "": origin.platform,
        "BLAS kernels": origin.blas_kernels,
    }


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
