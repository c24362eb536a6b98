"""Words for what a setting may be."""

from typing import Literal

import numpy as np
import pytest
from ray import tune

from experiments.plan.spaces import parse
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
        ("1e-5,3e-5", float, "1e-05,3e-05"),
        ("1e-5..1e-3:log:3", float, "1e-05,0.0001,0.001"),
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
        (tune.lograndint(1, 4), int, "1..3:log"),
        (tune.qrandint(1, 10, 3), int, "3,6,9"),
    ],
)
def test_words_say_what_was_parsed(words, kind, shown):
    found = str(parse("x", words, kind))
    assert found == (shown or words)
    assert str(parse("x", found, kind)) == found


@pytest.mark.parametrize("domain", [tune.quniform(0.9, 0.98, 0.02), tune.randn(), tune.qlograndint(1, 9, 2)])
def test_a_domain_without_words_is_refused_with_those_that_have_some(domain):
    with pytest.raises(ConfigError, match=r"no words here; accepted are tune\.choice, .* \(docs/library\.md\)"):
        parse("x", domain, float)


def test_both_ends_of_a_range_of_whole_numbers_are_drawn():
    domain = parse("x", "1..3", int)
    assert [domain.at(u) for u in (0, 0.3, 0.4, 0.6, 0.7, 0.99)] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("words", "kind", "reason"),
    [
        ("1e-2..1e-4:log", float, r"from the smaller to the larger number; did you mean 0\.0001\.\.0\.01:log\?"),
        ("0.9-0.99", float, r"did you mean 0\.9\.\.0\.99\?"),
        ("1e-4 - 1e-2", float, r"did you mean 1e-4\.\.1e-2\?"),
        ("64:512", int, r"did you mean 64\.\.512\?"),
        ("64 to 512", int, r"did you mean 64\.\.512\?"),
        ("0..1:log", float, "begins above 0"),
        ("1..2.5", int, "has whole ends"),
        *((words, float, "is no range") for words in ("a..b", "1..", "1..1e999", "1..2:lg", "1..2:1", "1..9:2:3")),
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
