"""Which trials are one configuration, and which settings tell configurations apart."""

import pytest

from experiments.analysis.comparison import compare
from experiments.analysis.configurations import (
    Configuration,
    best_configurations,
    by_configuration,
    varied,
    with_results,
)
from experiments.disk.decisions import Decision, write_decisions
from experiments.disk.experiments import read_experiment
from experiments.disk.spec import past_of
from tests.helpers.written_experiments import forget, forked_from, write_experiment


def written(storage, name, *trials, **record):
    """An experiment of ``pg`` with trials of (settings, returns, ending)."""
    return read_experiment(write_experiment(storage, name, "pg", [*trials], **record))


def seeds_of(configurations):
    return [sorted(configuration.seeds) for configuration in configurations]


def test_seeds_with_other_numbers_of_workers_belong_to_the_same_configuration(tmp_path):
    """Parallelism changes no result; a learning rate does."""
    experiments = [
        written(tmp_path, "one", ({"seed": 0, "num_workers": 1}, [-20, 0], None)),
        written(tmp_path, "two", ({"seed": 1, "num_workers": 2}, [-20, 1], None)),
        written(tmp_path, "fast", ({"seed": 2, "learning_rate": 0.5}, [-20, 2], None)),
    ]
    assert seeds_of(by_configuration(experiments)) == [[2], [0, 1]]


def test_of_two_runs_with_the_same_seed_the_longer_one_counts(tmp_path):
    experiments = [written(tmp_path, f"run{length}", ({}, [-20] * length, None)) for length in (2, 3, 1)]
    (found,) = by_configuration(experiments)
    assert [trial.iterations for trial in found.trials] == [3]


def written_fork(storage, name, trials, origin, starts, **record):
    """A fork: ``trials`` are the settings of each, ``starts`` (settings, iteration) of the runs that they left."""
    record |= {"fork_of": forked_from(origin, *starts).model_dump()}
    played = [(settings, [-20.0] * 5, None) for settings in trials]
    return written(storage, name, *played, **record)


def fork_of_a_fork(storage, name, fork, **record):
    """A fork with the settings of another one, which it leaves after three iterations."""
    origin = forked_from(fork.name, *[(trial.config, 3) for trial in fork.trials]).model_dump()
    for number, start in enumerate(origin["starts"]):
        start["past"] = past_of(fork.spec, number)
    played = [(trial.config, [-20.0] * 6, None) for trial in fork.trials]
    return written(storage, name, *played, **record | {"fork_of": origin})


def origins(experiments):
    """Of each configuration the experiments of its trials, by label."""
    found = []
    for configuration in by_configuration(experiments):
        names = [trial.folder.parent.name for trial in configuration.trials]
        found.append((configuration.label(()), sorted(names)))
    return sorted(found)


def test_a_fork_is_another_configuration_than_its_settings_from_scratch_or_from_elsewhere(tmp_path):
    """Also with the same seed: neither run takes the other's place. Two seeds of a fork of one run are two seeds."""
    slow, fast = {"gamma": 0.9}, {"gamma": 0.8}
    first, second = slow | {"seed": 0}, slow | {"seed": 1}
    one, both = {"configuration_of": [0]}, {"configuration_of": [0, 0]}
    experiments = [
        written(tmp_path, "scratch", (slow, [-20] * 4, None)),
        written_fork(tmp_path, "fork", [first], "org", [(slow, 2)], **one),
        written_fork(tmp_path, "again", [second], "org", [(slow, 2)], **one),
        written_fork(tmp_path, "later", [first], "org", [(slow, 3)], **one),
        written_fork(tmp_path, "other", [first], "org", [(fast, 2)], **one),
        written_fork(tmp_path, "both", [first, second], "org", [(slow, 2), (second, 3)], **both),
    ]
    assert origins(experiments) == [
        ("pg", ["scratch"]),
        ("pg (forked from org at 2,000 steps)", ["again", "fork"]),
        ("pg (forked from org at 2,000 steps)", ["other"]),
        ("pg (forked from org at 2,000 to 3,000 steps)", ["both", "both"]),
        ("pg (forked from org at 3,000 steps)", ["later"]),
    ]


