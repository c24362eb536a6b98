"""Pictures of a policy: the film that a checkpoint holds, what its hidden units look for, and films side by side."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from trainables import checkpoints
from trainables.algorithms import PIXEL_ALGORITHMS
from trainables.config import PGConfig
from trainables.sampling.film import CONSOLE_SIZE, UNUSED, Film, console_pixels, encode, letters
from trainables.sampling.film import GAP as FILM_GAP
from trainables.sampling.frames import HEIGHT, WIDTH
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
            return []  # So it is of most checkpoints, whose arrays, some megabytes, need not be read.
        arrays, _ = checkpoints.load(folder, state.learner)
    except checkpoints.CheckpointError:
        return []
    step = state.episodes.steps
    pictures = []
    if (folder / checkpoints.FILM).is_file():
        pictures.append(Picture("film/game", (folder / checkpoints.FILM).read_bytes(), step))
    if state.learner == PongPG.learner:
        settings = PGConfig.from_dict(state.config)
        pictures.append(Picture("policy/neurons", neurons_png(settings, arrays["theta"]), step))
    return pictures


ROWS = COLUMNS = 5
"""Of units, in the picture of neurons."""

ZOOM, GAP, HEADER = 2, 6, 44
"""Pixels of the picture for each weight, between units, and above all units for two lines of text."""

LEVELS = 64
"""Weights have LEVELS - 1 colours: an odd number, so that the middle one is 0."""

BLACK, WHITE = LEVELS, LEVELS + 1
"""Palette numbers of letters and of what lies behind them and between units."""

NEGATIVE, POSITIVE = (0, 114, 178), (213, 94, 0)  # Okabe and Ito's blue and vermilion


def neurons_png(settings: PGConfig, theta_p: np.ndarray) -> bytes:
    """The hidden units with the largest output weights as one PNG, each with its weights of the difference frame.

    They stand in the order of their output weights: the first make up more probable, the last down. Every unit has a
    scale of its own, symmetric about 0 and cut at the 99.5th percentile of its weights' absolute values.
    """
    w1, output_h = PIXEL_ALGORITHMS[settings.method](settings).output_weights(theta_p)
    largest = np.argsort(-np.abs(output_h), kind="stable")[: ROWS * COLUMNS]
    shown = largest[np.argsort(-output_h[largest], kind="stable")]
    height, width = HEIGHT * ZOOM, WIDTH * ZOOM
    picture = np.full((HEADER + ROWS * (height + GAP), GAP + COLUMNS * (width + GAP)), WHITE, np.uint8)
    for index, unit in enumerate(shown):
        row, column = divmod(index, COLUMNS)
        top, left = HEADER + row * (height + GAP), GAP + column * (width + GAP)
        tile = _levels(w1[:, unit]).reshape(HEIGHT, WIDTH).repeat(ZOOM, axis=0).repeat(ZOOM, axis=1)
        picture[top : top + height, left : left + width] = tile
    image = Image.fromarray(picture)
    image.putpalette(_palette().tobytes())
    lines = (
        f"{len(shown)} of {len(output_h)} hidden units, from up (first, {output_h[shown[0]]:+.2f})"
        f" to down (last, {output_h[shown[-1]]:+.2f})\n"
        "Weights of the 80x80 difference frame: orange positive, white 0, blue negative"
    )
    ImageDraw.Draw(image).text((GAP, 2), lines, fill=BLACK, font=ImageFont.load_default(14))
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _levels(weight_d: np.ndarray) -> np.ndarray:
    """Weights as palette numbers 0 to LEVELS - 2, with 0 in the middle."""
    scale = np.percentile(np.abs(weight_d), 99.5) or 1.0
    half = LEVELS // 2 - 1
    return (np.rint(half * np.clip(weight_d / scale, -1, 1)) + half).astype(np.uint8)


def _palette() -> np.ndarray:
    """LEVELS - 1 colours from negative over white to positive, one without a use, then ``BLACK`` and ``WHITE``."""
    stops = np.array([NEGATIVE, (255, 255, 255), POSITIVE])
    share = np.linspace(-1, 1, LEVELS - 1)
    colours = np.column_stack([np.interp(share, [-1, 0, 1], stops[:, channel]) for channel in range(3)])
    unused_and_black = np.zeros((2, 3))
    white = np.full((1, 3), 255)
    return np.vstack([colours, unused_and_black, white]).round().astype(np.uint8)


CAPTION_ROWS = 48
"""Pixels above each screen, for two lines of text."""


def side_by_side(films: Sequence[Film], captions: Sequence[tuple[str, str]]) -> bytes:
    """An animated GIF of games that start together, each under two lines of text. One that is over stands still."""
    height, width = CONSOLE_SIZE
    lefts = [index * (width + FILM_GAP) for index in range(len(films))]
    lines = []
    for left, (first, second) in zip(lefts, captions, strict=True):
        lines += [(left + 4, 3, first), (left + 4, 24, second)]
    blank = letters((CAPTION_ROWS + height, lefts[-1] + width), lines)
    pictures = []
    for moment in range(max(len(film.shots) for film in films)):
        picture = blank.copy()
        for left, film in zip(lefts, films, strict=True):
            screen = film.shots[min(moment, len(film.shots) - 1)].screen
            picture[CAPTION_ROWS:, left : left + width] = console_pixels(screen)
        pictures.append(picture)
    return encode(pictures, _common_palette(films), films[0].shot_s)


def _common_palette(films: Sequence[Film]) -> np.ndarray:
    """The colours of the console's numbers, as far as any of the films has them."""
    palette = UNUSED.copy()
    for film in films:
        seen = (film.palette != UNUSED).any(axis=1)
        palette[seen] = film.palette[seen]
    return palette
