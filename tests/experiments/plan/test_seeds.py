"""Plans of several seeds of each configuration."""

import dataclasses

import pytest

from experiments.plan.capacity import MOST_TRIALS, USED, Capacity, choose
from experiments.plan.seeds import in_words, require_means, with_seeds
from trainables.checks import ConfigError
from trainables.config import PGConfig

DRAWN = [PGConfig(seed=5, gamma=0.9), PGConfig(seed=6, gamma=0.8), PGConfig(seed=7, gamma=0.9)]


def test_all_configurations_have_the_same_seeds_side_by_side():
    trials, configuration_of, notes = with_seeds(DRAWN[:2], 3)
    assert [(config.gamma, config.seed) for config in trials] == [(g, s) for g in (0.9, 0.8) for s in (5, 6, 7)]
    assert configuration_of == [0, 0, 0, 1, 1, 1]
    assert not notes
    assert with_seeds(DRAWN[:1], 1)[0] == DRAWN[:1]


def test_what_was_drawn_twice_ran_twice_with_the_same_seeds():
    trials, configuration_of, (note,) = with_seeds(DRAWN, 2)
    assert [config.gamma for config in trials] == [0.9, 0.9, 0.8, 0.8]
    assert configuration_of == [0, 0, 1, 1]
    assert note.startswith("1 of 3 configurations were drawn before")


def test_schedulers_that_decide_about_each_trial_alone_are_refused():
    for scheduler in ("halving", "fifo"):
        require_means(3, scheduler, {})
    for scheduler in ("asha", "pbt"):
        require_means(1, scheduler, {"seed": 4})
        with pytest.raises(ConfigError, match=f"{scheduler} decides .* 3 seeds .* halving decides on their mean"):
            require_means(3, scheduler, {})
    with pytest.raises(ConfigError, match="--set seed=4 would make 3 seeds of a configuration the same"):
        require_means(3, "halving", {"seed": 4})


@pytest.mark.parametrize("seeds", [2, 5])
def test_a_plan_counts_as_many_times_the_trials_and_fits_into_its_time(seeds):
    one = Capacity(2, 5600.0, 8, 8000.0)
    several = dataclasses.replace(one, seeds=seeds)
    assert [each.trials for each in several.rounds(9, [0, 100, 400, 1300])] == [9 * seeds, 3 * seeds, seeds]
    for seconds in (600, 1800, 20_000):
        count, steps = choose(several, seconds, None, None)
        assert several.seconds(count, steps) <= USED * seconds
        assert (count, steps) <= choose(one, seconds, None, None)
    many = Capacity(500, 5600.0, 8, 8000.0, seeds)
    assert choose(many, 100_000, None, None)[0] * seeds <= MOST_TRIALS


def test_numbers_in_words():
    assert [in_words(numbers) for numbers in ([3], [3, 4], [3, 4, 5], [3, 5, 6])] == [
        "00003",
        "00003, 00004",
        "00003 to 00005",
        "00003, 00005, 00006",
    ]
