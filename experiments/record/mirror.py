"""Experiments whose home is a URI, as ``s3://bucket/dir/NAME``: what lies there, and its mirror on this machine.

Nodes save checkpoints at the URI and read them from there: that is Tune's part. Everything else is written by this
program, into the mirror, and copied from there; checkpoints come back into it. So whoever reads an experiment
(``--resume``, ``results.py``, TensorBoard) reads a folder, wherever its home is.

Which of two versions of a file counts, no clock says: the mirror notes (``SYNCED``) what lay there when both were the
same. What has changed there since is fetched; else the mirror's own is kept, which may not have been sent yet.
"""

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from pyarrow.fs import FileInfo, FileSelector, FileType, copy_files

from experiments.ask.flags import RunFlags
from experiments.ask.storage import MIRRORS, is_uri, locate
from experiments.record import folders
from experiments.record.folders import DECISIONS, EXCHANGES, RECORD, WINNER, WINNER_FILM
from experiments.record.lock import exclusive, is_held
from experiments.record.notes import note, noted, synced
from experiments.record.spec import ExperimentSpec
from experiments.record.spec import find as find_folder
from trainables.checkpoints import number
from trainables.checks import ConfigError


@dataclass(frozen=True)
class Remote:
    """An experiment beneath a URI, and the folder on this machine that mirrors it and has its name."""

    storage: str
    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """What an experiment's folder mirrors, if it is a mirror. Raises ConfigError if its file is damaged."""
        storage = ExperimentSpec.read(folder).storage_uri
        return cls(storage, folder) if storage else None

    @property
    def uri(self) -> str:
        """The experiment's own URI."""
        parts = urlsplit(self.storage)  # what follows a "?" says how to get there
        return parts._replace(path=f"{parts.path.rstrip('/')}/{quote(self.folder.name, safe='')}").geturl()

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
        self._note(filesystem.get_file_info(FileSelector(root, recursive=True)))

    def settle(self) -> bool:
        """Send and fetch what is left when an experiment ends; return whether that went well."""
        try:
            for path in folders.trial_folders(self.folder).values():
                self.push_trial(path)
            self.push(*_files(self.folder / name for name in (DECISIONS, EXCHANGES, WINNER, WINNER_FILM)))
            self.pull()
        except OSError as error:
            print(f"{self.uri} lacks what {self.folder} has: {error}. --resume sends it.", file=sys.stderr)
            return False
        return True

    def push(self, *files: Path) -> None:
        """Send files of the mirror. An object store puts each in its place at once, or not at all."""
        filesystem, root = locate(self.uri)
        targets = {f"{root}/{file.relative_to(self.folder).as_posix()}": file for file in files}
        for target, file in targets.items():
            copy_files(str(file), target, destination_filesystem=filesystem)
        self._note(filesystem.get_file_info([*targets]))

    def push_trial(self, trial: Path) -> None:
        """Send what this program writes of a trial."""
        filesystem, root = locate(self.uri)
        filesystem.create_dir(f"{root}/{trial.name}")
        self.push(*_files(trial.iterdir()))

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
        """Fetch all files that have changed there, and the checkpoints that are new.

        Raises ConfigError if a name is none, or if a link of the mirror is in the way.
        """
        fetched = []
        for info in self._list():
            if info.type is FileType.Directory:
                folder = folders.inside(self.folder, info.base_name)
                fetched += [file for file in self._list(info.base_name) if self._copy(file, folder)]
                self.pull_checkpoints(info.base_name, whole=True)
            elif self._copy(info, self.folder):
                fetched.append(info)
        self._note(fetched)

    def pull_checkpoints(self, trial: str, whole: bool = False) -> None:
        """Fetch a trial's new checkpoints, and let go of those that are there no longer. Raises as ``pull`` does.

        With ``whole`` also those that were fetched while they were written, and lack a part here.
        """
        filesystem, _ = locate(self.uri)
        folder, incoming = folders.inside(self.folder, trial), folders.inside(self.folder / trial, ".incoming")
        infos = self._list(trial)
        there = {i.base_name for i in infos if i.type is FileType.Directory and number(i.base_name) >= 0}
        here = {old.name: old for old in folders.checkpoint_folders(folder)} if folder.is_dir() else {}
        for name in here.keys() - there:
            shutil.rmtree(here[name])
        for name in sorted(there if whole else there - here.keys()):
            files = [file for file in self._list(f"{trial}/{name}") if file.type is FileType.File]
            if name in here and all(_is_here(here[name], file) for file in files):
                continue
            shutil.rmtree(incoming, ignore_errors=True)
            incoming.mkdir(parents=True)
            for file in files:
                copy_files(file.path, str(folders.inside(incoming, file.base_name)), source_filesystem=filesystem)
            if name in here:
                shutil.rmtree(here[name])
            incoming.rename(folder / name)

    def _list(self, folder: str = "") -> list[FileInfo]:
        filesystem, root = locate(self.uri)
        return filesystem.get_file_info(FileSelector(f"{root}/{folder}".rstrip("/"), allow_not_found=True))

    def _copy(self, info: FileInfo, folder: Path) -> bool:
        """Copy a file into a folder of the mirror, if it has changed there; return whether it was copied."""
        if info.type is not FileType.File or info.base_name.startswith("."):
            return False
        filesystem, root = locate(self.uri)
        target = folders.inside(folder, info.base_name)
        if target.exists() and synced(self.folder).get(info.path.removeprefix(f"{root}/")) == noted(info):
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        incoming = folders.inside(folder, f".{info.base_name}.incoming")  # a fetch that fails leaves the target whole
        copy_files(info.path, str(incoming), source_filesystem=filesystem)
        incoming.replace(target)
        return True

    def _note(self, infos: Iterable[FileInfo]) -> None:
        """Note that these files are the same here and there."""
        _, root = locate(self.uri)
        note(self.folder, {info.path.removeprefix(f"{root}/"): noted(info) for info in infos})


def _files(paths: Iterable[Path]) -> list[Path]:
    """Those that are files; what a link points to belongs to somebody else."""
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def _is_here(folder: Path, file: FileInfo) -> bool:
    """Whether a folder has a file of this name and size."""
    path = folders.inside(folder, file.base_name)
    return path.is_file() and path.stat().st_size == file.size


def taken(run: RunFlags, name: str) -> bool:
    """Whether there is an experiment of this name, here or at the storage path's URI."""
    folder = run.folder.absolute() / name
    return os.path.lexists(folder) or bool(run.uri and Remote(run.uri, folder).exists())


def find(run: RunFlags, name: str, learner: str) -> Path:
    """The folder of the experiment that a flag names: by its name, a path or a URI. A mirror is fetched first.

    Raises ConfigError as ``experiment.find`` does, and if nothing lies at the URI.
    """
    remote = None
    if is_uri(name):
        locate(name)  # which refuses a URI that says more than a place
        parts = urlsplit(name)
        path = PurePosixPath(parts.path)
        folder = folders.inside(MIRRORS.absolute(), unquote(path.name))
        remote = Remote(parts._replace(path=str(path.parent)).geturl(), folder)
    elif run.uri and name == Path(name).name:
        remote = Remote(run.uri, folders.inside(MIRRORS.absolute(), name))
    folder = remote.folder if remote else find_folder(run.folder, name, learner)
    if remote := remote or Remote.of(folder):
        remote.fetch()
    return find_folder(run.folder, str(folder), learner)
