"""Trials' names, which are folders' names."""

from experiments.plan.trial_names import LONGEST, trial_name
from experiments.record.folders import is_name


def test_a_name_says_what_is_swept():
    config = {"learning_rate": 2e-3, "hidden_sizes": "64-64", "gamma": 0.99}
    assert trial_name("00003", config, [*config]) == "00003_lr=2e-3_h=64-64_g=0.99"


def test_a_swept_environment_became_a_folder_in_a_folder():
    name = trial_name("00003", {"env_id": "ALE/Pong-v5", "gamma": 0.99}, ["env_id", "gamma"])
    assert name == "00003_env_id=ALE-Pong-v5_g=0.99"
    assert is_name(name)


def test_many_swept_settings_made_a_name_longer_than_a_folder_can_have():
    config = {f"setting_number_{index}": index / 7 for index in range(30)}
    name = trial_name("00003", config, [*config])
    assert 100 < len(name) <= LONGEST
    assert name.startswith("00003_setting_number_0=0e0_setting_number_1=0.143_")
