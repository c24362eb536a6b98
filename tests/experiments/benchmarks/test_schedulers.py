"""Schedulers that are replayed do what the real ones do, and no core plays longer than it is there."""

import numpy as np
import pandas as pd
import pytest
from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, TrialScheduler

from experiments.benchmarks.curves import Curve, read_curves
from experiments.benchmarks.schedulers import SchedulersFlags, benchmark_schedulers
from experiments.benchmarks.schedules import START_S, Asha, halved, in_turn, play_round
from experiments.plan.capacity import LENT
from trainables.checks import ConfigError

RNG = np.random.default_rng(3)


def curve(*returns, core_s=1e-4):
    """A trial with so many rows of 10,000 agent steps, 1 s each."""
    return Curve(10_000.0 * np.arange(1, len(returns) + 1), np.array(returns, float), core_s)


def climbing(count):
    """Trials of a million agent steps that climb at different speeds."""
    return [curve(*np.linspace(-21, RNG.uniform(-15, 15), 100), core_s=RNG.uniform(1e-4, 2e-4)) for _ in range(count)]


def test_asha_stops_whom_ray_tunes_own_scheduler_stops():
    ray, mine = ASHAScheduler("steps", "score", "max", max_t=900, grace_period=100, reduction_factor=3), Asha(3)
    trials = [Trial("stub", stub=True) for _ in range(40)]
    for trial in trials:
        ray.on_trial_add(None, trial)
    alive = dict.fromkeys(trials, 0)
    stopped = 0
    while alive:
        trial = [*alive][RNG.integers(len(alive))]
        milestone = alive[trial]
        score = float(RNG.normal())
        theirs = ray.on_trial_result(None, trial, {"steps": (100, 300)[milestone], "score": score})
        assert mine(milestone, score) == (theirs == TrialScheduler.STOP)
        alive[trial] += 1
        if theirs == TrialScheduler.STOP or alive[trial] == 2:
            stopped += theirs == TrialScheduler.STOP
            del alive[trial]
    assert 10 < stopped < 40


@pytest.mark.parametrize("cores", [1, 2, 8])
@pytest.mark.parametrize("seconds", [3.0, 100.0, 1000.0])
def test_no_scheduler_plays_more_than_the_cores_have_time_for(cores, seconds):
    curves = climbing(9)
    outcomes = [
        in_turn(curves, cores, seconds, [1e6]),
        in_turn(curves, cores, seconds, [1e5, 3e5, 1e6], Asha(3)),
        halved(curves, cores, seconds, [77_000, 308_000, 1_000_000], [3, 1], 1),
    ]
    for outcome in outcomes:
        assert 0 <= outcome.core_s <= cores * max(0, seconds - START_S) + 1e-6
        assert (outcome.chosen is None) == (seconds < START_S)


def test_with_time_for_all_random_search_finds_the_best_and_plays_everything():
    curves = climbing(9)
    outcome = in_turn(curves, 2, 1e6, [1e6])
    assert outcome.chosen == np.argmax([each.at(1e6) for each in curves])
    assert outcome.policy == max(each.at(1e6) for each in curves)
    assert outcome.core_s == pytest.approx(sum(1e6 * each.core_s for each in curves))


def test_trials_in_turn_end_where_the_time_does():
    slow, fast = curve(*range(100), core_s=2e-4), curve(*range(50, 150), core_s=1e-4)
    outcome = in_turn([slow, fast], 1, START_S + 100, [1e6])
    assert (outcome.chosen, outcome.policy, outcome.core_s) == (0, 49.0, pytest.approx(100))
    outcome = in_turn([slow, fast], 1, START_S + 200 + START_S + 10, [1e6])
    assert (outcome.policy, outcome.core_s) == (99.0, pytest.approx(210))


def test_halving_goes_on_with_the_best_of_each_rung_and_with_nobody_else():
    early, late = [10.0] * 10 + [11.0] * 90, [0.0] * 10 + [20.0] * 90
    curves = [curve(*late), curve(*early), curve(*[1.0] * 100)]
    outcome = halved(curves, 2, 1e6, [100_000, 1_000_000], [1], 1)
    assert (outcome.chosen, outcome.policy) == (1, 11.0)
    assert outcome.core_s == pytest.approx(10 + 10 + 100)


