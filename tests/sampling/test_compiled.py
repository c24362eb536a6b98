"""The two forms of a loop, compiled and NumPy's, return the same bits; so nobody needs numba to repeat a result."""

import subprocess
import sys

import numpy as np

from trainables.learning.compiled import COMPILED
from trainables.learning.policies import sparse_logit, sparse_logit_numpy

PLAY = """
import hashlib, sys
import numpy as np
if sys.argv[1] == "numpy":
    sys.modules["numba"] = None  # as where it is not installed: importing it fails
from trainables.learning.compiled import COMPILED
from trainables.sampling.rollout import GameNumber
from trainables.sampling.worker import GradientWorker
assert COMPILED == (sys.argv[1] == "numba")
worker = GradientWorker("ALE/Pong-v5", hidden_size=200, gamma=0.98)
theta = 3 * worker.policy.mlp.init(np.random.default_rng(0))  # further from an even policy than a first theta is
game = worker.play(theta, GameNumber(seed=0, iteration=0, game=0))
print(game.summary[:2], hashlib.sha256(b"".join(part.tobytes() for part in game.gradient)).hexdigest())
"""


def test_a_game_and_its_gradient_are_bit_identical_with_and_without_numba():
    with_numba, without = (
        subprocess.run([sys.executable, "-c", PLAY, form], capture_output=True, text=True, check=True).stdout
        for form in ("numba", "numpy")
    )
    assert with_numba == without
    assert "-21.0" in without or "-20.0" in without or "-19.0" in without


def test_both_forms_of_the_logit_add_in_the_same_order():
    assert COMPILED, "the test extra brings numba"
    rng = np.random.default_rng(0)
    for hidden in (2, 3, 7, 200, 513):  # with one unit, NumPy sums pairwise
        w1, w2 = rng.standard_normal((900, hidden), np.float32), rng.standard_normal(hidden, np.float32)
        for lit in (0, 1, 28, 66):
            columns, values = rng.permutation(900)[:lit], rng.choice([-1, 1], lit).astype(np.float32)
            room = np.empty(hidden, np.float32)
            assert sparse_logit(w1, w2, columns, values, room) == sparse_logit_numpy(w1, w2, columns, values, room)
