"""How much an order says by its agent steps, wherever one is shown, and nowhere else."""

import math
import re

import pytest

from experiments.analysis.rank_correlation import LUCK_BEFORE, WITH_THE_END, order_says, shown_order_says
from experiments.disk.decisions import RULE, Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.show.report import report
from experiments.show.summary import summarise
from tests.helpers.programs import ROOT
from tests.helpers.written_experiments import longer, write_experiment

LUCK = "is luck: its rank correlation with the order after a million is 0.16 or less (docs/schedulers.md)."
PONG = "ALE/Pong-v5"
PAGE = (ROOT / "docs" / "schedulers.md").read_text("utf-8")
FIGURE = r"(-?\d\.\d\d) \((-?\d\.\d\d to -?\d\.\d\d)\)"


def correlations(steps):
    """The rank correlations in each line of the page's tables that is of so many agent steps."""
    lines = re.findall(rf"^\| {steps / 1e6:g} M \|.*$", PAGE, re.MULTILINE)
    return [[float(r) for r, _ in re.findall(FIGURE, line)] for line in lines if re.search(FIGURE, line)]


def test_what_is_said_of_an_order_is_what_the_page_has():
    for steps, least, greatest in WITH_THE_END:
        of_score = [figures[0] for figures in correlations(steps) if len(figures) == 6]
        assert (len(of_score), min(of_score), max(of_score)) == (3, least, greatest)
    earlier = [figures for steps in (77_000, 100_000, 150_000) for figures in correlations(steps)]
    assert max(map(max, earlier)) == 0.16
    assert min(map(min, correlations(LUCK_BEFORE))) > 0.16


def test_the_page_s_intervals_follow_from_its_correlations_and_numbers_of_trials():
    numbers, seen = [], 0
    for line in PAGE.splitlines():
        numbers = [int(n) for n in re.findall(r"n = (\d+)", line)] or numbers
        if not line.startswith("| "):
            continue
        for column, (r, interval) in enumerate(re.findall(FIGURE, line)):
            middle, half = math.atanh(float(r)), 1.96 * math.sqrt(1.06 / (numbers[min(column, len(numbers) - 1)] - 3))
            assert interval == f"{math.tanh(middle - half):z.2f} to {math.tanh(middle + half):z.2f}", line
            seen += 1
    assert seen == 104


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (131_072, f"In Pong an order after 131,072 agent steps {LUCK}"),
        (299_999, "an order after 299,999 agent steps with the order after a million is about 0.4"),
        (300_000, "an order after 300,000 agent steps with the order at the end is 0.27 to 0.41"),
        (749_999, "an order after 749,999 agent steps with the order at the end is 0.33 to 0.67"),
        (1_000_000, "an order after 1,000,000 agent steps with the order at the end is 0.53 to 0.72"),
    ],
)
def test_an_order_says_what_recorded_trials_said_by_as_many_steps(steps, said):
    assert said in order_says(steps, PONG)


@pytest.mark.parametrize(("steps", "env_id"), [(1_000_001, PONG), (1000, "CartPole-v1"), (1000, "unknown")])
def test_where_nothing_is_known_nothing_is_said(steps, env_id):
    assert order_says(steps, env_id) == ""


def read(storage, name, trials, times=1, **record):
    folder = write_experiment(storage, name, "pg", trials, **record)
    longer(folder, times)
    return read_experiment(folder, running=False)


def two(*returns):
    return [({"gamma": 0.9 + i / 100}, curve, None) for i, curve in enumerate(returns)]


def test_an_order_is_that_of_the_run_with_the_fewest_steps_but_for_those_that_fell(tmp_path):
    sweep = read(tmp_path, "sweep", two([-20.0, -19.0], [-20.0]), times=50)
    assert "after 50,000 agent steps" in shown_order_says([sweep])
    failed = read(tmp_path, "failed", [*two([-20.0, -19.0], [-20.0, -18.0]), ({}, [-20.0], "boom")], times=50)
    assert "after 100,000 agent steps" in shown_order_says([failed])
    assert "after 100,000 agent steps" in shown_order_says([sweep, failed]), "of each its best one"
    single = read(tmp_path, "single", two([-20.0]))
    assert shown_order_says([single]) == ""
    assert "after 1,000 agent steps" in shown_order_says([single, failed])


def test_the_order_of_a_halved_sweep_is_that_of_its_last_comparison(tmp_path, capsys):
    record = {"scheduler": "halving", "rungs": [2000, 4000], "iterations": None, "timesteps": 4000, "ended": "all done"}
    folder = write_experiment(tmp_path, "halved", "pg", two([-20.0, -19.0, -18.0, -17.0], [-21.0, -20.0]), **record)
    write_decisions(folder, [Decision(at=2000, scores=[-19.0, -20.0], kept=[0], rule=RULE)])
    summarise(read_experiment(folder, running=False))
    assert "In Pong an order after 2,000 agent steps is luck" in " ".join(capsys.readouterr().out.split())


def test_a_report_draws_no_effects_of_settings_where_the_order_is_luck(tmp_path):
    trials = two([-20.0], [-19.0], [-18.0])
    early, late = read(tmp_path, "early", trials), read(tmp_path, "late", trials, times=300)
    page = report([early])
    assert f"In Pong an order after 1,000 agent steps {LUCK} So no effects of settings are drawn." in page.text
    assert not [name for name in page.pictures if "effects" in name]
    page = report([late])
    assert "an order after 300,000 agent steps with the order at the end is 0.27 to 0.41" in page.text
    assert [name for name in page.pictures if "effects" in name]
