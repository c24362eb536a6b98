"""The file of what was decided at rungs."""

import json

import pytest

from experiments.record.decisions import DECISIONS, Decision, dropped, passed, read_decisions, write_decisions
from trainables.checks import ConfigError

TWO = [Decision(2, [1.0, 3.0, None, 2.0], [1, 3]), Decision(8, [None, 3.0, None, 4.0], [3])]


def test_what_was_decided_is_read_back(tmp_path):
    assert read_decisions(tmp_path) == []
    write_decisions(tmp_path, TWO)
    assert read_decisions(tmp_path) == TWO
    assert [passed(TWO, number) for number in range(4)] == [0, 1, 0, 2]
    assert passed(TWO[::-1], 1) == 0, "who was stopped does not come back"
    assert [dropped(TWO, number) for number in range(4)] == [TWO[0], TWO[1], TWO[0], None]


@pytest.mark.parametrize(
    "damage",
    [
        "no JSON",
        "{}",
        "[3]",
        json.dumps([{"at": 2, "scores": [1.0], "kept": [1]}]),
        json.dumps([{"at": 2, "scores": [None], "kept": [0]}]),
        json.dumps([{"at": 2, "scores": [1.0], "kept": []}]),
        json.dumps([{"at": 2, "scores": ["x"], "kept": [0]}]),
        '[{"at": 2, "scores": [1e999], "kept": [0]}]',
        json.dumps([{"at": 2, "scores": [1.0]}]),
    ],
)
def test_damage_is_named(tmp_path, damage):
    (tmp_path / DECISIONS).write_text(damage)
    with pytest.raises(ConfigError, match=r"rungs\.json is damaged"):
        read_decisions(tmp_path)
