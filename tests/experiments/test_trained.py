"""The policies that come along, to be watched: they win."""

import re
import sys

import pytest

from experiments import watch

pytestmark = pytest.mark.ray  # whole programs, which play for seconds


@pytest.mark.parametrize("learner", ["pg", "trpo"])
def test_the_policies_that_come_along_win(learner, monkeypatch, capsys, tmp_path, request):
    policy = request.path.parents[1] / "data" / "trained" / learner
    out = tmp_path / "film.gif"
    monkeypatch.setattr(sys, "argv", ["watch.py", str(policy), "--episodes", "1", "--out", str(out)])
    watch.main()
    assert float(re.search(r"return (\S+) in", capsys.readouterr().out)[1]) >= 10
    assert out.stat().st_size > 10_000
