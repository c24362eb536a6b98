"""New experiments' folders: each program has its own, and what cannot be recorded leaves nothing."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from experiments.record import folders
from experiments.record.spec import ExperimentSpec
from trainables.checks import ConfigError

SPEC = ExperimentSpec("pg", ["train.py"], 1, [], [{}], checkpoint_frequency=1, interval=1).to_dict()


def test_of_programs_that_began_in_one_second_all_but_one_ended_in_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "strftime", lambda form: "20261124-031500")
    with ThreadPoolExecutor(8) as threads:
        made = [*threads.map(lambda _: folders.create(tmp_path, None, "pg", SPEC), range(8))]
    assert len({*made}) == 8
    assert folders.existing(tmp_path) == sorted(folder.name for folder in made)
    assert "pg-20261124-031500-2" in folders.existing(tmp_path)


def test_a_name_that_is_taken_is_refused_and_what_lies_there_stays(tmp_path):
    folder = folders.create(tmp_path, "mine", "pg", SPEC)
    before = (folder / folders.RECORD).read_bytes()
    with pytest.raises(ConfigError, match=r"--name 'mine' exists already .* --resume mine continues it"):
        folders.create(tmp_path, "mine", "pg", SPEC)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="--name 'link' exists already"):
        folders.create(tmp_path, "link", "pg", SPEC)
    assert (folder / folders.RECORD).read_bytes() == before


def test_a_record_that_could_not_be_written_left_a_folder_of_its_name(tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "replace_text", full)
    with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
        folders.create(tmp_path, "mine", "pg", SPEC)
    assert [*tmp_path.iterdir()] == []
