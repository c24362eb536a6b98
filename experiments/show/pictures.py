"""The pictures that a checkpoint holds, or that can be drawn from it."""

import io
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from experiments.show.neurons import neurons_png
from trainables import checkpoints
from trainables.config import PGConfig
from trainables.sampling.evaluation import FILM
from trainables.trainable import PongPG


class Picture(NamedTuple):
    """An encoded picture."""

    tag: str
    data: bytes  # PNG or GIF
    step: int  # agent steps of the trial when it was made

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels."""
        width, height = Image.open(io.BytesIO(self.data)).size
        return height, width


def pictures_of(folder: str | Path) -> list[Picture]:
    """The film of an evaluation and the neurons of the pixel learner, if the checkpoint came with an evaluation.

    Empty for a checkpoint that cannot be read: that must not end a trial.
    """
    folder = Path(folder)
    try:
        state = checkpoints.load_state(folder)
        if state.evaluation.get("eval/iteration") != state.iteration:
            return []  # most checkpoints: their arrays, some megabytes, need not be read
        arrays, _ = checkpoints.load(folder, state.learner)
    except checkpoints.CheckpointError:
        return []
    step = state.episodes.steps
    pictures = []
    if (folder / FILM).is_file():
        pictures.append(Picture("eval/game", (folder / FILM).read_bytes(), step))
    if state.learner == PongPG.learner:
        settings = PGConfig.from_dict(state.config)
        pictures.append(Picture("policy/neurons", neurons_png(settings, arrays["theta"]), step))
    return pictures
