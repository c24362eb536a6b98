"""Populations that train each other."""

from pathlib import Path

import numpy as np

from trainables import checkpoints


def newest_arrays(trial):
    """The arrays of a trial's newest checkpoint, which need not be the one with most iterations."""
    return dict(np.load([*checkpoints.numbered(Path(trial)).values()][-1] / "arrays.npz"))
