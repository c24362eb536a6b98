"""Names from folders, before they become paths."""

import pytest

from experiments.record import names
from trainables.checks import ConfigError


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "/etc", "a\\b", "..\\b", "a\x00", "\x1b[31m", "a\nb", "\udcff", "\u202e"]
)
def test_a_name_is_one_step_downwards_and_can_be_printed(name, tmp_path):
    with pytest.raises(ConfigError, match="accepted are names"):
        names.inside(tmp_path, name)


@pytest.mark.parametrize("name", ["00003_lr=2e-3_h=64-64", "some sweep", "a#b%41?", "...", "\N{SNOWMAN}", "`x`[red]"])
def test_every_other_name_is_the_name_of_something_inside(name, tmp_path):
    assert names.inside(tmp_path, name) == tmp_path / name


def test_a_link_in_an_experiment_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "00000_x").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="00000_x is a link"):
        names.trials(tmp_path / "first")
    (tmp_path / "elsewhere" / "checkpoint_000000").symlink_to(tmp_path / "first")
    with pytest.raises(ConfigError, match="checkpoint_000000 is a link"):
        names.checkpoints(tmp_path / "elsewhere")


def test_a_backup_of_a_trial_took_its_place_in_silence(tmp_path):
    for name in ("00000_x", "00001", "Copy of 00000_x", "000002_y", "\u0663" * 5, "00001-old"):
        (tmp_path / name).mkdir()
    assert {number: path.name for number, path in names.trials(tmp_path).items()} == {
        "00000": "00000_x",
        "00001": "00001",
    }
    (tmp_path / "00000_x.bak").mkdir()
    with pytest.raises(ConfigError, match=r"'00000_x' and '00000_x.bak' in .* are two folders of one trial"):
        names.trials(tmp_path)


def test_a_backup_of_a_checkpoint_was_a_value_error(tmp_path):
    for name in (
        "checkpoint_000010",
        "checkpoint_000002",
        "checkpoint_000000.bak",
        "checkpoint_x",
        "checkpoint_00000\u0661",
    ):
        (tmp_path / name).mkdir()
    assert [path.name for path in names.checkpoints(tmp_path)] == ["checkpoint_000002", "checkpoint_000010"]
