"""What settings do: which trials are compared, marginal means, and which settings are shown."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.show.report import report
from experiments.show.settings import (
    at_first_rung,
    comparable,
    effects_figures,
    is_range,
    marginal_means,
    short_tick,
)
from tests.helpers.written_experiments import longer, write_experiment


def test_effects_compare_trials_at_equal_steps(tmp_path):
    whole, stopped, better = [-20, -19, -18, -10], [-20, -17], [-20, -15, -5, -1]
    folder = write_experiment(
        tmp_path, "sweep", "pg", [({"seed": i}, returns, None) for i, returns in enumerate((whole, stopped, better))]
    )
    young = write_experiment(tmp_path, "more", "pg", [({}, [-21], "running"), ({"seed": 1}, [-19, -16, -9], "running")])
    trials = [trial for name in (folder, young) for trial in read_experiment(name).trials]
    steps, shown, scores = comparable(trials)
    assert (steps, scores) == (2000, [-19, -17, -15, -16])
    assert [len(trial.rows) for trial in shown] == [4, 2, 4, 3], "one that has just begun is left out"


def test_marginal_means_are_means_over_ranges_and_equal_values_stay_together():
    values, scores = [1, 1, 1, 1, 2, 3, 4, 5], [-20, -10, -20, -10, -1, -2, -3, -6]
    assert marginal_means(values, scores) == [(1, 1, -15), (2, 5, -3)]
    assert marginal_means([1, 2, 3, 4, 5], [0] * 5) == [], "too few for two ranges"
    random = np.random.default_rng(0)
    values, scores = random.uniform(size=50), random.normal(size=50)
    inside = [(mean, sum((low <= values) & (values <= high))) for low, high, mean in marginal_means(values, scores)]
    assert sum(trials for _, trials in inside) == 50
    assert sum(mean * trials for mean, trials in inside) == pytest.approx(sum(scores))


def test_a_trial_that_ended_before_the_first_result_of_others_is_left_out_of_effects(tmp_path):
    small, large = {"segment_length": 64}, {"segment_length": 512}
    folder = write_experiment(tmp_path, "sweep", "pg", [(small, [-21], None), *[(large, [-20, -18], None)] * 3])
    for path in sorted(folder.glob("*/result.json"))[1:]:  # an update of these is of more steps
        path.write_text(path.read_text(encoding="utf-8").replace('_total": ', '_total": 1'))
    steps, shown, scores = comparable(read_experiment(folder).trials)
    assert (steps, scores) == (12000, [-18] * 3)
    assert [trial.config["segment_length"] for trial in shown] == [512] * 3


def test_a_halved_sweep_is_compared_at_its_first_rung_also_where_iterations_end_at_other_steps(tmp_path):
    trials = [({"seed": i}, [-20.0 + i], "running") for i in range(3)]
    record = {"scheduler": "halving", "rungs": [900, 3000], "timesteps": 3000, "iterations": None}
    folder = write_experiment(tmp_path, "halved", "pg", trials, **record)
    late = folder / "00002_seed=2" / "result.json"
    late.write_text(late.read_text(encoding="utf-8").replace('"timesteps_total": 1000', '"timesteps_total": 2000'))
    assert at_first_rung([read_experiment(folder)], read_experiment(folder).trials) is None, "nothing is decided"
    write_decisions(folder, [Decision(at=900, scores=[-20.0, -19.0, -18.0], kept=[2])])
    experiment = read_experiment(folder)
    steps, shown, scores = at_first_rung([experiment], experiment.trials)
    assert (steps, len(shown), scores) == (900, 3, [-20, -19, -18])
    other = read_experiment(write_experiment(tmp_path, "other", "pg", [({"seed": 5}, [-20], None)]))
    assert at_first_rung([experiment, other], [*experiment.trials, *other.trials]) is None
    assert len(comparable(experiment.trials)[1]) == 2


def test_a_trial_that_diverged_late_is_compared_where_the_others_are(tmp_path):
    trials = [({"seed": 0}, [-20, -19], None), ({"seed": 1}, [-20, -10, -21], None), ({"seed": 2}, [-21], None)]
    folder = write_experiment(tmp_path, "sweep", "pg", trials)
    for path in sorted(folder.glob("*/result.json"))[1:]:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"done": true', '"done": true, "diverged": 1.0'), encoding="utf-8")
    found = read_experiment(folder).trials
    assert [trial.diverged for trial in found] == [False, True, True]
    assert comparable(found)[::2] == (2000, [-19, -10, -21]), "one that diverged before has its latest"
    write_decisions(folder, [Decision(at=2000, scores=[-19.0, -10.0, None], kept=[1])])
    folder_record = json.loads((folder / "experiment.json").read_text(encoding="utf-8"))
    halved = folder_record | {"scheduler": "halving", "rungs": [2000, 9000], "timesteps": 9000, "iterations": None}
    (folder / "experiment.json").write_text(json.dumps(halved), encoding="utf-8")
    experiment = read_experiment(folder)
    assert at_first_rung([experiment], experiment.trials)[2] == [-19, -10, -21]


def test_a_report_shows_the_effect_of_each_setting_but_not_of_what_changes_speed_only(tmp_path):
    folder = sweep(tmp_path, 9)
    longer(folder, 100)
    page = report([read_experiment(folder)])
    assert "after 200,000 agent steps" in page.text
    effects = "".join(picture.decode() for name, picture in page.pictures.items() if name.startswith("pg_effects"))
    assert "<!-- gamma -->" in effects
    assert "num_workers" not in effects


def test_choices_are_drawn_as_choices_also_of_few_trials_and_a_thousand_is_no_power_of_ten():
    trials = [SimpleNamespace(config={"segment_length": each}) for each in (512, 1024, 128, 1024, 256, 512)]
    (figure,) = effects_figures(trials, [*range(6)], ["segment_length"])
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["128", "256", "512", "1024"]
    assert is_range([0.001, 0.002, 0.0025, 0.003, 0.004, 0.0025])
    assert [short_tick(value, 0) for value in (0.01, 300, 1000)] == ["0.01", "", "1,000"]


def settings_of(i):
    config = {"gamma": 0.9 + i / 1000, "hidden_size": [50, 100][i % 2], "num_workers": 1 + i % 3, "seed": i}
    return config, [-20.0, -20.0 + i], None


def sweep(tmp_path, trials, **record):
    return write_experiment(tmp_path, "sweep", "pg", [settings_of(i) for i in range(trials)], **record)


def test_settings_that_no_axis_can_hold_end_no_report(tmp_path):
    folder = sweep(tmp_path, 24)
    longer(folder, 100)
    for i, path in enumerate(sorted(folder.glob("0*/params.json"))):
        strange = {"extra": (-1) ** i * 1e308, "wide": 10.0 ** (25 * i - 300)}
        path.write_text(json.dumps(json.loads(path.read_text()) | strange))
    assert "pg_effects_0.svg" in report([read_experiment(folder)]).pictures
