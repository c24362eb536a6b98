"""Experiments whose home is a URI, as ``s3://bucket/dir/NAME``: what lies there, and its mirror on this machine.

Nodes save checkpoints at the URI and read them from there, and Tune writes its own files: that is Tune's part. All else
is written by this program into the mirror, and sent from there; Tune's part is fetched. So whoever reads an experiment
(``--resume``, ``results.py``, TensorBoard) reads a folder, wherever its home is.

Which of two versions of this program's files counts, no clock says. A program that begins to write leaves a mark, here
and there. Where both marks are the same nobody else has written there since, and the mirror's files count, which may
not have been sent yet. Otherwise those at home count.
"""

import os
import shutil
import sys
import uuid
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from pyarrow.fs import FileSelector, SubTreeFileSystem, copy_files

from experiments.ask.flags import RunFlags
from experiments.ask.storage import MIRRORS, is_uri, locate
from experiments.disk import folders
from experiments.disk.folders import DECISIONS, PARAMS, RECORD, RESULTS, WINNER, WINNER_FILM, inside
from experiments.disk.lock import exclusive, is_held
from experiments.disk.spec import ExperimentSpec
from experiments.disk.spec import find as find_folder
from trainables.checkpoints import number
from trainables.checks import ConfigError
from trainables.files import replace_text

MARK = ".writer"  # the file with the mark of the program that wrote last


@dataclass(frozen=True)
class Remote:
    """An experiment beneath a URI, and the folder on this machine that mirrors it and has its name."""

    storage: str
    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """What an experiment's folder mirrors; None if it is no mirror. Raises ConfigError if its file is damaged."""
        storage = ExperimentSpec.read(folder).storage_uri
        if not storage:
            return None
        return cls(storage, folder)

    @property
    def uri(self) -> str:
        """The experiment's own URI."""
        parts = urlsplit(self.storage)  # what follows a "?" says how to get there
        return parts._replace(path=f"{parts.path.rstrip('/')}/{quote(self.folder.name, safe='')}").geturl()

    @cached_property
    def _home(self) -> SubTreeFileSystem:
        """What lies there, by paths that begin in the experiment."""
        filesystem, root = locate(self.uri)
        return SubTreeFileSystem(root, filesystem)

    def _there(self, path: Path) -> str:
        """Where a path of the mirror lies at home."""
        return path.relative_to(self.folder).as_posix()

    def exists(self) -> bool:
        """Whether an experiment lies there. Raises ConfigError if it cannot be told."""
        try:
            return self._home.get_file_info(RECORD).is_file
        except OSError as error:
            raise ConfigError(f"{self.uri} cannot be read: {error}") from None

    def publish(self) -> None:
        """Send all of this program's files, and leave a new mark: from now on those of the mirror count."""
        for folder in (*folders.trial_folders(self.folder).values(), self.folder):
            self.push_all(folder)
        mark = uuid.uuid4().hex
        with self._home.open_output_stream(MARK) as file:
            file.write(mark.encode())
        replace_text(self.folder / MARK, mark)

    def push_all(self, folder: Path) -> None:
        """Send the files that this program writes into a trial's folder, or into the experiment's.

        Links are left out, since their targets belong to somebody else.
        """
        self._home.create_dir(self._there(folder))
        for path in sorted(folder.iterdir()):
            if _is_ours(path.name) and path.is_file() and not path.is_symlink():
                self.push(path)

    def push(self, *files: Path) -> None:
        """Send files of the mirror. An object store puts each in its place at once, or not at all."""
        for file in files:
            copy_files(str(file), self._there(file), destination_filesystem=self._home)

    def push_folder(self, source: Path, target: Path) -> None:
        """Send a folder with all in it to where ``target`` of the mirror lies at home."""
        self._home.create_dir(self._there(target))
        copy_files(str(source), self._there(target), destination_filesystem=self._home)

    def settle(self) -> bool:
        """Send and fetch what is left when an experiment ends; return whether that went well."""
        try:
            self.publish()
            self.pull()
        except OSError as error:
            print(f"{self.uri} lacks what {self.folder} has: {error}. --resume sends it.", file=sys.stderr)
            return False
        return True

    def fetch(self) -> None:
        """Make the mirror what lies there, if no program runs the experiment here and keeps it so.

        Raises ConfigError if nothing lies there or can be read, or if the folder mirrors something else.
        """
        if is_held(self.folder):
            return
        if not self.exists():
            raise ConfigError(f"{self.uri} is no experiment")
        if (self.folder / RECORD).is_file():
            mirrored = Remote.of(self.folder)
            if mirrored is None or mirrored.uri != self.uri:
                raise ConfigError(f"{self.folder} is in the way: another experiment of the name of {self.uri}")
        self.folder.mkdir(parents=True, exist_ok=True)
        with exclusive(self.folder):
            try:
                self.pull()
            except OSError as error:
                raise ConfigError(f"{self.uri} cannot be fetched: {error}") from None

    def pull(self, trial: str = "") -> None:
        """Fetch Tune's files and checkpoints, and this program's files unless those of the mirror count.

        Of a ``trial`` that runs here, Tune's part alone is fetched. Checkpoints that are no longer at home are deleted
        here. Raises ConfigError if a name at home cannot be one of ours, or if a link is in the way here.
        """
        there = self._files_there(trial)
        keep_ours = bool(trial) or self._wrote_last()
        for path, size in there.items():
            if not _is_whole(path, size, keep_ours):
                self._fetch_file(path)
        kept = {path.parent for path in there}
        names = {path.relative_to(self.folder).parts[0] for path in there}  # of trials' folders, and of files
        for name in names:
            if (self.folder / name).is_dir():
                for old in folders.checkpoint_folders(self.folder / name):
                    if old not in kept:
                        shutil.rmtree(old)

    def _fetch_file(self, path: Path) -> None:
        """Fetch the file at home whose place in the mirror is ``path``; a fetch that fails leaves what is here."""
        path.parent.mkdir(parents=True, exist_ok=True)
        incoming = inside(path.parent, f".{path.name}.incoming")
        copy_files(self._there(path), str(incoming), source_filesystem=self._home)
        incoming.replace(path)

    def _wrote_last(self) -> bool:
        """Whether nobody else has written at home since this mirror was last published."""
        mark = self.folder / MARK
        if not mark.is_file() or not self._home.get_file_info(MARK).is_file:
            return False
        with self._home.open_input_stream(MARK) as file:
            return file.read(100) == mark.read_bytes()

    def _files_there(self, trial: str) -> dict[Path, int]:
        """The sizes of an experiment's files at home, or of those of a trial there, by their places in the mirror.

        They lie in the experiment, in a folder of it, or in a checkpoint of such a folder, and none is hidden.
        """
        found = {}
        selector = FileSelector(trial, recursive=True, allow_not_found=True)
        for info in sorted(self._home.get_file_info(selector), key=lambda info: info.path):
            steps = PurePosixPath(info.path).parts
            if not info.is_file or any(step.startswith(".") for step in steps):
                continue
            path = self.folder
            for step in steps:
                path = inside(path, step)
            if len(steps) < 3 or (len(steps) == 3 and number(steps[1]) >= 0):
                found[path] = info.size
        return found


