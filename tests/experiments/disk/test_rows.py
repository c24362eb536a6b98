"""The rows of a trial's file, whatever has become of it."""

import json

import pytest

from experiments.disk.rows import read_rows


def row(iteration, value=0.0, **more):
    return {"training_iteration": iteration, "timesteps_total": 10, "episode_score": value} | more


WHOLE = [json.dumps(row(i)) for i in range(1, 12)]
FILES = {
    "in order": WHOLE,
    "played again from an older checkpoint": [*WHOLE, json.dumps(row(9, 1.0)), json.dumps(row(10, 1.0))],
    "the last one again": [*WHOLE, json.dumps(row(11, 1.0))],
    "cut off after its iteration": [*WHOLE, json.dumps(row(12))[:-5]],
    "cut off before": [*WHOLE, '{"training_it'],
    "rows that are none": ["[]", '{"training_iteration": 99}', *WHOLE, json.dumps(row(12, "high"))],
    "another iteration in it": [json.dumps(row(3, config={"training_iteration": 50})), *WHOLE[:2]],
    "another iteration in it alone": [*WHOLE, json.dumps({"config": row(50)})],
    "no whole number": [*WHOLE, json.dumps(row(50.0)), json.dumps(row("50")), json.dumps(row(10**15))],
    "other spelling": [*WHOLE, json.dumps(row(50)).replace("training_it", "training\\u005fit")],
    "blanks": [*WHOLE, "", json.dumps(row(50)).replace(": 50", " :\t50 ")],
    "nothing": [],
    "no row": ["x", "{}"],
}


@pytest.mark.parametrize("file", FILES)
def test_the_last_row_is_that_of_the_highest_iteration_whether_the_others_are_read_before_or_after(file, tmp_path):
    path = tmp_path / "result.json"
    path.write_text("\n".join(FILES[file]), encoding="utf-8")
    whole = [*read_rows(path)]
    first = read_rows(path)
    assert bool(first) == bool(whole)
    if whole:
        assert first[-1] == whole[-1]
    assert [*first] == whole
    assert [each["training_iteration"] for each in whole] == sorted({each["training_iteration"] for each in whole})