def test_forks_of_two_experiments_are_two_configurations_whatever_seeds_they_have(tmp_path):
    """With the same new seed neither run takes the other's place, and with two new ones they are no seeds of one."""
    for name, (first, second) in {"same": (7, 7), "new": (7, 9), "kept": (1, 2)}.items():
        forks = [
            written_fork(tmp_path / name, "f1", [{"seed": first}], "o1", [({"seed": 1}, 2)]),
            written_fork(tmp_path / name, "f2", [{"seed": second}], "o2", [({"seed": 2}, 2)]),
        ]
        assert origins(forks) == [
            ("pg (forked from o1 at 2,000 steps)", ["f1"]),
            ("pg (forked from o2 at 2,000 steps)", ["f2"]),
        ]


def test_forks_of_one_run_are_one_configuration_wherever_its_copies_lie_and_whatever_they_are_called(tmp_path):
    start = [({"seed": 1}, 2)]
    forks = [
        written_fork(tmp_path / "here", "kept", [{"seed": 1}], "org", start),
        written_fork(tmp_path / "here", "new", [{"seed": 7}], "org", start),
        written_fork(tmp_path / "elsewhere", "of_a_copy", [{"seed": 9}], "copy", start),
    ]
    assert origins(forks) == [("pg (forked from org at 2,000 steps)", ["kept", "new", "of_a_copy"])]


@pytest.mark.parametrize("named", [True, False])
def test_seeds_that_were_forked_together_are_one_configuration(named, tmp_path):
    """Also where no record names them, since they drew the same settings; and a fork of the fork."""
    record = {"configuration_of": [0, 0]} if named else {}
    first, second = {"seed": 1}, {"seed": 2}
    fork = written_fork(tmp_path, "fork", [first, second], "org", [(first, 2), (second, 2)], **record)
    later = fork_of_a_fork(tmp_path, "later", fork, **record)
    at = "pg (forked from {} at {} steps)"
    assert origins([fork, later]) == [
        (at.format("fork", "3,000"), ["later"] * 2),
        (at.format("org", "2,000"), ["fork"] * 2),
    ]


def test_a_fork_of_a_fork_has_that_one_as_its_origin_and_is_told_from_one_with_another_past(tmp_path):
    """Forks that left one run at other steps have the same settings and seeds, and are not the same origin."""
    config = {"seed": 1}
    early = written_fork(tmp_path, "at1", [config], "org", [(config, 1)])
    late = written_fork(tmp_path, "at2", [config], "org", [(config, 2)])
    of_early, of_late = fork_of_a_fork(tmp_path, "of_early", early), fork_of_a_fork(tmp_path, "of_late", late)
    assert origins([of_early, of_late]) == [
        ("pg (forked from at1 at 3,000 steps)", ["of_early"]),
        ("pg (forked from at2 at 3,000 steps)", ["of_late"]),
    ]
    again = fork_of_a_fork(tmp_path, "again", early)
    assert len(origins([of_early, again])) == 1, "the same run"


def test_trials_that_drew_the_same_settings_and_were_given_one_seed_are_told_apart_by_their_origins(tmp_path):
    fork = written_fork(tmp_path, "fork", [{"seed": 7}] * 2, "org", [({"seed": 1}, 2), ({"seed": 2}, 2)])
    assert origins([fork]) == [("pg (forked from org at 2,000 steps)", ["fork"])] * 2


@pytest.mark.parametrize("forked", [False, True])
def test_a_setting_that_a_record_lacks_has_its_default_so_a_new_one_splits_no_older_runs(forked, tmp_path):
    record = {"fork_of": forked_from("org", ({"clip": 0.1}, 1)).model_dump()} if forked else {}
    now = written(tmp_path, "now", ({"seed": 0}, [-20.0] * 3, None), **record)
    older = written(tmp_path, "older", ({"seed": 1}, [-20.0] * 3, None), **record)
    other = written(tmp_path, "other", ({"entropy_bonus": 0.5}, [-20.0] * 3, None), **record)
    forget(older.folder, "entropy_bonus", "eval_games")
    older = read_experiment(older.folder)
    assert older.trials[0].config == now.trials[0].config | {"seed": 1}
    found = by_configuration([now, older, other])
    assert sorted(seeds_of(found)) == [[0], [0, 1]]
    assert varied(found) == ["entropy_bonus"]
    labels = [configuration.label(["entropy_bonus"]) for configuration in found]
    assert sorted(label.split(" ")[0] for label in labels) == ["entropy_bonus=0.03", "entropy_bonus=0.5"]
    one, another = compare([[now, older], [other]], window=1000).sides
    assert [curve.seed for curve in one.curves] == [0, 1]
    assert [curve.seed for curve in another.curves] == [0]


