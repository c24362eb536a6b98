"""Words for what a setting may be."""

from typing import Literal

import numpy as np
import pytest
from ray import tune

from experiments.plan.ranges import in_words, parse, varies
from trainables.checks import ConfigError

TEXT, SIZES = Literal["pack", "spread"], tuple[int, ...]


@pytest.mark.parametrize(
    ("words", "kind", "shown"),
    [
        ("0.98,0.99,0.995", float, None),
        ("1e-4..1e-2:log", float, "0.0001..0.01:log"),
        ("64..512:log", int, None),
        ("32-32,64", SIZES, None),
        ("1e-4..1e-2:3:log", float, "0.0001,0.001,0.01"),
        ("0.12345678..0.9:2", float, "0.12345678,0.9"),
        ("1..4:4", int, "1,2,3,4"),
        ("true,false", bool, None),
        ("pack, spread", TEXT, "pack,spread"),
        ("1", str, None),
        (0.5, float, "0.5"),
        (["1e-3", "2e-3"], float, "0.001,0.002"),
        ([(64, 64), (32,)], SIZES, "64-64,32"),
        (tune.choice(np.array([1, 2])), int, "1,2"),
        (tune.loguniform(1e-4, 1e-2), float, "0.0001..0.01:log"),
        (tune.uniform(0.9, 0.99), float, "0.9..0.99"),
        (tune.randint(1, 4), int, "1..3"),
    ],
)
def test_words_say_what_was_parsed(words, kind, shown):
    found = in_words(parse("x", words, kind))
    assert found == (shown or words)
    assert in_words(parse("x", found, kind)) == found


def test_a_domain_without_words_is_drawn_from_all_the_same():
    domain = tune.quniform(0.9, 0.98, 0.02)
    assert parse("x", domain, float) is domain
    assert in_words(domain) == in_words(tune.randn()) == ""
    assert varies(domain)


def test_both_ends_of_a_range_of_whole_numbers_are_drawn():
    domain = parse("x", "1..3", int)
    assert [domain.at(u) for u in (0, 0.3, 0.4, 0.6, 0.7, 0.99)] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("words", "kind", "reason"),
    [
        ("1e-2..1e-4:log", float, r"from the smaller to the larger number; did you mean 0\.0001\.\.0\.01:log\?"),
        ("0..1:log", float, "begins above 0"),
        ("1..2.5", int, "has whole ends"),
        ("a..b", float, "is no range"),
        ("1..", float, "is no range"),
        ("1..1e999", float, "both ends of a range are finite"),
        ("1..2:lg", float, "is no range"),
        ("1..2:1", float, "one count"),
        ("1..2:3", int, "more than once"),
        ("1,,2", float, "a choice is empty"),
        ([], int, "a choice is empty"),
        ("1e-3,0.001", float, "stands there more than once"),
        ([{"value": 1}], float, "accepted are choices, as"),
        (tune.choice([None]), float, "accepted are choices, as"),
    ],
)
def test_what_stands_for_no_values_is_refused(words, kind, reason):
    with pytest.raises(ConfigError, match=reason):
        parse("x", words, kind)


def test_trials_differ_in_settings_of_more_than_one_value():
    assert all(varies(parse("x", words, int)) for words in ("1,2", "0..1", "3..4:log", tune.randint(3, 5)))
    assert not any(varies(parse("x", words, int)) for words in ([1], tune.randint(3, 4), 0.9))
