"""Seeds of configurations: who belongs together, and what their mean is, with numbers that can be reckoned by hand."""

from experiments.record.seeds import is_sound, means, members, of_some, with_diverged

TWO_OF_TWO = [[0, 1], [2, 3]]


def test_a_list_of_configurations_counts_from_0_in_the_order_of_the_trials():
    assert is_sound([0, 0, 1, 2, 2], 5)
    assert is_sound([], 0)
    assert not any(is_sound(wrong, 2) for wrong in ([0], [0, 0, 0], [1, 1], [0, 2], [1, 0], []))


def test_without_a_list_each_trial_is_a_configuration():
    assert members([0, 0, 1], 3) == [[0, 1], [2]]
    assert members(None, 2) == members([0, 0, 0], 2) == [[0], [1]], "one of another number of trials says nothing"
    assert of_some([0, 0, 1, 2], [1, 3]) == [0, 1]
    assert of_some(None, [1, 3]) is None


def test_the_score_is_the_mean_of_the_seeds_that_arrived():
    assert means([1.0, 3.0, None, -4.0], TWO_OF_TWO) == [2.0, -4.0]
    assert means([1.0, 3.0, None, None], TWO_OF_TWO) == [2.0, None]
    scores = [0.1, 0.2, 0.7]
    assert means(scores, [[0], [1], [2]]) == scores, "of one seed to the last bit"
    assert means([0.1, 0.2, 0.7], [[0, 1, 2]]) == means([0.7, 0.1, 0.2], [[0, 1, 2]]), "in whatever order"


def test_settings_that_diverge_now_and_then_were_favoured_where_such_a_seed_was_left_out():
    scores = [5.0, None, 3.0, 1.0]
    assert means(scores, TWO_OF_TWO) == [5.0, 2.0]
    assert with_diverged(scores, {1}, TWO_OF_TWO) == [5.0, 1.0, 3.0, 1.0], "as much as the worst"
    assert with_diverged([None, None, 3.0, 1.0], {1}, TWO_OF_TWO) == [None, None, 3.0, 1.0], "none has arrived"
    assert with_diverged([None, 2.0], {0}, [[0], [1]]) == [None, 2.0], "of one seed nothing changes"
