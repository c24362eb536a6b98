"""Numbers put into words."""

import pytest

from experiments.ask.words import duration, short


@pytest.mark.parametrize(
    ("value", "text"), [(2e-3, "2e-3"), (0.98, "0.98"), (200, "200"), (1.234567e-3, "1.23e-3"), ("64-64", "64-64")]
)
def test_values_in_trial_names_are_short(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(89, "89 s"), (91, "2 min"), (5399, "90 min"), (9000, "2.5 h"), (200_000, "2 days")]
)
def test_durations_have_the_unit_that_suits_them(seconds, text):
    assert duration(seconds) == text
