"""What the pixel learner sees: the difference of two binary frames (Karpathy 2016, ``prepro``).

``preprocess`` is the definition, on dense pixels. ``changed_pixels`` computes the same thing from the few bytes of the
screen that changed, because about 25 of a difference frame's 6,400 pixels are not zero. ``present_pixels`` puts the
present frame beside it, some 35 pixels more.
"""

from itertools import groupby

import numpy as np
from scipy import sparse

from trainables.learning.inputs import SparseRows
from trainables.learning.kernels import SparseRow, compiled

Array = np.ndarray

HEIGHT = WIDTH = 80
NUM_PIXELS = HEIGHT * WIDTH
TOP, BOTTOM = 35, 195
BACKGROUND = (144, 109)
"""Red values that the original erases: the court, and the colour before the first serve."""

COURT = np.uint64(0x2222222222222222)
"""Eight pixels of the court, palette index 34."""

BINARY = np.ones(256, np.float32)
"""The binary value of each ALE palette index."""
BINARY[[0, 34, 228]] = 0  # those of red 0, 144 and 109 (``test_frames`` checks them on real games)


def preprocess(rgb: Array) -> Array:
    """Binary frame of a console picture: uint8 (210, 160, 3) to float32 (6400,).

    Crop rows 35:195, keep every second pixel, erase both backgrounds, set everything else to 1. The picture stays
    untouched (the original edits it in place).
    """
    red = rgb[TOP:BOTTOM:2, ::2, 0]
    return ((red != 0) & ~np.isin(red, BACKGROUND)).astype(np.float32).ravel()


@compiled()
def changed_pixels(screen: Array, before: Array, binary: Array, columns: Array, values: Array, start: int) -> int:
    """Compare a screen with the one before, and put it in that one's place.

    ``screen`` (210, 20) is the console's picture and ``before`` (80, 20) the kept rows of the last one, eight bytes in
    each uint64. ``binary`` (256,) is the binary value of each palette index. Writes the pixels whose binary value
    changed, ascending, into ``columns`` and by how much into ``values``, both from ``start`` on; returns where they
    end.
    """
    end = start
    for y in range(HEIGHT):
        difference = np.uint64(0)
        for x in range(before.shape[1]):  # a whole row at once, since most are as they were
            difference |= screen[TOP + 2 * y, x] ^ before[y, x]
        if difference == 0:
            continue
        for x in range(before.shape[1]):
            now, then = screen[TOP + 2 * y, x], before[y, x]
            if now != then:
                before[y, x] = now
                for kept in range(4):  # every second byte; the lowest is the leftmost
                    change = binary[now >> (16 * kept) & 255] - binary[then >> (16 * kept) & 255]
                    if change != 0:
                        columns[end] = y * WIDTH + 4 * x + kept
                        values[end] = change
                        end += 1
    return end


@compiled()
def present_pixels(screen: Array, binary: Array, columns: Array, values: Array, start: int) -> int:
    """Write the pixels that are 1, numbered from 6,400 on, and the value 1 each, from ``start`` on; return the end.

    ``screen`` (80, 20) are the kept rows of a picture, the rest is as for ``changed_pixels``.
    """
    end = start
    for y in range(HEIGHT):
        difference = np.uint64(0)
        for x in range(screen.shape[1]):
            difference |= screen[y, x] ^ COURT
        if difference == 0:
            continue
        for x in range(screen.shape[1]):
            if screen[y, x] != COURT:
                for kept in range(4):
                    if binary[screen[y, x] >> (16 * kept) & 255] != 0:
                        columns[end] = NUM_PIXELS + y * WIDTH + 4 * x + kept
                        values[end] = 1
                        end += 1
    return end


def stack_rows(rows: list[SparseRow], num_pixels: int = NUM_PIXELS) -> sparse.csr_matrix:
    """Frames of a game as one sparse matrix (n, ``num_pixels``), float32: all of a stretch, as they were seen."""
    starts = np.cumsum([0, *(stop - start for _, _, start, stop in rows)], dtype=np.int32)
    columns, values = [], []
    for _, group in groupby(rows, key=lambda row: id(row[0])):  # rows of one array follow each other in it
        some = list(group)
        used = slice(some[0][2], some[-1][3])
        columns.append(some[0][0][used])
        values.append(some[0][1][used])
    parts = np.concatenate(values), np.concatenate(columns), starts
    return sparse.csr_matrix(parts, (len(rows), num_pixels))


def packed(x_nd: sparse.csr_matrix) -> SparseRows:
    """Frames as small as they can travel, about 180 bytes a step; ``SparseRows.join`` gives them their types back."""
    rows = SparseRows.of(x_nd)
    return rows._replace(columns=rows.columns.astype(np.int16), values=rows.values.astype(np.int8))
