"""Words for what a setting may be."""

import pytest
from ray.tune.search.sample import Categorical

from experiments.plan.ranges import in_words, parse
from trainables.checks import ConfigError


@pytest.mark.parametrize(
    ("words", "whole", "shown"),
    [
        ("0.98,0.99,0.995", False, None),
        ("1e-4..1e-2:log", False, "0.0001..0.01:log"),
        ("0.5..1", False, None),
        ("64..512", True, None),
        ("64..512:log", True, None),
        ("32-32,64-64", False, None),
        ("1e-4..1e-2:log:3", False, "0.0001,0.001,0.01"),
        ("1..4:4", True, "1,2,3,4"),
        ("-1..1", False, None),
        ("true,false", False, None),
    ],
)
def test_words_say_what_was_parsed(words, whole, shown):
    found = in_words(parse("x", words, whole))
    assert found == (shown or words)
    assert in_words(parse("x", found, whole)) == found


def test_a_list_and_a_value_are_choices():
    assert parse("x", [1, 2], True).categories == [1, 2]
    assert parse("x", 0.5, False).categories == [0.5]
    assert isinstance(parse("x", "0.5", False), Categorical)


def test_both_ends_of_a_range_of_whole_numbers_are_drawn():
    domain = parse("x", "1..3", True)
    assert {domain.sample() for _ in range(200)} == {1, 2, 3}


@pytest.mark.parametrize(
    ("words", "whole", "reason"),
    [
        ("1e-2..1e-4:log", False, "from the smaller to the larger"),
        ("1..1", True, "from the smaller to the larger"),
        ("0..1:log", False, "begins above 0"),
        ("1..2.5", True, "has whole ends"),
        ("a..b", False, "is no range"),
        ("1..", False, "is no range"),
        ("1..inf", False, "is no range"),
        ("1..1e999", False, "from the smaller to the larger"),
        ("1..2:lg", False, "is no range"),
        ("1..2:log:log", False, "is no range"),
        ("1..2:1", False, "one count"),
        ("1..2:3:4", False, "one count"),
        ("1..2:3", True, "more than once"),
        ("1,,2", False, "a choice is empty"),
        ("", False, "a choice is empty"),
        ("2,2", True, "2 stands there more than once"),
        ([], True, "a choice is empty"),
    ],
)
def test_what_stands_for_no_values_is_refused(words, whole, reason):
    with pytest.raises(ConfigError, match=reason):
        parse("x", words, whole)
