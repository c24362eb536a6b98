"""Words for what a setting may be."""

from typing import Literal

import numpy as np
import pytest
from ray import tune
from ray.tune.search.sample import Categorical

from experiments.plan.ranges import in_words, parse, varies
from trainables.checks import ConfigError

TEXT, SIZES = Literal["pack", "spread"], tuple[int, ...]


@pytest.mark.parametrize(
    ("words", "kind", "shown"),
    [
        ("0.98,0.99,0.995", float, None),
        ("1e-4..1e-2:log", float, "0.0001..0.01:log"),
        ("0.5..1", float, None),
        ("64..512", int, None),
        ("64..512:log", int, None),
        ("32-32,64-64", SIZES, None),
        ("64,128", SIZES, None),
        ("1e-4..1e-2:log:3", float, "0.0001,0.001,0.01"),
        ("1e-4..1e-2:3:log", float, "0.0001,0.001,0.01"),
        ("0.12345678..0.9:2", float, "0.12345678,0.9"),
        ("1..4:4", int, "1,2,3,4"),
        ("-1..1", float, None),
        ("true,false", bool, None),
        ("pack, spread", TEXT, "pack,spread"),
        ([0.5, 1], float, "0.5,1"),
        (["1e-3", "2e-3"], float, "0.001,0.002"),
        ([(64, 64), (32,)], SIZES, "64-64,32"),
        (np.float64(0.5), float, "0.5"),
        (tune.choice(np.array([1, 2])), int, "1,2"),
        (tune.choice([(64, 64), (32, 32)]), SIZES, "64-64,32-32"),
        (tune.loguniform(1e-4, 1e-2), float, "0.0001..0.01:log"),
        (tune.uniform(0.9, 0.99), float, "0.9..0.99"),
        (tune.randint(1, 4), int, "1..3"),
    ],
)
def test_words_say_what_was_parsed(words, kind, shown):
    found = in_words(parse("x", words, kind))
    assert found == (shown or words)
    assert in_words(parse("x", found, kind)) == found


def test_what_has_no_words_is_drawn_all_the_same():
    domain = tune.quniform(0.9, 0.98, 0.02)
    assert parse("x", domain, float) is domain
    assert in_words(domain) == in_words(tune.randn()) == ""


def test_a_value_is_a_choice():
    assert parse("x", 0.5, float).categories == [0.5]
    assert isinstance(parse("x", "0.5", float), Categorical)
    assert parse("x", "1", str).categories == ["1"], "where texts are expected"


def test_both_ends_of_a_range_of_whole_numbers_are_drawn():
    domain = parse("x", "1..3", int)
    assert {domain.sample() for _ in range(200)} == {1, 2, 3}


@pytest.mark.parametrize(
    ("words", "kind", "reason"),
    [
        ("1e-2..1e-4:log", float, r"from the smaller to the larger number; did you mean 0\.0001\.\.0\.01:log\?"),
        ("1..1", int, "from the smaller to the larger number$"),
        ("0..1:log", float, "begins above 0"),
        ("1..2.5", int, "has whole ends"),
        ("a..b", float, "is no range"),
        ("1..", float, "is no range"),
        ("1..inf", float, "is no range"),
        ("1..1e999", float, "both ends of a range are finite"),
        ("NaN..1", float, "both ends of a range are finite"),
        ("1..2:lg", float, "is no range"),
        ("1..2:log:log", float, "is no range"),
        ("1..2:1", float, "one count"),
        ("1..2:3:4", float, "one count"),
        ("1..2:3", int, "more than once"),
        ("1,,2", float, "a choice is empty"),
        ("", float, "a choice is empty"),
        ("2,2", int, "2 stands there more than once"),
        ("1e-3,0.001", float, "stands there more than once"),
        ([], int, "a choice is empty"),
        ({"min": 1, "max": 2}, float, "accepted are choices, as"),
        ({"grid_search": [1, 2]}, float, "accepted are choices, as"),
        ([{"value": 1}], float, "accepted are choices, as"),
        (None, float, "accepted are choices, as"),
        (tune.choice([None]), float, "accepted are choices, as"),
    ],
)
def test_what_stands_for_no_values_is_refused(words, kind, reason):
    with pytest.raises(ConfigError, match=reason):
        parse("x", words, kind)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (tune.choice([1, 2]), True),
        (tune.choice([1]), False),
        (tune.uniform(0, 1), True),
        (tune.randint(3, 5), True),
        (tune.randint(3, 4), False),
        (tune.quniform(0, 1, 0.1), True),
        (0.9, False),
    ],
)
def test_a_setting_of_one_value_stood_among_those_in_which_trials_differ(domain, expected):
    assert varies(domain) == expected
