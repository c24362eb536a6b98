"""What stands beside the verdict of a comparison."""

import pytest

from experiments.analysis.caveats import caveats, expected_best
from experiments.analysis.comparison import compare
from experiments.disk.experiments import read_experiment
from experiments.show.comparison_page import comparison_page
from tests.helpers.written_experiments import write_experiment


def written(storage, name, curves, endings=None, settings=None):
    """An experiment of one configuration whose seeds have these returns."""
    trials = []
    for seed, curve in enumerate(curves):
        trials.append(({**(settings or {}), "seed": seed}, curve, endings[seed] if endings else None))
    return read_experiment(write_experiment(storage, name, "pg", trials), running=False)


def sweep(storage, name, count):
    trials = [({"gamma": 0.9 + i / 1000}, [-20.0 + i] * 8, None) for i in range(count)]
    return read_experiment(write_experiment(storage, name, "pg", trials), running=False)


def said(comparison, beginning):
    return [text for text in caveats(comparison) if text.startswith(beginning)]


@pytest.mark.parametrize(("count", "expected"), [(1, 0.0), (2, 0.5642), (4, 1.0294), (15, 1.7359)])
def test_the_best_of_many_is_expected_above_their_mean(count, expected):
    """By tables of normal order statistics."""
    assert expected_best(count) == pytest.approx(expected, abs=2e-3)


def test_the_best_of_many_is_said_to_be_picked_on_each_side(tmp_path):
    many, few, one = sweep(tmp_path, "many", 15), sweep(tmp_path, "few", 4), written(tmp_path, "one", [[-20.0] * 8])
    (text,) = said(compare([[many], [few], [one]], best=1), "many was picked")
    assert text.startswith(
        "many was picked from 15 configurations by their scores, few was picked from 4 configurations by their scores,"
        " one was not picked. If luck alone"
    )
    assert "the best of 15 is 1.7 and the best of 4 is 1.0 standard deviations above the mean" in text
    assert not said(compare([[few], [one]]), "few"), "all are compared"


GOES_ON, CUT = [-20.0 + i for i in range(8)], [-20.0, -19.0, -18.0]


def test_the_run_that_limits_a_comparison_is_named_and_what_leaving_it_out_gives(tmp_path):
    a = written(tmp_path, "a", [GOES_ON] * 3)
    b = written(tmp_path, "b", [GOES_ON, CUT, GOES_ON], [None, "cut", None], {"gamma": 0.9})
    found = compare([[a], [b]])
    (text,) = said(found, "They")
    assert text == (
        "They are compared at 3,000 agent steps, where b/00001_seed=1 (interrupted) ended. --steps 8000 leaves that"
        " out, and compares at 8,000."
    )
    assert not said(compare([[a], [b]], steps=8000), "They")
    assert text.replace("b/00001_seed=1", "`b/00001_seed=1`") in comparison_page(found, [a, b]).text


def test_a_run_that_is_a_sides_only_one_cannot_be_left_out(tmp_path):
    a = written(tmp_path, "a", [GOES_ON] * 2)
    killed = written(tmp_path, "killed", [CUT], ["cut"], {"gamma": 0.9})
    (text,) = said(compare([[a], [killed]]), "They")
    assert text.endswith("where killed/00000_seed=0 (interrupted) ended. Without that killed has no seed.")
    whole = written(tmp_path, "whole", [[*GOES_ON, -1.0, -1.0]] * 2, None, {"gamma": 0.8})
    assert not said(compare([[a], [a]]), "They"), "all end there"
    assert not said(compare([[whole], [a]]), "They"), "a scheduler stopped all of them there"


def test_runs_that_end_as_planned_with_iterations_of_other_lengths_limit_nothing(tmp_path):
    a = written(tmp_path, "a", [GOES_ON, [*GOES_ON, -12.0]])
    b = written(tmp_path, "b", [GOES_ON] * 2, None, {"gamma": 0.9})
    longer = written(tmp_path, "longer", [GOES_ON, [*GOES_ON, -12.0, -11.0]], None, {"gamma": 0.8})
    found = compare([[a], [b]])
    assert (found.steps, found.window) == (8000, 1000)
    assert not said(found, "They"), "one run is a window longer"
    assert said(compare([[longer], [a]]), "They"), "one is longer than that"


def test_where_scores_say_another_order_than_windows_it_is_said_why(tmp_path):
    """A report shows scores, which are of 100,000 agent steps."""
    a, b = written(tmp_path, "a", [[-10.0] * 8]), written(tmp_path, "b", [[-9.0] * 8], None, {"gamma": 0.9})
    assert not said(compare([[a], [b]]), "By its")
    rows = b.trials[0].folder / "result.json"
    rows.write_text(rows.read_text().replace('"episode_score": -9.0', '"episode_score": -12.0'))
    (text,) = said(compare([[a], [read_experiment(b.folder)]]), "By its")
    assert text == (
        "By its latest score, which a report shows, a is ahead, by 2.00: a score is of the games in the last 100,000"
        " agent steps of each seed, and returns here are of the 1,000 up to 8,000."
    )
