"""``experiment.json``: what is written is read, what is damaged is refused, and each program has its own folder."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest

from experiments.ask.budget import Budget
from experiments.disk import spec
from experiments.disk.folders import RECORD, existing
from experiments.disk.spec import ExperimentSpec, Limits, create, find, members
from tests.helpers.written_experiments import forked_from
from trainables.checks import ConfigError

SPEC = ExperimentSpec(
    learner="pg",
    command=["sweep_pong.py"],
    iterations=4,
    swept=["gamma"],
    configs=[{"gamma": 0.9, "placement": "pack"}, {"gamma": 1.0}],
    checkpoint_frequency=1,
    interval=1,
)


def test_what_is_written_is_read_back_with_its_origin(tmp_path):
    before = datetime.now(UTC).replace(microsecond=0)
    spec = SPEC.but(
        extended=[Limits(iterations=2), Limits(iterations=3)],
        fork_of=forked_from("x", ({}, 1), ({}, 2)),
        time_budget_s=1.5,
    )
    found = ExperimentSpec.read(create(tmp_path, "first", spec))
    assert found.but(origin=spec.origin) == spec
    assert found.budget == Budget(4)
    assert before <= datetime.fromisoformat(found.origin.started) <= datetime.now(UTC)
    assert found.origin.versions["numpy"] == np.__version__
    assert found.origin.platform
    assert found.origin.python
    assert found.origin.cpus
    assert found.origin.git is None or len(found.origin.git.revision) == 40


@pytest.mark.parametrize(
    "change",
    [
        {"iterations": "many"},
        {"iterations": -1},
        {"iterations": None},
        {"iterations": True},
        {"configs": [["x"]]},
        {"configs": [{"gamma": [1]}]},
        {"configs": [{"gamma": float("nan")}]},
        {"command": [1]},
        {"extended": 3},
        {"confirms": "../other"},
        {"origin": {"versions": []}},
        {"origin": {"git": "x"}},
        {"origin": {"started": 5}},
        {"storage_uri": "elsewhere"},
        {"configuration_of": "0"},
        {"configuration_of": [0, 0, 0]},
        *({"configuration_of": wrong} for wrong in ([0], [1, 1], [1, 2], [0, 2], [1, 0], [])),
        {"scheduler": "halving", "rungs": [2, 2, 4]},
        {"stranger": 1},
        {"fork_of": {"name": "other", "starts": [{}]}},
        {"fork_of": {"name": "other", "starts": []}},
        {"fork_of": forked_from("../elsewhere", ({}, 1), ({}, 1)).model_dump()},
    ],
)
def test_an_entry_of_a_wrong_type_is_named_in_one_line(change, tmp_path):
    folder = create(tmp_path, "first", SPEC)
    (folder / RECORD).write_text(json.dumps(json.loads((folder / RECORD).read_text()) | change))
    with pytest.raises(ConfigError, match=rf"experiment\.json is damaged: .*{[*change][-1]}") as caught:
        ExperimentSpec.read(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [("evil", "unknown scheduler 'evil'"), ("pbt", r"Ray Tune's own, .*docs/library\.md")],
)
def test_an_experiment_of_a_scheduler_that_there_is_not_is_refused_in_one_line(scheduler, said, tmp_path):
    folder = create(tmp_path, "first", SPEC.but(scheduler=scheduler))
    with pytest.raises(ConfigError, match=rf"experiment\.json: .*{said}") as caught:
        ExperimentSpec.read(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", '{"a":', '{"a":' * 100_000, "[]", '{"learner": "pg"}'])
def test_what_is_no_specification_is_refused(text, tmp_path):
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(ConfigError, match=r"experiment\.json is damaged"):
        ExperimentSpec.read(tmp_path)


def test_programs_that_begin_in_one_second_have_each_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "strftime", lambda form: "20261124-031500")
    with ThreadPoolExecutor(8) as threads:
        made = [*threads.map(lambda _: create(tmp_path, None, SPEC), range(8))]
    assert len({*made}) == 8
    assert existing(tmp_path) == sorted(folder.name for folder in made)
    assert "pg-20261124-031500-2" in existing(tmp_path)


def test_a_name_that_is_taken_is_refused_and_what_lies_there_stays(tmp_path):
    folder = create(tmp_path, "mine", SPEC)
    before = (folder / RECORD).read_bytes()
    with pytest.raises(ConfigError, match=r"--name 'mine' exists already .* --resume mine continues it"):
        create(tmp_path, "mine", SPEC)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="--name 'link' exists already"):
        create(tmp_path, "link", SPEC)
    assert (folder / RECORD).read_bytes() == before


def test_what_cannot_be_recorded_leaves_no_folder(tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spec, "replace_text", full)
    with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
        create(tmp_path, "mine", SPEC)
    assert [*tmp_path.iterdir()] == []


def test_an_experiment_is_found_by_name_or_path_and_only_for_its_learner(tmp_path):
    folder = create(tmp_path, "first", SPEC)
    assert find(tmp_path, "first") == find(tmp_path / "elsewhere", str(folder), "pg") == folder
    with pytest.raises(ConfigError, match="is an experiment of 'pg', not of 'trpo'"):
        find(tmp_path, "first", "trpo")
    with pytest.raises(ConfigError, match="unknown experiment 'frist'; did you mean 'first'"):
        find(tmp_path, "frist")


def test_without_seeds_each_trial_is_a_configuration():
    assert members([0, 0, 1], 3) == [[0, 1], [2]]
    assert members(None, 2) == [[0], [1]]
