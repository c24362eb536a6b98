"""Segments: games that go on in another place are the games that they would have been, also from a checkpoint."""

import numpy as np
import pytest

from trainables.algorithms import make_algorithm
from trainables.config import PGConfig, TRPOConfig
from trainables.sampling.console import PACKED_BYTES
from trainables.sampling.rollout import Suspended
from trainables.sampling.segments import CODES, Segment, Slot, play_segment, slot_arrays, slots_of

CONFIGS = {
    "pixels": PGConfig(hidden_size=4),
    "memory": TRPOConfig(hidden_sizes=(4,)),
    "no frame skip": PGConfig(env_id="PongNoFrameskip-v4", hidden_size=4),
}


class Player:
    """A worker and what it plays with."""

    def __init__(self, config):
        algorithm = make_algorithm(config)
        self.worker = algorithm.worker_factory()()
        self.weights = algorithm.playing_weights(algorithm.init(np.random.default_rng(0)))

    def play(self, segment):
        return play_segment(self.worker.env, lambda rng: self.worker.policy.sampler(self.weights, rng), segment)


@pytest.fixture(scope="module", params=CONFIGS)
def players(request):
    """Two workers."""
    return Player(CONFIGS[request.param]), Player(CONFIGS[request.param])


def segment(update, slot, length=150):
    return Segment(seed=3, update=update, number=1, length=length, slot=slot)


def assert_same_play(one, other):
    for part, expected in zip(one.parts, other.parts, strict=True):
        for field in ("action_n", "reward_n", "truncated", "steps_since_reward", "steps_before"):
            np.testing.assert_array_equal(getattr(part, field), getattr(expected, field), err_msg=field)
        obs_nd, expected_nd = (
            each.obs_nd if isinstance(each.obs_nd, np.ndarray) else each.obs_nd.toarray() for each in (part, expected)
        )
        np.testing.assert_array_equal(obs_nd, expected_nd)
    assert one.games == other.games
    assert one.slot == other.slot


def without_states(slot):
    """The slot as it comes back from a checkpoint."""
    (loaded,) = slots_of(slot_arrays([slot]))
    assert loaded.game.state == ()
    return loaded


def test_a_slot_goes_on_on_any_worker_and_from_a_checkpoint_with_the_same_bits(players):
    one, other = players
    first = one.play(segment(0, None))
    second = one.play(segment(1, first.slot))
    other.play(segment(7, None, length=33))  # what a worker played before changes nothing
    assert_same_play(other.play(segment(1, first.slot)), second)
    assert_same_play(other.play(segment(1, without_states(first.slot))), second)
    third = one.play(segment(2, second.slot))
    assert_same_play(other.play(segment(2, without_states(second.slot))), third)


def test_segments_are_the_game_that_their_actions_make(players):
    """The frames of one long segment, given to a fresh console, come to the same pictures, rewards and end."""
    player, other = players
    whole = player.play(segment(0, None, length=500))
    (part,) = whole.parts
    observations, rewards = zip(*other.worker.env.replay(whole.slot.game.played, np.random.default_rng(0)), strict=True)
    np.testing.assert_array_equal(rewards, part.reward_n)
    stacked = [player.worker.env.stack([each]) for each in (part.last_obs, observations[-1])]
    assert (stacked[0] != stacked[1]).sum() == 0
    assert (whole.slot.length, whole.slot.episode_return) == (500, part.reward_n.sum())


def test_a_game_that_ends_is_counted_once_with_all_its_steps_and_the_next_one_begins():
    player = Player(CONFIGS["pixels"])
    slot, games, rewards, steps = None, [], [], 0
    for update in range(8):
        played = player.play(segment(update, slot, length=300))
        assert sum(len(part.action_n) for part in played.parts) == 300
        games += played.games
        rewards += [reward for part in played.parts for reward in part.reward_n]
        slot, steps = played.slot, steps + 300
        assert [part.truncated for part in played.parts] == [False] * len(played.games) + [True]
    assert len(games) == 2
    assert sum(game.length for game in games) + slot.length == steps
    assert sum(game.episode_return for game in games) + slot.episode_return == sum(rewards)
    assert all(-21 <= game.episode_return <= -15 for game in games)


def test_a_game_that_ends_with_its_segment_leaves_an_empty_slot():
    player = Player(CONFIGS["pixels"])
    length = player.play(segment(0, None, length=1500)).games[0].length
    played = player.play(segment(0, None, length=length))
    assert (len(played.parts), len(played.games), played.slot) == (1, 1, None)


def test_steps_of_the_game_and_since_the_last_point_count_across_segments_and_from_a_checkpoint():
    player, slot, since = Player(CONFIGS["memory"]), None, 0
    for update in range(4):
        played = player.play(segment(update, slot, length=100))
        (part,) = played.parts
        assert (part.steps_before, part.steps_since_reward) == (100 * update, since)
        for reward in part.reward_n:
            since = 0 if reward else since + 1
        slot = played.slot
    (part,) = player.play(segment(4, without_states(slot))).parts
    assert (part.steps_before, part.steps_since_reward) == (400, since)
    played = player.play(segment(4, slot, length=1500))
    assert [part.steps_before for part in played.parts][:2] == [400, 0], "a new game begins anew"


def test_arrays_hold_the_frames_at_two_bits_each():
    played = CODES[np.random.default_rng(0).integers(0, 3, 4 * 123)].tobytes()
    arrays = slot_arrays([None, Slot(Suspended(played, (b"state",)))])
    assert arrays["slots.frames"].tolist() == [0, 492]
    assert arrays["slots.played"].shape == (2, PACKED_BYTES)
    assert slots_of(arrays) == [None, Slot(Suspended(played, ()))]


@pytest.mark.parametrize(
    ("frames", "packed", "message"),
    [
        (-1, 0, "slot 0 has -1 frames"),
        (2**40, 0, "slot 0 has 1099511627776 frames; a game has fewer than 108000"),
        (8, 255, "slot 0 has actions that no game has"),
        (0, 1, "slot 0 has actions that no game has"),
    ],
)
def test_a_slot_that_no_game_leaves_is_refused(frames, packed, message):
    arrays = slot_arrays([None])
    arrays["slots.frames"][0], arrays["slots.played"][0, 0] = frames, packed
    with pytest.raises(ValueError, match=message):
        slots_of(arrays)


@pytest.mark.parametrize("frames", [3, 4 * 26_999], ids=["half a step", "a game that is over"])
def test_frames_that_are_no_game_that_goes_on_are_refused_by_the_console(frames):
    player = Player(CONFIGS["memory"])
    slot = Slot(Suspended(CODES[np.zeros(frames, int)].tobytes(), ()))
    with pytest.raises(ValueError, match=f"{frames} frames"):
        player.play(segment(0, slot, length=1))
