"""Experiments whose home is a URI, as ``s3://bucket/dir/NAME``: what lies there, and its mirror on this machine.

Nodes save checkpoints at the URI and read them from there: that is Tune's part. Everything else is written by this
program, into the mirror, and copied from there; checkpoints come back into it. So whoever reads an experiment
(``--resume``, ``results.py``, TensorBoard) reads a folder, wherever its home is.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self
from urllib.parse import urlsplit

from pyarrow.fs import FileInfo, FileSelector, FileType, copy_files

from experiments.ask.flags import RunFlags
from experiments.ask.storage import MIRRORS, is_uri, locate
from experiments.record import folders
from experiments.record.folders import CHECKPOINTS, RECORD
from experiments.record.lock import exclusive, is_held
from trainables.checks import ConfigError


@dataclass(frozen=True)
class Remote:
    """An experiment beneath a URI, and the folder on this machine that mirrors it and has its name."""

    storage: str
    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """What an experiment's folder mirrors, if it is a mirror."""
        storage = folders.read_record(folder).get("storage_uri")
        return cls(storage, folder) if storage else None

    @property
    def uri(self) -> str:
        """The experiment's own URI."""
        parts = urlsplit(self.storage)  # what follows a "?" says how to get there
        return parts._replace(path=f"{parts.path.rstrip('/')}/{self.folder.name}").geturl()

    def exists(self) -> bool:
        """Whether an experiment lies there. Raises ConfigError if it cannot be told."""
        filesystem, root = locate(self.uri)
        try:
            return filesystem.get_file_info(f"{root}/{RECORD}").type is FileType.File
        except OSError as error:
            raise ConfigError(f"{self.uri} cannot be read: {error}") from None

    def publish(self) -> None:
        """Send the whole mirror: an experiment before its first iteration."""
        filesystem, root = locate(self.uri)
        filesystem.create_dir(root)
        copy_files(str(self.folder), root, destination_filesystem=filesystem)

    def settle(self) -> bool:
        """Send and fetch what is left when an experiment ends; return whether that went well."""
        try:
            for path in self.folder.iterdir():
                if path.is_dir():
                    self.push_trial(path)
            self.pull()
        except OSError as error:
            print(f"{self.uri} lacks what {self.folder} has: {error}. --resume sends it.", file=sys.stderr)
            return False
        return True

    def push(self, *files: Path) -> None:
        """Send files of the mirror. An object store puts each in its place at once, or not at all."""
        filesystem, root = locate(self.uri)
        for file in files:
            copy_files(str(file), f"{root}/{file.relative_to(self.folder)}", destination_filesystem=filesystem)

    def push_trial(self, trial: Path) -> None:
        """Send what this program writes of a trial."""
        filesystem, root = locate(self.uri)
        filesystem.create_dir(f"{root}/{trial.name}")
        self.push(*(path for path in trial.iterdir() if path.is_file()))

    def fetch(self) -> None:
        """Make the mirror what lies there, if no program runs the experiment here and keeps it so.

        Raises ConfigError if nothing lies there or can be read, or if the folder mirrors something else.
        """
        if is_held(self.folder):
            return
        if not self.exists():
            raise ConfigError(f"{self.uri} is no experiment")
        there = Remote.of(self.folder) if (self.folder / RECORD).is_file() else self
        if there is None or there.uri != self.uri:
            raise ConfigError(f"{self.folder} is in the way: another experiment of the name of {self.uri}")
        self.folder.mkdir(parents=True, exist_ok=True)
        with exclusive(self.folder):
            try:
                self.pull()
            except OSError as error:
                raise ConfigError(f"{self.uri} cannot be fetched: {error}") from None

    def pull(self) -> None:
        """Fetch all files, and the checkpoints that are new."""
        for info in self._list():
            if info.type is FileType.Directory:
                for file in self._list(info.base_name):
                    self._copy(file, self.folder / info.base_name / file.base_name)
                self.pull_checkpoints(info.base_name)
            self._copy(info, self.folder / info.base_name)

    def pull_checkpoints(self, trial: str) -> None:
        """Fetch a trial's new checkpoints, and let go of those that are there no longer."""
        filesystem, _ = locate(self.uri)
        there = {info.base_name: info.path for info in self._list(trial) if info.type is FileType.Directory}
        for old in (self.folder / trial).glob(CHECKPOINTS):
            if old.name not in there:
                shutil.rmtree(old)
        for name, path in there.items():
            if not (self.folder / trial / name).exists():
                incoming = self.folder / trial / ".incoming"
                shutil.rmtree(incoming, ignore_errors=True)
                incoming.mkdir()
                copy_files(path, str(incoming), source_filesystem=filesystem)
                incoming.rename(self.folder / trial / name)

    def _list(self, folder: str = "") -> list[FileInfo]:
        filesystem, root = locate(self.uri)
        return filesystem.get_file_info(FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True))

    def _copy(self, info: FileInfo, target: Path) -> None:
        """Copy a file, with its time, unless the mirror's is newer: it was not sent then."""
        if info.type is not FileType.File or info.base_name.startswith("."):
            return
        if not target.exists() or target.stat().st_mtime <= info.mtime.timestamp():
            target.parent.mkdir(exist_ok=True)
            copy_files(info.path, str(target), source_filesystem=locate(self.uri)[0])
            os.utime(target, (info.mtime.timestamp(),) * 2)


def taken(run: RunFlags, name: str) -> bool:
    """Whether there is an experiment of this name, here or at the storage path's URI."""
    folder = run.folder.absolute() / name
    return folder.exists() or bool(run.uri and Remote(run.uri, folder).exists())


def find(run: RunFlags, name: str, learner: str) -> Path:
    """The folder of the experiment that a flag names: by its name, a path or a URI. A mirror is fetched first.

    Raises ConfigError as ``folders.find`` does, and if nothing lies at the URI.
    """
    remote = None
    if is_uri(name):
        parts = urlsplit(name)
        path = PurePosixPath(parts.path)
        remote = Remote(parts._replace(path=str(path.parent)).geturl(), MIRRORS.absolute() / path.name)
    elif run.uri and name == Path(name).name:
        remote = Remote(run.uri, MIRRORS.absolute() / name)
    folder = remote.folder if remote else folders.find(run.folder, name, learner)
    if remote := remote or Remote.of(folder):
        remote.fetch()
    return folders.find(run.folder, str(folder), learner)
