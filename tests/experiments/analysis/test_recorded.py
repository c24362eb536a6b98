"""What of rows, states and arrays is compared, and how the first difference is named."""

import numpy as np
import pytest

from experiments.analysis.contradictions import contradictions
from experiments.analysis.recorded import NOT_COMPARED, compare_arrays, compare_rows, recorded
from experiments.disk import states
from experiments.disk.decisions import RULE, Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.restored import restore
from experiments.disk.states import State, state_of
from tests.helpers.written_experiments import forget, write_experiment, write_policies
from trainables.checks import ConfigError
from trainables.config import PGConfig

ROW = {"episode_score": -20.5, "policy/kl": 0.1 + 0.2, "done": False, "config": PGConfig().to_dict()}


def test_what_is_not_compared_are_times_places_and_who_ended_a_trial():
    assert sorted(NOT_COMPARED) == [
        *("date", "done", "hostname", "iterations_since_restore", "node_ip", "pid", "time_since_restore"),
        *("time_this_iter_s", "time_total_s", "timestamp", "timesteps_since_restore", "trial_id"),
    ]
    faster = ROW["config"] | {"num_workers": 7, "cpus_per_worker": 0.5, "placement": "spread", "game_timeout_s": 1.0}
    apart = dict.fromkeys(NOT_COMPARED, 1) | {"perf/update_s": 2.0, "config": faster}
    assert compare_rows(ROW, ROW | apart) is None
    fewer = {name: value for name, value in ROW["config"].items() if name != "gamma"}
    assert compare_rows(ROW | {"config": fewer}, ROW) is None, "a setting that came later has its default"


@pytest.mark.parametrize(("config", "shown"), [("settings", '"settings"'), ([], "[]"), (None, "null")])
def test_settings_that_are_none_are_another_result(config, shown):
    assert compare_rows(ROW | {"config": config}, ROW) == f"config: recorded {shown}, recomputed nothing"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy/kl": 0.3}, "policy/kl: recorded 0.30000000000000004, recomputed 0.3"),
        ({"episode_score": 20.5}, "episode_score: recorded -20.5, recomputed 20.5"),
        ({"config": PGConfig(gamma=0.9).to_dict()}, "config.gamma: recorded 0.99, recomputed 0.9"),
        ({"a_field_to_come": 1}, "a_field_to_come: recorded nothing, recomputed 1"),
    ],
)
def test_every_other_field_is_compared_also_one_that_nobody_knows_yet(change, said):
    assert compare_rows(ROW, ROW | change) == said
    assert compare_rows(ROW | change, ROW)


def test_the_row_of_a_trial_that_diverged_has_the_worst_return_and_its_checkpoint_those_of_games(tmp_path):
    folder = write_experiment(tmp_path, "diverged", "pg", [({}, [-21.0], "running")])
    (rows,) = folder.glob("0*/result.json")
    write_policies(rows.parent, "pg", {1: -19})
    counted = rows.read_text().replace('"done": false', '"episodes_total": 0, "done": true')
    for text, wrong in ((counted, 1), (counted.replace('"done"', '"diverged": 1, "done"'), 0)):
        rows.write_text(text)
        experiment = read_experiment(folder)
        assert len(recorded(experiment, experiment.trials[0]).wrong) == wrong


def test_what_a_failure_is_worth_changes_nothing_that_must_be_there(tmp_path, monkeypatch):
    """If a trial that failed late counted as finished, its score and its last checkpoint would still not be there."""
    curves = [([-20.0] * 2, "boom"), ([-20.0] * 3, None)]
    trials = [({"seed": seed}, curve, ending) for seed, (curve, ending) in enumerate(curves)]
    record = {"scheduler": "halving", "rungs": [2, 3], "iterations": 3, "keep_checkpoints": 0, "ended": "all done"}
    folder = write_experiment(tmp_path, "late", "pg", trials, **record)
    write_decisions(folder, [Decision(at=2, scores=[None, -20.0], kept=[1], rule=RULE)])
    for number, saved in ((0, 1), (1, 3)):
        (rows,) = folder.glob(f"{number:05d}*/result.json")
        rows.write_text(rows.read_text().replace('"done"', '"episodes_total": 0, "done"'))
        write_policies(rows.parent, "pg", dict.fromkeys(range(1, saved + 1), -20.0))
    decided = state_of

    def late_is_finished(facts):
        return State.FINISHED if facts.broke and facts.share > 0.5 else decided(facts)

    for rule, state in ((decided, State.FAILED), (late_is_finished, State.FINISHED)):
        monkeypatch.setattr(states, "state_of", rule)
        experiment = read_experiment(folder, running=False)
        assert experiment.trials[0].state == state
        assert contradictions(experiment) == []
        assert [recorded(experiment, trial).wrong for trial in experiment.trials] == [[], []]


FILES = ("experiment.json", "params.json", "state.json")


@pytest.mark.parametrize("files", [FILES, *([name] for name in FILES)])
def test_a_setting_that_came_later_makes_nothing_different_and_a_trial_goes_on_with_its_default(files, tmp_path):
    folder = write_experiment(tmp_path, "older", "pg", [({"gamma": 0.9}, [-20.0] * 3, "running")])
    (rows,) = folder.glob("0*/result.json")
    rows.write_text(rows.read_text().replace('"done"', '"episodes_total": 0, "done"'))
    write_policies(rows.parent, "pg", {3: -20})
    whole = read_experiment(folder).trials[0].config
    forget(folder, "clip", "optimiser", files=files)
    experiment = read_experiment(folder, running=False)
    assert (contradictions(experiment), recorded(experiment, experiment.trials[0]).wrong) == ([], [])
    restored = restore(folder, experiment.spec)["00000"]
    assert (restored.trial.config, restored.iteration) == (whole, 3)
    forget(folder, "gamma", files=["params.json"])
    with pytest.raises(ConfigError, match=r"gamma=0\.99 for 0\.9"):
        restore(folder, experiment.spec)


def test_arrays_are_compared_bit_by_bit():
    old = {"theta": np.array([[1.0, 0.0], [3.0, 4.0]], np.float32), "count": np.array(3)}
    assert compare_arrays(old, {name: array.copy() for name, array in old.items()}) is None
    new = old | {"theta": np.array([[1.0, -0.0], [3.0, 5.0]], np.float32)}
    assert compare_arrays(old, new) == "theta[0, 1], and 1 more of its 4 values: recorded 0.0, recomputed -0.0"
    assert compare_arrays(old, {"theta": old["theta"]}) == "count: recorded int64(), recomputed nothing"
    wide = old | {"theta": old["theta"].astype(float)}
    assert compare_arrays(old, wide) == "theta: recorded float32(2, 2), recomputed float64(2, 2)"
    more = old | {"count": np.array(4)}
    assert compare_arrays(old, more) == "count[], and 0 more of its 1 values: recorded 3, recomputed 4"
