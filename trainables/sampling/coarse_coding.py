"""Coarse coding: where ball and paddle are, in a form that a small network can read.

Of Pong's memory one byte is the ball's row and another the paddle's. Whether the paddle stands a few rows too high is a
small difference of two inputs, and a network of 64 tanh units learns slowly to tell it from the next one. Spread over
bins, every position has a weight of its own (Sutton and Barto 2018, section 9.5.3). The bins overlap and
add up to one, so that a weighted sum of them is a piecewise linear function of the position, with a knot at every bin.
"""

import numpy as np

Array = np.ndarray

BALL_X, BALL_Y, PADDLE_Y = 49, 54, 51
"""Addresses of the ball's column and row and of our paddle's row, which grow to the right and downwards."""

BINS = 32
"""Bins of each position: one every 8 columns or rows."""

NUM_POSITIONS = 4
"""The three positions, and the rows from our paddle to the ball: 0 to 255 stands for -64 to 64 of these."""


def _tents() -> Array:
    """What each bin makes of each byte, uint8 (256, BINS): 255 at its centre, 0 from the next bin's centre on."""
    bins_from_centre = np.arange(256)[:, None] / 255 * (BINS - 1) - np.arange(BINS)
    return np.rint(255 * np.clip(1 - np.abs(bins_from_centre), 0, 1)).astype(np.uint8)


TENTS = _tents()


def coarse_positions(memory: Array) -> Array:
    """The bins of all positions, uint8 (NUM_POSITIONS * BINS,), of a console's memory, uint8 (128,)."""
    x, y, paddle = memory.item(BALL_X), memory.item(BALL_Y), memory.item(PADDLE_Y)
    rows_apart = min(max(2 * (y - paddle) + 128, 0), 255)
    return TENTS.take((x, y, paddle, rows_apart), axis=0).ravel()
