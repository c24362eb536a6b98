"""What the pixel learner sees: the difference of two binary frames (seed document 002, ``preprocess``).

``preprocess`` is the definition, on dense pixels. ``DifferenceFrames`` computes the same thing from the few bytes of
the screen that changed, because a difference frame has about 25 lit pixels of 6,400.
"""

import ale_py
import numpy as np
from scipy import sparse

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


class DifferenceFrames:
    """Watches a console and tells which pixels of the binary frame changed since the last look.

    A screen row is compared four bytes (two kept pixels) at a time: a paddle is as wide as one such word. Only words
    that changed are looked at further.
    """

    def __init__(self, ale: ale_py.ALEInterface) -> None:
        self._ale = ale
        self._screen = np.zeros((210, 160), np.uint8)
        self._kept_rows = self._screen[TOP:BOTTOM:2].view(np.uint32)  # (80, 40), a view
        words = np.zeros((2, NUM_PIXELS // 2), np.uint32)
        self._now, self._before = ((row, row.view(np.uint8).reshape(-1, 4)) for row in words)
        self._changed = np.empty(words.shape[1], bool)
        self._columns = np.arange(NUM_PIXELS).reshape(-1, 2)  # pixel numbers of each word
        self._lit = np.ones(256, np.float32)
        self._lit[_BLACK_OR_BACKGROUND] = 0

    def reset(self, screen: Array) -> SparseRow:
        """Start a game at ``screen`` (uint8 (210, 160) palette indices). The first difference is zero."""
        np.copyto(self._screen, screen)
        np.copyto(self._now[0].reshape(HEIGHT, -1), self._kept_rows)
        return np.empty(0, np.intp), np.empty(0, np.float32)

    def observe(self) -> SparseRow:
        """The console's present screen minus the last one: (pixel numbers, values in {-1, 0, 1})."""
        self._now, self._before = self._before, self._now
        now_words, now_bytes = self._now
        before_words, before_bytes = self._before
        self._ale.getScreen(self._screen)
        np.copyto(now_words.reshape(HEIGHT, -1), self._kept_rows)
        changed = np.not_equal(now_words, before_words, out=self._changed).nonzero()[0]
        lit = self._lit
        difference = lit.take(now_bytes.take(changed, axis=0)) - lit.take(before_bytes.take(changed, axis=0))
        return self._columns.take(changed, axis=0).ravel(), difference[:, ::2].ravel()


def stack_rows(rows: list[SparseRow]) -> sparse.csr_matrix:
    """Difference frames of a game as one sparse matrix (n, 6400), float32, without stored zeros."""
    columns, values = (np.concatenate(part) for part in zip(*rows, strict=True))
    starts = np.cumsum([0, *(len(part) for part, _ in rows)])
    matrix = sparse.csr_matrix((values, columns, starts), (len(rows), NUM_PIXELS))
    matrix.eliminate_zeros()
    return matrix
