"""The file that says who copied whom."""

import json
import re

import pytest

from experiments.record.exchanges import EXCHANGES, Copy, Exchange, read_exchanges, write_exchanges
from trainables.checks import ConfigError

FIRST = Exchange(100, [-20.5, None, -18.0], [Copy(0, 2, 3, 4, {"gamma": 0.98}, {"gamma": 0.99})])


def test_what_is_written_is_read(tmp_path):
    assert read_exchanges(tmp_path) == []
    write_exchanges(tmp_path, [FIRST, Exchange(200, [-19.0, None, -17.0], [])])
    assert read_exchanges(tmp_path) == [FIRST, Exchange(200, [-19.0, None, -17.0], [])]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: '{"at": 1}',
        lambda text: "[" * 100_000,
        lambda text: text.replace('"at": 100', '"at": 1e999'),
        lambda text: text.replace('"donor": 2', '"donor": 3'),
        lambda text: text.replace('"donor": 2', '"donor": "../../elsewhere"'),
        lambda text: text.replace('"gamma": 0.99', '"gamma": NaN'),
        lambda text: re.sub(r'"scores": \[\s*[^,]*,', '"scores": [NaN,', text),
        lambda text: text.replace('"gamma": 0.99', '"gamma": "<img>"'),
        lambda text: text.replace('"scores"', '"Scores"'),
        lambda text: json.dumps([[1, 2]]),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(damage, tmp_path):
    write_exchanges(tmp_path, [FIRST])
    text = (tmp_path / EXCHANGES).read_text(encoding="utf-8")
    assert damage(text) != text
    (tmp_path / EXCHANGES).write_text(damage(text), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"exchanges\.json is damaged") as caught:
        read_exchanges(tmp_path)
    assert "\n" not in str(caught.value)
