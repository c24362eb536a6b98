"""Trials' names, which are folders' names, and numbers in them."""

from experiments.ask.storage import is_name
from experiments.plan.trial_names import LONGEST, in_words, short, trial_name


def test_a_name_says_what_is_swept_in_three_digits():
    config = {"learning_rate": 2e-3, "hidden_sizes": "64-64", "gamma": 0.99}
    assert trial_name("00003", config, [*config]) == "00003_lr=2e-3_h=64-64_g=0.99"
    assert [short(value) for value in (1.234567e-3, 200, 0.98, 0.0, 1500.0)] == ["1.23e-3", "200", "0.98", "0", "1.5e3"]


def test_the_baseline_is_called_so_in_place_of_its_values():
    config = {"learning_rate": 2e-3, "gamma": 0.99, "num_workers": 2, "seed": 7}
    names = [trial_name("00003", config, ["gamma", "num_workers"], own) for own in ({"gamma": 0.99}, {"gamma": 0.9})]
    assert names == ["00003_baseline_w=2", "00003_g=0.99_w=2"]


def test_a_name_is_that_of_one_folder_and_short_enough():
    name = trial_name("00003", {"env_id": "ALE/Pong-v5", "gamma": 0.99}, ["env_id", "gamma"])
    assert name == "00003_env_id=ALE-Pong-v5_g=0.99"
    assert is_name(name)
    config = {f"setting_number_{index}": index / 7 for index in range(30)}
    name = trial_name("00003", config, [*config])
    assert 100 < len(name) <= LONGEST
    assert name.startswith("00003_setting_number_0=0_setting_number_1=0.143_")


def test_numbers_that_follow_each_other_are_a_range():
    shown = [in_words(numbers) for numbers in ([3], [3, 4], [3, 4, 5], [3, 5, 6])]
    assert shown == ["00003", "00003, 00004", "00003 to 00005", "00003, 00005, 00006"]
