"""A report says who copied whom."""

from experiments.read.experiments import read_experiment
from experiments.record.decisions import Copy, Exchange, write_exchanges
from experiments.record.folders import EXCHANGES
from experiments.show.lineage import lineage
from tests.helpers.written_experiments import write_experiment

COPY = {"trial": 0, "donor": 1, "source": 3, "target": 4}
COPY |= {"before": {"learning_rate": 1e-3}, "settings": {"learning_rate": 8e-4}}
EXCHANGED = [
    Exchange(at=101_000, scores=[-20.5, -18.0], copies=[Copy(**COPY)]),
    Exchange(at=203_500, scores=[-17.0, -17.5], copies=[]),
]


def test_the_report_says_who_copied_whom_when_and_what_changed(tmp_path, monkeypatch, run_results):
    monkeypatch.chdir(tmp_path)
    trials = [({"seed": seed}, [-20.0, -17.0], None) for seed in (0, 1)]
    folder = write_experiment(tmp_path / "results", "bred", "pg", trials, scheduler="pbt", timesteps=1_000_000)
    write_exchanges(folder, EXCHANGED)
    status, _, _ = run_results("report", "bred", "--out", "bred.html")
    assert status == 0
    text = (tmp_path / "bred.md").read_text(encoding="utf-8").replace("\N{MINUS SIGN}", "-")
    assert "## Who copied whom in `bred`" in text
    assert "Trials were compared 2 times, the last time after 203,500 agent steps." in text
    assert "| after | trial | return | copied | its return | learning_rate |" in text
    assert "| 101,000 | `00000` | -20.5 | 00001 | -18.0 | 1e-3 to 8e-4 |" in text


def test_without_a_copy_the_report_says_so_and_without_an_exchange_nothing(tmp_path):
    folder = write_experiment(tmp_path, "bred", "pg", [({}, [-20.0], None)], scheduler="pbt")
    write_exchanges(folder, EXCHANGED[1:])
    assert "No trial had another one of its architecture that was better." in lineage(read_experiment(folder))
    (folder / EXCHANGES).unlink()
    assert lineage(read_experiment(folder)) == ""


def test_a_damaged_file_of_exchanges_ends_the_report_with_one_line(tmp_path, run_results):
    folder = write_experiment(tmp_path, "bred", "pg", [({}, [-20.0], None)], scheduler="pbt")
    (folder / EXCHANGES).write_text('[{"at": 1}]', encoding="utf-8")
    status, _, error = run_results("report", str(folder))
    assert status == 2
    assert "exchanges.json is damaged" in error
