"""What a person may type: numbers, times, switches and paths in the notations of other programs."""

import math
import pwd
from pathlib import Path

import pytest

from experiments.ask.command_line import parse
from experiments.ask.flags import RunFlags, SweepFlags, TrainFlags
from experiments.ask.notations import seconds, whole
from experiments.plan.spaces import parse as domain
from experiments.subcommands.look import Table
from tests.helpers.programs import refused
from trainables.checks import ConfigError
from trainables.config import PGConfig, TRPOConfig


@pytest.mark.parametrize("word", ["1000000", "1_000_000", "1,000,000", "1e6", "1E6", "1000000.0", "1M", "1000k"])
def test_a_whole_number_may_be_written_in_any_notation(word):
    assert parse(TrainFlags(), args=["--timesteps", word]).timesteps == 1_000_000


def test_a_setting_of_a_sweep_may_be_written_in_any_notation_too():
    typed = ("segment_length=1_000", "slots=1e1", "learning_rate=.001", "game_timeout_s=10m", "method=ppo")
    found = PGConfig.from_dict(SweepFlags(set=typed).settings)
    assert (found.segment_length, found.slots, found.learning_rate, found.game_timeout_s) == (1000, 10, 0.001, 600.0)
    assert type(whole("1e3")) is int
    assert parse(PGConfig(), args=["--game-timeout-s", "10m"]).game_timeout_s == 600.0


@pytest.mark.parametrize("word", ["512.5", "x", "", "inf", "nan", "1e999", "1,00", "M", "1.5k5"])
def test_what_is_no_whole_number_is_said_to_be_none(word, capsys):
    with pytest.raises(SystemExit):
        parse(TrainFlags(), args=["--timesteps", word])
    assert f"Error parsing --timesteps: {word} is no whole number" in capsys.readouterr().err.replace("  ", f" {word} ")


def test_a_setting_that_is_a_whole_number_is_one_also_where_json_or_tune_makes_it_a_float():
    config = PGConfig.from_dict({"segment_length": 1e3})
    assert config.segment_length == 1000
    assert type(config.segment_length) is int
    with pytest.raises(ConfigError, match=r"segment_length=512\.5: accepted is a whole number >= 1"):
        PGConfig.from_dict({"segment_length": 512.5})


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("90", 90),
        ("1.5", 1.5),
        ("90s", 90),
        ("10m", 600),
        ("10 min", 600),
        ("1h30m", 5400),
        ("1:30:00", 5400),
        ("2hours", 7200),
        ("90 secs", 90),
        ("1.5h", 5400),
        ("2d", 172800),
    ],
)
def test_a_time_may_have_a_unit(word, expected):
    assert seconds(word) == expected
    assert parse(SweepFlags(), args=["--time-budget-s", word]).time_budget_s == expected


@pytest.mark.parametrize("word", ["10x", "m", "10m5", "ten", "-5m", "1h-3m", "1:30"])
def test_what_is_no_time_is_refused_with_what_is_accepted(word):
    with pytest.raises(ValueError, match="accepted are"):
        seconds(word)


@pytest.mark.parametrize(
    ("words", "on"),
    [
        (["--verbose"], True),
        (["--no-verbose"], False),
        (["--verbose", "True"], True),
        (["--verbose", "false"], False),
        (["--verbose=True"], True),
        (["--verbose=false"], False),
        (["--verbose", "1"], True),
        (["--verbose=off"], False),
        ([], False),
    ],
)
def test_a_switch_has_both_forms_and_may_have_a_value(words, on):
    flags = parse(RunFlags(), args=[*words, "--name", "true"])
    assert (flags.verbose, flags.name) == (on, "true"), "and other flags keep theirs"


def test_behind_a_switch_a_word_that_may_be_a_name_is_one_where_names_are_accepted():
    flags = parse(Table(), args=["--rows", "1"])
    assert (flags.rows, flags.experiments) == (True, ("1",))
    flags = parse(Table(), args=["--rows=0", "--windows", "False", "first"])
    assert (flags.rows, flags.windows, flags.experiments) == (False, False, ("first",))


def test_a_switch_with_another_value_is_refused():
    for word in ("--verbose=maybe", "--verbose="):
        with pytest.raises(ConfigError, match="accepted are True and False"):
            parse(RunFlags(), args=[word])


def test_a_setting_that_is_a_switch_may_be_written_as_in_python():
    assert parse(SweepFlags(), args=["--set", "coarse_coding=False"]).settings == {"coarse_coding": False}
    assert domain("coarse_coding", "True,false", bool).values == [True, False]


def test_a_switch_that_is_on_by_default_has_both_forms_too():
    for words, on in (
        (["--coarse-coding"], True),
        (["--no-coarse-coding"], False),
        (["--coarse-coding", "False"], False),
    ):
        assert parse(TRPOConfig(), args=words).coarse_coding == on


@pytest.mark.parametrize(
    ("words", "has_one"),
    [
        ([], True),
        (["--no-baseline"], False),
        (["--no_baseline"], False),
        (["--baseline", "False"], False),
        (["--baseline=0"], False),
        (["--grid"], False),
        (["--grid", "--baseline"], True),
    ],
)
def test_a_switch_may_be_neither_on_nor_off_until_it_is_typed(words, has_one):
    assert parse(SweepFlags(), args=words).has_baseline == has_one


def test_the_home_folder_is_meant_wherever_a_path_begins_with_a_tilde(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for words in (["--storage-path=~/x"], ["--storage-path", "~/x"]):
        assert parse(RunFlags(), args=words).folder == tmp_path / "x"
    assert parse(RunFlags(), args=["--resume", "~/x/run"]).resume == f"{tmp_path}/x/run"
    assert parse(SweepFlags(), args=["--space=~/s.py"]).space == Path(tmp_path, "s.py")
    assert parse(RunFlags(), args=["--name", "a~b"]).name == "a~b"
    assert parse(RunFlags(), args=["--storage-path=~root/x"]).folder == Path(pwd.getpwnam("root").pw_dir, "x")
    assert f"{tmp_path}/a2c.py:A2C: there is no such file" in refused("train.py", "~/a2c.py:A2C")
    assert not math.isnan(seconds("0"))
