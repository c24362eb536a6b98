"""Names from folders and buckets, before they become paths."""

import pytest

from experiments.disk.folders import checkpoint_folders, inside, trial_folders
from experiments.disk.spec import ExperimentSpec, find
from trainables.checks import ConfigError


def test_a_name_is_one_step_downwards_and_can_be_printed(tmp_path):
    for name in ("", ".", "..", "a/b", "/etc", "a\\b", "..\\b", "a\x00", "\x1b[31m", "a\nb", "\udcff", "\u202e"):
        with pytest.raises(ConfigError, match="accepted are names"):
            inside(tmp_path, name)
    for name in ("00003_lr=2e-3_h=64-64", "some sweep", "a#b%41?", "...", "\N{SNOWMAN}", "`x`[red]"):
        assert inside(tmp_path, name) == tmp_path / name


def test_a_link_in_an_experiment_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "00000_x").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="00000_x is a link"):
        trial_folders(tmp_path / "first")
    (tmp_path / "elsewhere" / "checkpoint_000000").symlink_to(tmp_path / "first")
    with pytest.raises(ConfigError, match="checkpoint_000000 is a link"):
        checkpoint_folders(tmp_path / "elsewhere")


def test_a_copy_of_a_trials_folder_is_no_trial_and_two_of_one_number_are_refused(tmp_path):
    for name in ("00000_x", "00001", "Copy of 00000_x", "000002_y", "\u0663" * 5, "00001-old"):
        (tmp_path / name).mkdir()
    found = {number: path.name for number, path in trial_folders(tmp_path).items()}
    assert found == {"00000": "00000_x", "00001": "00001"}
    (tmp_path / "00000_x.bak").mkdir()
    with pytest.raises(ConfigError, match=r"'00000_x' and '00000_x.bak' in .* are two folders of one trial"):
        trial_folders(tmp_path)


def test_a_copy_of_a_checkpoints_folder_is_no_checkpoint(tmp_path):
    copies = ("checkpoint_000000.bak", "checkpoint_x", "checkpoint_00000\u0661")
    for name in ("checkpoint_000010", "checkpoint_000002", *copies):
        (tmp_path / name).mkdir()
    assert [path.name for path in checkpoint_folders(tmp_path)] == ["checkpoint_000002", "checkpoint_000010"]


GRID = "PongPG_a9ff0_0000{0}_{0}_learning_rate=0.0010,seed=1_2026-11-27_21-22-35"
SEARCH = "PongTRPO_b30658b{0}_1{0}_max_kl=0.0017_2026-11-27_21-22-48"


@pytest.mark.parametrize(
    ("names", "keys"), [(GRID, ["a9ff0_00000", "a9ff0_00001"]), (SEARCH, ["b30658b0", "b30658b1"])]
)
def test_trials_of_a_tuner_of_ones_own_are_told_by_tunes_names_and_come_in_its_order(names, keys, tmp_path):
    (tmp_path / "experiment_state-2026-11-27_21-22-35.json").write_text("{}")
    for number in (1, 0):
        (tmp_path / names.format(number)).mkdir()
    assert [*trial_folders(tmp_path)] == keys


def test_a_tuners_folder_with_impossible_settings_or_of_both_learners_is_refused_in_one_line(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "experiment_state-1.json").write_text("{}")
    trial = tmp_path / "mine" / GRID.format(0)
    trial.mkdir()
    for params, line in (("{", "missing or damaged"), ('{"gama": 1}', "'gama'; did you mean 'gamma'")):
        (trial / "params.json").write_text(params)
        with pytest.raises(ConfigError, match=line):
            ExperimentSpec.read(tmp_path / "mine")
    (tmp_path / "mine" / SEARCH.format(0)).mkdir()
    with pytest.raises(ConfigError, match=r"trials of PongPG and PongTRPO$"):
        ExperimentSpec.read(find(tmp_path, "mine"))
