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
            return []  # most checkpoints: their arrays, some megabytes, need not be read
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
ZOOM, GAP, HEADER = 2, 6, 44
LEVELS = 64
NEGATIVE, POSITIVE = (0, 114, 178), (213, 94, 0)  # Okabe and Ito's blue and vermilion


def neurons_png(settings: PGConfig, theta_p: np.ndarray) -> bytes:
    """The units with the largest output weights, 80x80 pixels each, as one PNG.

    They stand in the order of their output weights: the first make up more probable, the last down. Every unit has a
    scale of its own, symmetric about 0 and cut at the 99.5th percentile of its weights' absolute values.
    """
    w1, output_h = PIXEL_ALGORITHMS[settings.method](settings).output_weights(theta_p)
    largest = np.argsort(-np.abs(output_h), kind="stable")[: ROWS * COLUMNS]
    shown = largest[np.argsort(-output_h[largest], kind="stable")]
    cell = np.array([HEIGHT, WIDTH]) * ZOOM + GAP
    picture = np.full((HEADER + ROWS * cell[0], GAP + COLUMNS * cell[1]), LEVELS + 1, np.uint8)
    for index, unit in enumerate(shown):
        row, column = np.array(divmod(index, COLUMNS)) * cell + (HEADER, GAP)
        tile = _levels(w1[:, unit]).reshape(HEIGHT, WIDTH).repeat(ZOOM, axis=0).repeat(ZOOM, axis=1)
        picture[row : row + HEIGHT * ZOOM, column : column + WIDTH * ZOOM] = tile
    image = Image.fromarray(picture)
    image.putpalette(_palette().tobytes())
    lines = (
        f"{len(shown)} of {len(output_h)} hidden units, from up (first, {output_h[shown[0]]:+.2f})"
        f" to down (last, {output_h[shown[-1]]:+.2f})\n"
        "Weights of the 80x80 difference frame: orange positive, white 0, blue negative"
    )
    ImageDraw.Draw(image).text((GAP, 2), lines, fill=LEVELS, font=ImageFont.load_default(14))
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _levels(weight_d: np.ndarray) -> np.ndarray:
    """Weights as palette numbers 0 to LEVELS - 2, with 0 in the middle."""
    scale = np.percentile(np.abs(weight_d), 99.5) or 1.0
    half = LEVELS // 2 - 1
    return (np.rint(half * np.clip(weight_d / scale, -1, 1)) + half).astype(np.uint8)


def _palette() -> np.ndarray:
    """LEVELS - 1 colours from negative over white to positive, then black for letters and white for paper."""
    stops = np.array([NEGATIVE, (255, 255, 255), POSITIVE])
    share = np.linspace(-1, 1, LEVELS - 1)
    colours = np.column_stack([np.interp(share, [-1, 0, 1], stops[:, channel]) for channel in range(3)])
    return np.vstack([colours, np.zeros((2, 3)), np.full((1, 3), 255)]).round().astype(np.uint8)


CAPTION_ROWS = 48
"""Above each screen, for two lines of text."""


def side_by_side(films: Sequence[Film], captions: Sequence[tuple[str, str]]) -> bytes:
    """An animated GIF of games that start together, each under two lines of text. One that is over stands still."""
    height, width = CONSOLE_SIZE
    lefts = [index * (width + FILM_GAP) for index in range(len(films))]
    lines = [
        (x + 4, 3 + 21 * row, text) for x, pair in zip(lefts, captions, strict=True) for row, text in enumerate(pair)
    ]
    blank = letters((CAPTION_ROWS + height, lefts[-1] + width), lines)
    pictures = []
    for moment in range(max(len(film.shots) for film in films)):
        picture = blank.copy()
        for x, film in zip(lefts, films, strict=True):
            screen = film.shots[min(moment, len(film.shots) - 1)].screen
            picture[CAPTION_ROWS:, x : x + width] = console_pixels(screen)
        pictures.append(picture)
    return encode(pictures, _common_palette(films), films[0].shot_s)


def _common_palette(films: Sequence[Film]) -> np.ndarray:
    palette = UNUSED.copy()
    for film in films:
        seen = (film.palette != UNUSED).any(axis=1)
        palette[seen] = film.palette[seen]
    return palette