def _is_whole(path: Path, size: int, keep_ours: bool) -> bool:
    """Whether a file of the mirror need not be fetched: one of a checkpoint never changes once it has its ``size``."""
    if number(path.parent.name) >= 0:
        return path.is_file() and path.stat().st_size == size
    return keep_ours and _is_ours(path.name) and path.exists()


def _is_ours(name: str) -> bool:
    """Whether a file of this name is written by this program, and not by Tune or its nodes."""
    return name in {RECORD, DECISIONS, WINNER, WINNER_FILM, RESULTS, PARAMS} or name.startswith("events.")


def taken(run: RunFlags, name: str) -> bool:
    """Whether there is an experiment of this name, here or at the storage path's URI."""
    folder = run.folder.absolute() / name
    return os.path.lexists(folder) or bool(run.uri and Remote(run.uri, folder).exists())


def find(run: RunFlags, name: str, learner: str) -> Path:
    """The folder of an experiment given by name, path or URI; a mirror is fetched first. Raises ConfigError."""
    if is_uri(name):
        locate(name)  # refuses a URI that holds more than a place, such as credentials
        parts = urlsplit(name)
        path = PurePosixPath(parts.path)
        folder = inside(MIRRORS.absolute(), unquote(path.name))
        remote: Remote | None = Remote(parts._replace(path=str(path.parent)).geturl(), folder)
    elif run.uri and name == Path(name).name:
        folder = inside(MIRRORS.absolute(), name)
        remote = Remote(run.uri, folder)
    else:
        folder = find_folder(run.folder, name, learner)
        remote = Remote.of(folder)
    if remote:
        remote.fetch()
    return find_folder(run.folder, str(folder), learner)