def test_halving_begins_no_round_of_several_trials_that_would_not_fit():
    curves = climbing(9)
    first, _ = play_round([77_000 * each.core_s for each in curves], 2, np.inf, 1)
    outcome = halved(curves, 2, first + START_S + 1, [77_000, 308_000, 1_000_000], [3, 1], 1)
    assert outcome.core_s == pytest.approx(sum(77_000 * each.core_s for each in curves))
    assert outcome.policy == max(each.at(77_000) for each in curves)


def test_a_round_shares_all_cores_among_the_last_trials():
    assert play_round([10.0, 10.0], 2, np.inf, 1) == (START_S + 10, [0.0, 0.0])
    alone, _ = play_round([10.0], 4, np.inf, 8)
    assert alone == pytest.approx(START_S + 10 / (1 + 3 * LENT))
    three, _ = play_round([10.0] * 3, 2, np.inf, 2)
    assert three == pytest.approx(START_S + 10 + (START_S + 10) / (1 + LENT))
    end, left = play_round([10.0, 20.0], 2, START_S + 5, 1)
    assert (end, left) == (START_S + 20, [5.0, 15.0])


@pytest.fixture
def table(tmp_path):
    """Four configurations of two seeds, of which 2 is the best."""
    rows = [
        {
            "experiment": "e",
            "trial": f"{configuration}-{seed}",
            "configuration": configuration,
            "timesteps_total": 10_000 * row,
            "time_total_s": row * 1.0,
            "perf/workers": 1.0,
            "episode_reward_mean": None if row == 1 else -20 + row * (1 + 2 * (configuration == 2)) / 10 + seed,
        }
        for configuration in range(4)
        for seed in range(2)
        for row in range(1, 101)
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_curves_are_what_the_table_says(table):
    found = read_curves([table])
    assert [len(seeds) for seeds in found] == [2] * 4
    first, second = found[2]
    assert (first.end, first.core_s) == (1e6, pytest.approx(1e-4))
    assert (first.at(9_999), first.at(10_000), first.at(20_000)) == (-np.inf, -np.inf, pytest.approx(-19.4))
    assert second.at(2e6) == pytest.approx(11)


def test_halving_of_all_finds_the_best_settings_of_a_table(table):
    flags = SchedulersFlags(table=(table,), cores=(2,), core_minutes=(60.0,), shuffles=50)
    order, found = benchmark_schedulers(flags)
    assert order.rows[0]["the same trial"] == order.rows[-1]["the same trial"] == 1, "they climb evenly"
    by_name = {row["scheduler"]: row for row in found.rows}
    assert by_name["random 1 M"]["played"] == pytest.approx(4 * 100 / 60)
    best, once = (float(by_name[name]["settings"].split()[0]) for name in ("random 1 M", "halving 3, 1 of 3 at 0.25 M"))
    assert 11 >= best > 10 > once, "three of four do not always hold the best one"
    assert not any(name.startswith("halving 9") for name in by_name), "there are four"


def test_a_table_that_cannot_be_replayed_is_refused_in_one_line(table, tmp_path):
    frame = pd.read_parquet(table)
    frame[frame["trial"].str.endswith("0")].to_parquet(tmp_path / "one.parquet")
    with pytest.raises(ConfigError, match="configuration 0 of e has one seed: accepted is a sweep of --seeds 2"):
        read_curves([tmp_path / "one.parquet"])
    frame.drop(columns="time_total_s").to_parquet(tmp_path / "short.parquet")
    with pytest.raises(ConfigError, match=r"lacks time_total_s: accepted is what results\.py table --rows writes"):
        read_curves([tmp_path / "short.parquet"])
    (tmp_path / "none.parquet").write_text("no", encoding="utf-8")
    for name in ("none.parquet", "missing.parquet"):
        with pytest.raises(ConfigError, match=f"{name} cannot be read as Parquet"):
            read_curves([tmp_path / name])
