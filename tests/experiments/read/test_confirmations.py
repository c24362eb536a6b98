"""What fresh seeds say of a sweep's best, with numbers that can be reckoned by hand."""

from experiments.read.configurations import best_configurations
from experiments.read.confirmations import confirmations, verdict
from experiments.read.trials import read_experiment
from tests.helpers.written_experiments import write_experiment


def test_a_drop_is_counted_at_the_iteration_where_the_sweeps_trial_ended(tmp_path):
    short, long = {"gamma": 0.9}, {"gamma": 0.8}
    sweep = write_experiment(tmp_path, "sweep", "pg", [(short, [-20, -10], None), (long, [-20, -15, -12], None)])
    settings = [{**gamma, "seed": seed} for gamma in (short, long) for seed in (1, 3)]
    fresh = [(config, [-20, -18 + config["seed"], -14 + config["seed"]], None) for config in settings]
    confirm = write_experiment(tmp_path, "sweep-confirm", "pg", fresh, confirms="sweep")
    first, second = confirmations(read_experiment(sweep), read_experiment(confirm))
    assert (first.chosen.config["gamma"], first.end, first.sweep, list(first.fresh)) == (0.9, 2, -10, [-17, -15])
    assert (second.end, second.sweep, list(second.fresh), second.drop) == (3, -12, [-13, -11], 0)
    assert first.drop == 6
    assert (list(first.final), list(second.final)) == ([-13, -11], [-13, -11])
    assert [chosen.config["gamma"] for chosen in best_configurations(read_experiment(sweep), 1)] == [0.9]
    assert verdict([first]) == ""
    assert verdict([first, second]).startswith("By the end of its fresh seeds g=")
