"""Two programs never write one experiment."""

import errno
import fcntl
from types import SimpleNamespace

import pytest

from experiments.disk import lock
from experiments.disk.lock import exclusive, is_held
from trainables.checks import ConfigError


def test_a_second_program_is_refused_while_the_first_runs_and_let_in_afterwards(tmp_path):
    with exclusive(tmp_path):
        assert is_held(tmp_path)
        with pytest.raises(ConfigError, match="in use by another program"), exclusive(tmp_path):
            pass
    assert not is_held(tmp_path)


def test_a_program_that_only_looks_keeps_no_other_one_from_beginning(tmp_path, monkeypatch):
    with exclusive(tmp_path):
        pass
    with (tmp_path / ".lock").open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)  # as is_held takes it for a moment
        gives_back = SimpleNamespace(sleep=lambda seconds: fcntl.flock(looking, fcntl.LOCK_UN))
        monkeypatch.setattr(lock, "time", gives_back)
        with exclusive(tmp_path):
            assert is_held(tmp_path)


def test_a_file_system_without_locks_is_named_and_can_be_read(tmp_path, monkeypatch):
    def lacks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", lacks)
    with pytest.raises(ConfigError, match="needs a file system that has flock"), exclusive(tmp_path):
        pass
    assert not is_held(tmp_path)
