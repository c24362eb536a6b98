import io

import numpy as np
from PIL import Image

from experiments.show.pictures import GAP, HEADER, NEGATIVE, POSITIVE, ZOOM, neurons_png
from trainables.config import PGConfig
from trainables.learning.policies import BernoulliPolicy

CELL = 80 * ZOOM + GAP


def test_neurons_stand_in_the_order_of_their_output_weights_in_colours_symmetric_about_zero():
    policy = BernoulliPolicy(6400, 30)
    theta = np.zeros(policy.mlp.num_params, np.float32)
    (w1, _), (w2, _) = policy.mlp.layers(theta)
    w2[:, 0] = 0.1
    w2[7], w2[12] = 2, -3
    w1[:100, :], w1[-100:, :] = 1, -1  # as large on both sides of 0
    w1[80 * 40 + 20, 7], w1[80 * 40 + 20, 12] = 1, -1
    image = Image.open(
        io.BytesIO(neurons_png(PGConfig(method="reinforce", slots=0, games_per_update=1, hidden_size=30), theta))
    ).convert("RGB")
    picture = np.asarray(image)
    first = picture[HEADER : HEADER + 160, GAP : GAP + 160]
    last = picture[HEADER + 4 * CELL : HEADER + 4 * CELL + 160, GAP + 4 * CELL : GAP + 4 * CELL + 160]
    for tile, colour in ((first, POSITIVE), (last, NEGATIVE)):
        assert tuple(tile[40 * ZOOM, 20 * ZOOM]) == colour
        assert tuple(tile[40 * ZOOM, 30 * ZOOM]) == (255, 255, 255), "zero is white"
        assert tuple(tile[0, 0]) == POSITIVE
        assert tuple(tile[-1, -1]) == NEGATIVE


def test_a_network_with_fewer_neurons_than_tiles_is_shown_too():
    theta = BernoulliPolicy(6400, 3).mlp.init(np.random.default_rng(0))
    assert Image.open(
        io.BytesIO(neurons_png(PGConfig(method="reinforce", slots=0, games_per_update=1, hidden_size=3), theta))
    ).size == (
        GAP + 5 * CELL,
        HEADER + 5 * CELL,
    )
