"""Types of what ``experiment.json`` says."""

import json
from typing import Any, Literal

import pytest

from experiments.record.folders import RECORD
from experiments.record.sound import matches
from experiments.record.spec import ExperimentSpec, sound_record
from tests.helpers.written_experiments import write_experiment
from trainables.checks import ConfigError


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [0, 10**30], [-1, True, 1.5, "1", None]),
        (float, [0, 0.5], [float("nan"), float("inf"), True, "1"]),
        (str, ["", "x"], [1, None, ["x"]]),
        (int | None, [None, 1], ["x", -1]),
        (list[str], [[], ["x"]], ["x", [1], {"x": 1}]),
        (dict[str, list[int]], [{}, {"a": [1]}], [[], {"a": 1}, {"a": ["x"]}]),
        (Literal["asha", "fifo"], ["asha"], ["x", None, []]),
        (Any, [None, [{}]], []),
    ],
)
def test_a_value_of_json_is_of_a_declared_type_or_not(hint, good, bad):
    assert all(matches(value, hint) for value in good)
    assert not any(matches(value, hint) for value in bad)


@pytest.mark.parametrize(
    "change",
    [
        {"iterations": "many"},
        {"configs": [["x"]]},
        {"configs": [{"gamma": [1]}]},
        {"command": [1]},
        {"extended": 3},
        {"confirm": {"best": 1}},
        {"confirms": "../other"},
        {"scheduler": "evil"},
        {"versions": []},
        {"git": "x"},
        {"started": 5},
        {"configuration_of": "0"},
        {"configuration_of": [0, 0]},
        {"configuration_of": [1]},
    ],
)
def test_a_record_of_wrong_types_is_damaged_in_one_line(change, tmp_path):
    folder = write_experiment(tmp_path, "first", "pg", [({}, [-20], None)])
    (folder / RECORD).write_text(json.dumps(json.loads((folder / RECORD).read_text()) | change))
    for read in (sound_record, ExperimentSpec.read):
        with pytest.raises(ConfigError, match=rf"experiment\.json is damaged: {next(iter(change))}="):
            read(folder)


def test_nested_json_was_a_recursion_error(tmp_path):
    folder = write_experiment(tmp_path, "first", "pg", [({}, [-20], None)])
    (folder / RECORD).write_text('{"a":' * 100_000)
    with pytest.raises(ConfigError, match="not valid JSON"):
        ExperimentSpec.read(folder)