def test_a_configuration_is_judged_by_the_trials_that_halving_kept_longest(tmp_path):
    """Trials that drew the same settings were treated apart: their early scores are not those of the end."""
    trials = [({"seed": n}, [-20, last], "running") for n, last in enumerate((-15.0, -16.0, -10.0))]
    trials[2] = ({"seed": 2}, [-20, -17, -17, -10.0], None)
    record = {"scheduler": "halving", "rungs": [2, 4], "iterations": 4, "swept": ["seed"]}
    folder = write_experiment(tmp_path, "halved", "pg", [*trials, ({"seed": 3}, [-20], "RuntimeError: x")], **record)
    write_decisions(folder, [Decision(at=2, scores=[-15.0, -16.0, -17.0, None], kept=[2])])
    (found,) = by_configuration([read_experiment(folder)])
    assert (found.score, found.seeds, [trial.seed for trial in found.stopped]) == (-10.0, [2, 3], [0, 1])
    full = read_experiment(write_experiment(tmp_path, "full", "pg", [({"seed": 5}, [-20, -14.0], None)]))
    assert by_configuration([read_experiment(folder), full])[0].score == -12.0, "a run that no sweep stopped"


def test_a_trial_that_has_no_result_yet_takes_no_place_of_one_that_was_stopped(tmp_path):
    trials = [({"seed": 0}, [-20, -15.0], None), ({"seed": 1}, [], "running")]
    folder = write_experiment(tmp_path, "asha", "pg", trials, scheduler="asha", iterations=4, swept=["seed"])
    experiment = read_experiment(folder)
    assert [trial.state for trial in experiment.trials] == ["stopped", "interrupted"]
    (found,) = with_results([experiment])
    assert (found.score, found.stopped) == (-15.0, [])


def test_a_label_names_the_settings_that_differ_in_the_order_of_trial_names(tmp_path):
    trials = [({"gamma": 0.9, "hidden_size": 10}, [-20], None), ({"gamma": 0.8, "hidden_size": 20}, [-19], None)]
    found = by_configuration([read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))])
    assert [configuration.label(varied(found)) for configuration in found] == ["h=20 g=0.8", "h=10 g=0.9"]
    assert found[0].label(varied(found[:1])) == "pg"


@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ([(16, 256, 8), (16, 512, 4), (16, 1024, 2)], ["segment_length"]),
        ([(16, 300, 7), (16, 512, 4)], ["segment_length"]),  # rounded
        ([(16, 512, 4), (16, 512, 5)], ["updates_per_iteration"]),
        ([(16, 256, 8), (16, 512, 8)], ["segment_length"]),
        ([(16, 256, 2), (16, 512, 8)], ["segment_length", "updates_per_iteration"]),
        ([(0, 512, 4), (0, 512, 9)], ["updates_per_iteration"]),
        ([(16, 512, 4), (16, 512, [4])], ["updates_per_iteration"]),  # of a foreign folder
    ],
)
def test_a_setting_that_follows_from_the_length_of_segments_is_not_named_as_varied(sizes, named):
    names = ("slots", "segment_length", "updates_per_iteration")
    found = [Configuration("pg", dict(zip(names, size, strict=True)), [], fresh=False) for size in sizes]
    assert varied(found) == named


def test_a_configuration_that_only_failed_ranks_behind_others(tmp_path):
    trials = [({"gamma": 0.9}, [-20, -5.0], "RuntimeError: no luck"), ({"gamma": 0.8}, [-20, -12.0], None)]
    experiment = read_experiment(write_experiment(tmp_path, "sweep", "pg", trials))
    for found in (by_configuration([experiment]), best_configurations(experiment, 2)):
        assert [configuration.config["gamma"] for configuration in found] == [0.8, 0.9]


def test_settings_that_only_some_configurations_have_are_varied(tmp_path):
    folders = [write_experiment(tmp_path, learner, learner, [({}, [-20], None)]) for learner in ("pg", "trpo")]
    found = by_configuration([read_experiment(folder) for folder in folders])
    assert {"clip", "max_kl"} <= {*varied(found)}
    assert {*varied(found)} == {*varied(found[::-1])}
