"""Frames of experiments, the page that explains them, and the files that hold them."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import read
from experiments.show.outputs import to_bytes
from tests.helpers.trials import CARTPOLE, serial
from tests.helpers.written_experiments import change_rows, rows, write_experiment, write_rows
from trainables.checks import ConfigError
from trainables.trainable import PongTRPO

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "python.md").read_text(encoding="utf-8")
TRIALS = [
    ({"learning_rate": rate, "seed": seed}, [-20.0, -19.0 + seed, -18.0 + 1000 * rate + seed], None)
    for rate in (1e-3, 3e-3)
    for seed in (0, 1)
]


@pytest.fixture
def rates(tmp_path):
    return write_experiment(tmp_path / "results", "rates", "pg", TRIALS)


def test_the_pages_code_runs_as_it_stands(rates, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks, names = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL), {}
    assert len(blocks) == 4
    assert len([line for line in blocks[0].splitlines() if line]) == 3
    for block in blocks:
        exec(block, names)
    assert names["rows"]["episode_score"].tolist() == [value for _, returns, _ in TRIALS for value in returns]
    assert names["curves"].shape == (3, 4)
    assert len(names["trials"]) == 4
    assert len(names["windows"]) == 0, "of 3,000 steps"
    assert "Estimate(value=2.0, low=2.0, high=2.0)" in capsys.readouterr().out


def test_every_column_is_explained(rates):
    """Of a real trial's rows too: the page names each, or its family."""
    result = serial(PongTRPO)(config=CARTPOLE).train()
    row = {name: value for name, value in result.items() if name != "config"}
    write_rows(next(rates.glob("00000*")), [row])
    frames = read.experiment(rates)
    columns_text = (DOCS / "reference.md").read_text(encoding="utf-8").partition("## Metrics and columns")[2]
    spans = set(re.findall(r"`([^`\n]+)`", columns_text))
    for frame in (frames.trials(), frames.rows(), frames.windows(1000)):
        for column in frame:
            family = column.partition("/")[0] + "/"
            assert column in spans or family in spans or column.startswith("config/"), column
    columns = set(frames.rows())
    assert {"episode_score", "policy/kl", "perf/rollout_s", "config/gamma", "config/seed"} <= columns
    unread = {span for span in spans if span in row} - columns
    assert not unread, "the page explains what frames leave out"


def test_frames_say_what_the_files_say(rates):
    frames = read.experiment("rates", storage_path=rates.parent)
    trials, windows = frames.trials(), frames.windows(1000)
    assert trials["config/seed"].tolist() == [0, 1, 0, 1]
    assert trials["score_last"].tolist() == [returns[-1] for _, returns, _ in TRIALS]
    assert trials["state"].tolist() == ["stopped"] * 4, "before their budget was spent"
    assert windows["window_end"].tolist() == [1000, 2000, 3000] * 4
    np.testing.assert_allclose(windows["return_mean"], [value for _, returns, _ in TRIALS for value in returns])
    np.testing.assert_allclose(windows["games"], 2)
    assert windows["time_total_s"].tolist() == [2, 4, 6] * 4
    trial = next(rates.glob("00000*"))
    write_rows(trial, rows(trial)[1:])
    assert read.experiment(rates).trials()["timesteps_before"].tolist() == [1000, 0, 0, 0], "as of a fork"


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_file_has_every_digit(rates, kind):
    path = next(rates.glob("00001*")) / "result.json"
    path.write_text(path.read_text().replace("-18.0", "-17.123456789012345"))
    frame = read.experiment(rates).rows()
    content = io.BytesIO(to_bytes(frame, kind))
    if kind == "csv":
        again = pd.read_csv(content)
    elif kind == "json":
        again = pd.DataFrame(json.load(content))
    else:
        again = pd.read_parquet(content)
    pd.testing.assert_frame_equal(again, frame, check_exact=True)


def test_missing_values_and_experiments_of_two_learners(rates, tmp_path):
    write_experiment(rates.parent, "second", "trpo", [({}, [], "running")])
    trials = read.experiment("rates", "second", storage_path=rates.parent).trials()
    assert trials["config/max_kl"].isna().tolist() == [True] * 4 + [False]
    last = json.loads(to_bytes(trials, "json"))[-1]
    assert (last["score_last"], last["config/clip"], last["state"]) == (None, None, "interrupted")
    assert to_bytes(trials, "csv").decode().splitlines()[-1].startswith("second,00000_seed=0,0,trpo,interrupted,")
    assert len(pd.read_parquet(io.BytesIO(to_bytes(trials, "parquet")))) == 5


def test_what_no_program_of_ours_writes_stays_out_or_becomes_text(rates):
    trial = next(rates.glob("00000*"))
    played = rows(trial)
    played[0] |= {"huge": 10**30, "deep": {"a": [1]}, "text": "=cmd()", "mixed": np.inf}
    played[1] |= {"mixed": True, "huge": 0.5}
    write_rows(trial, played)
    frame = read.experiment(rates).rows()
    assert frame["huge"].tolist()[:2] == [1e30, 0.5]
    assert frame["mixed"].tolist()[:2] == [np.inf, 1.0]
    assert not {"deep", "text"} & set(frame)
    assert json.loads(to_bytes(frame, "json"))[0]["mixed"] is None, "JSON has no notation for what is infinite"
    assert "inf" in to_bytes(frame, "csv").decode()
    assert to_bytes(frame, "parquet")
    change_rows(trial, **{f"x{number}": 1 for number in range(2000)})
    with pytest.raises(ConfigError, match="metrics and settings: accepted are up to 1,000"):
        read.experiment(rates).rows()


def test_tables_without_rows_have_a_header(rates, tmp_path):
    frame = read.experiment(rates).windows()
    assert len(frame) == 0, "runs that are too short for a window"
    assert [*frame.columns[:6]] == ["experiment", "trial", "configuration", "learner", "window_end", "return_mean"]
    folder = write_experiment(tmp_path, "new", "pg", [({}, [], "running")])
    assert to_bytes(read.experiment(folder).rows(), "csv") == b"experiment,trial,configuration,learner\n"
