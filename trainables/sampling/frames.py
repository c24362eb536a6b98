"""What the pixel learner sees: the difference of two binary frames (seed document 002, ``preprocess``).

``preprocess`` is the definition, on dense pixels. ``DifferenceFrames`` computes the same thing from the few bytes of
the screen that changed, because a difference frame has about 25 lit pixels of 6,400.
"""

import ale_py
import numpy as np
from scipy import sparse

from trainables.learning.compiled import compiled

Array = np.ndarray
SparseRow = tuple[Array, Array]

HEIGHT = WIDTH = 80
NUM_PIXELS = HEIGHT * WIDTH
TOP, BOTTOM = 35, 195
BACKGROUND = (144, 109)
"""Red values that the seeds erase: the court, and the colour before the first serve."""

_BLACK_OR_BACKGROUND = [0, 34, 228]
"""ALE palette indices of red 0, 144 and 109 (``test_frames`` checks them on real games)."""


def preprocess(rgb: Array) -> Array:
    """Binary frame of a console picture: uint8 (210, 160, 3) to float32 (6400,).

    Crop rows 35:195, keep every second pixel, erase both backgrounds, set everything else to 1. The picture stays
    untouched (the seed edits it in place).
    """
    red = rgb[TOP:BOTTOM:2, ::2, 0]
    return ((red != 0) & ~np.isin(red, BACKGROUND)).astype(np.float32).ravel()


def changed_pixels_numpy(screen: Array, before: Array, lit: Array, columns: Array, values: Array) -> int:
    """``changed_pixels`` in NumPy, four bytes (two kept pixels) at a time: a paddle is as wide as one such word."""
    now_words, before_words = screen[TOP:BOTTOM:2].view(np.uint32), before.view(np.uint32)
    words = (now_words != before_words).ravel().nonzero()[0]
    now, then = now_words.ravel().take(words), before_words.ravel().take(words)
    difference = (lit.take(now.view(np.uint8)) - lit.take(then.view(np.uint8)))[::2]
    np.copyto(before_words, now_words)
    pixels = difference.nonzero()[0]
    count = len(pixels)
    columns[:count] = 2 * words.take(pixels >> 1) + (pixels & 1)
    values[:count] = difference.take(pixels)
    return count


@compiled(otherwise=changed_pixels_numpy)
def changed_pixels(screen: Array, before: Array, lit: Array, columns: Array, values: Array) -> int:
    """Compare a screen with the one before, and put it in that one's place.

    ``screen`` (210, 20) is the console's picture and ``before`` (80, 20) the kept rows of the last one, eight bytes in
    each uint64. ``lit`` (256,) is the binary value of each palette index. Writes the pixels whose binary value changed,
    ascending, into ``columns`` and by how much into ``values``; returns how many there are.
    """
    count = 0
    for y in range(HEIGHT):
        for x in range(before.shape[1]):
            now, then = screen[TOP + 2 * y, x], before[y, x]
            if now != then:  # seldom
                before[y, x] = now
                for kept in range(4):  # every second byte; the lowest is the leftmost
                    change = lit[now >> (16 * kept) & 255] - lit[then >> (16 * kept) & 255]
                    if change != 0:
                        columns[count] = y * WIDTH + 4 * x + kept
                        values[count] = change
                        count += 1
    return count


class DifferenceFrames:
    """Watches a console and tells which pixels of the binary frame changed since the last look."""

    def __init__(self, ale: ale_py.ALEInterface) -> None:
        self._ale = ale
        self._screen = np.zeros((210, 160), np.uint8)
        self._words = self._screen.view(np.uint64)
        self._before = np.zeros((HEIGHT, 20), np.uint64)
        self._lit = np.ones(256, np.float32)
        self._lit[_BLACK_OR_BACKGROUND] = 0
        self._columns, self._values = np.empty(NUM_PIXELS, np.intp), np.empty(NUM_PIXELS, np.float32)

    def reset(self, screen: Array) -> SparseRow:
        """Start a game at ``screen`` (uint8 (210, 160) palette indices). The first difference is zero."""
        self._before[:] = screen.view(np.uint64)[TOP:BOTTOM:2]
        return self._columns[:0].copy(), self._values[:0].copy()

    def observe(self) -> SparseRow:
        """The console's present screen minus the last one: (pixel numbers, values in {-1, 1})."""
        self._ale.getScreen(self._screen)
        count = changed_pixels(self._words, self._before, self._lit, self._columns, self._values)
        return self._columns[:count].copy(), self._values[:count].copy()


def stack_rows(rows: list[SparseRow]) -> sparse.csr_matrix:
    """Difference frames of a game as one sparse matrix (n, 6400), float32, without stored zeros."""
    columns, values = (np.concatenate(part) for part in zip(*rows, strict=True))
    starts = np.cumsum([0, *(len(part) for part, _ in rows)])
    matrix = sparse.csr_matrix((values, columns, starts), (len(rows), NUM_PIXELS))
    matrix.eliminate_zeros()
    return matrix
