"""What fresh seeds say of a sweep's best, with numbers that can be reckoned by hand."""

import numpy as np

from experiments.analysis.configurations import best_configurations
from experiments.analysis.luck import best_by_fresh_seeds, confirmations
from experiments.disk.experiments import read_experiment
from experiments.show.origins import origin
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
    assert best_by_fresh_seeds([first]) == ""
    same = second._replace(final=second.final + np.array([-1, 1]))  # The pairs differ by -1 and 1: 12.706 * 1.
    equal = best_by_fresh_seeds([first, same])
    assert equal.startswith("By the end of its fresh seeds g=")
    assert equal.endswith("(95% interval of the means' difference -12.7 to 12.7), so the two cannot be told apart.")
    better = best_by_fresh_seeds([first, second._replace(final=second.final + np.array([6.9, 7.1]))])
    assert "is best: by 7.0 points over g=0.9 (95% interval of the means' difference 5.7 to 8.3), which" in better
    assert better.endswith("which is more than luck.")
    others = second._replace(final=second.final + 7, seeds=[8, 9])  # so not paired: t = 4.303, standard error 2 ** 0.5
    assert "95% interval of the means' difference 0.9 to 13.1" in best_by_fresh_seeds([first, others])
    assert "one seed does not say" in best_by_fresh_seeds([first._replace(final=first.final[:1]), second])


def test_the_best_by_its_fresh_seeds_is_set_beside_the_baseline_too(tmp_path):
    gammas, record = (0.9, 0.8, 0.7), {"baseline": {"gamma": 0.7}}
    sweep = write_experiment(tmp_path, "sweep", "pg", [({"gamma": g}, [-20, 10 * g], None) for g in gammas], **record)
    fresh = [({"gamma": g, "seed": seed}, [-20, 10 * g + seed], None) for g in gammas for seed in (1, 2)]
    confirm = write_experiment(tmp_path, "sweep-confirm", "pg", fresh, confirms="sweep", **record)
    found = confirmations(read_experiment(sweep), read_experiment(confirm))
    said = best_by_fresh_seeds(found)
    assert "g=0.9 is best: by 1.0 points over g=0.8 (" in said
    assert "It is ahead by 2.0 points over g=0.7 (baseline) (95% interval" in said
    assert "It is ahead" not in best_by_fresh_seeds(found[1:]), "the baseline is the next best itself"


def test_only_fresh_seeds_that_came_as_far_are_compared_with_the_sweep(tmp_path):
    sweep = write_experiment(tmp_path, "sweep", "pg", [({}, [-20, -10, 0], None)])

    def compared(name, *curves):
        seeds = [({"seed": seed}, returns, ending) for seed, (returns, ending) in enumerate(curves, 1)]
        return confirmations(
            read_experiment(sweep), read_experiment(write_experiment(tmp_path, name, "pg", seeds, confirms="sweep"))
        )

    assert compared("young", ([-20], "running"), ([-20, -12], "running")) == []
    (found,) = compared("one", ([-20], "running"), ([-20, -12, -3, 5], "running"))
    assert (found.end, found.sweep, list(found.fresh), found.drop) == (3, 0, [-3], 3)
    assert np.isnan(found.final).all(), "it is not the end yet"
    assert best_by_fresh_seeds([found, found]) == ""
    (found,) = compared("both", ([-20, -12, -4], None), ([-20, -12, -3, 5], None))
    assert (list(found.fresh), list(found.final)) == ([-4, -3], [-4, 5])


def test_a_sweep_that_went_on_is_compared_where_its_fresh_seeds_ended(tmp_path):
    sweep = write_experiment(tmp_path, "sweep", "pg", [({}, [-20, -10, 0, 5], None)], iterations=4)
    fresh = [({"seed": seed}, [-20, -12], None) for seed in (1, 2)]
    confirm = write_experiment(tmp_path, "sweep-confirm", "pg", fresh, iterations=2, confirms="sweep")
    (found,) = confirmations(read_experiment(sweep), read_experiment(confirm))
    assert (found.end, found.sweep, list(found.fresh)) == (2, -10, [-12, -12])


def test_a_seed_that_diverged_counts_to_the_end_of_the_others(tmp_path):
    seeds = [({"seed": 0}, [-20, -10, 0], None), ({"seed": 1}, [-21], "running")]
    sweep = write_experiment(tmp_path, "sweep", "pg", seeds, iterations=3, configuration_of=[0, 0])
    (rows,) = sweep.glob("*1_*/result.json")
    rows.write_text(rows.read_text().replace('"done": false', '"diverged": 1, "done": true'))
    confirm = write_experiment(tmp_path, "sweep-confirm", "pg", [({"seed": 2}, [-20, -12, -3], None)], confirms="sweep")
    (found,) = confirmations(read_experiment(sweep), read_experiment(confirm))
    assert (found.end, found.sweep, list(found.fresh)) == (3, -10.5, [-3])


def test_a_confirmations_origin_names_its_sweep(tmp_path):
    fresh = [({"seed": seed}, [-20], None) for seed in (1, 2)]
    again = write_experiment(tmp_path, "again", "pg", fresh, command=["sweep_pong.py", "--confirm", "a"], confirms="a")
    page = origin(read_experiment(again))
    assert "sweep_pong.py --confirm a\n" in page
    assert "- Confirms: the best of `a`, with fresh seeds\n" in page
