"""Texts that nobody vouches for, and files that are replaced whole."""

import contextlib
import errno
import json
import os
import stat

import pytest

from trainables.files import replace_text
from trainables.texts import parse_json, printable, read_text


def test_what_a_terminal_would_obey_is_gone_from_texts_of_json():
    nasty = {"a\x1b]0;x\x07": ["\x9b31m", {"b": "\u202e"}], "c": "\ud800"}
    assert parse_json(json.dumps(nasty)) == {"a?]0;x?": ["?31m", {"b": "?"}], "c": "?"}
    assert parse_json('["<b>", "\\u00e4", "\\u2603"]') == ["<b>", "\u00e4", "\u2603"]
    assert printable("a\tb") == "a?b"


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"a":' * 100_000, "9" * 50, "[" + "1" * 5000 + "]", b"\xff\xfe"]
)
def test_what_is_no_json_is_a_value_error_and_nothing_else(text):
    with pytest.raises(ValueError, match=r".|"):
        parse_json(text)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "nowhere", os.devnull):
        with pytest.raises(OSError, match=r"no file|No such file"):
            read_text(path)


def test_only_so_much_of_a_file_is_read(tmp_path):
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 10**13)
    assert len(read_text(tmp_path / "sparse", 1000)) == 1000


def test_a_link_where_a_temporary_file_goes_is_replaced_and_not_written_through(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "record.tmp").symlink_to(tmp_path / "precious")
    replace_text(tmp_path / "record", "new")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "record").read_text() == "new"


@pytest.mark.parametrize(("refusal", "goes_on"), [(errno.EINVAL, True), (errno.ENOSYS, True), (errno.EIO, False)])
def test_a_file_system_that_flushes_no_folder_holds_files_all_the_same(tmp_path, monkeypatch, refusal, goes_on):
    """CIFS, FUSE and others; a disk that fails is another thing."""
    flushed = os.fsync

    def of_files_alone(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(refusal, os.strerror(refusal))
        flushed(descriptor)

    monkeypatch.setattr(os, "fsync", of_files_alone)
    with contextlib.nullcontext() if goes_on else pytest.raises(OSError, match=os.strerror(refusal)):
        replace_text(tmp_path / "record", "new")
    assert (tmp_path / "record").read_text() == "new"
