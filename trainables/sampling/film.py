"""Films of games: what the console shows, what the network sees beside it, and how sure it is of its move.

A game is filmed after it was played, from the frames of its joystick: the console plays them again.
"""

import io
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Array = np.ndarray

FRAMES_PER_SECOND = 60
"""Of the console."""
SHOT_FRAMES = 8
"""Frames from shot to shot, or as many as an agent step has, if it has more."""
MAX_SHOTS = 180
"""The first 24 s of a game; a longer film would be larger than 400 KB."""

ZOOM = 2
CONSOLE_SIZE = (210 * ZOOM, 160 * ZOOM)
COURT = slice(35 * ZOOM, 195 * ZOOM)
"""Picture rows of the court, all that the pixel learner sees. Its view stands beside them, pixel by pixel."""
VIEW_SIZE = 160 * ZOOM
GAP = 4 * ZOOM

# The palette: 128 colours of the console (their numbers are even), 8 greys for letters, 33 for the view.
_GREY, _VIEW, _VIEW_LEVELS = 128, 136, 16
_DOWN_COLOUR, _UP_COLOUR = np.array([86, 180, 233]), np.array([230, 159, 0])  # Okabe and Ito's sky blue and orange

UNUSED = np.column_stack([np.arange(256), np.full(256, 1), np.full(256, 2)]).astype(np.uint8)
"""Colours of palette entries without a use. Pillow finds colours by value, so each must differ from all others."""


class Shot(NamedTuple):
    """A moment of a game."""

    screen: Array  # uint8 (210, 160), the console's palette numbers
    view: Array  # int8 (rows, columns), what the network sees, from -16 to 16
    probability: dict[str, float]  # of each move, by its name; empty if it is not known


class Film(NamedTuple):
    """The shots of a game, at these agent steps; ``palette`` (256, 3) has the colours of the console's numbers."""

    shots: list[Shot]
    palette: Array
    shot_s: float  # from shot to shot
    steps: range

    def score(self, episode_return: float, length: int) -> str:
        """How the game ended, and which part of it is shown, if not all: ``return -16; steps 1 to 360 of 1,674``."""
        if (self.steps.start, self.steps.stop) == (0, length):
            return f"return {episode_return:+.0f} in {length:,} steps"
        return f"return {episode_return:+.0f}; steps {self.steps.start + 1:,} to {self.steps.stop:,} of {length:,}"

    def gif(self, caption: Sequence[str]) -> bytes:
        """The film as an animated GIF with up to three lines of text."""
        blank = _letters(caption)
        return encode([_picture(shot, blank) for shot in self.shots], self.palette, self.shot_s)


class Look(NamedTuple):
    """How a policy sees a game from an agent step on, until another one does."""

    first_step: int
    view: Callable[[Any], Array]  # what its network sees of an observation, as a picture of numbers in [-1, 1]
    probabilities: Callable[[Any], Array] | None  # of each move at an observation; None if they are not known


def film_game(env: Any, played: bytes, looks: Sequence[Look], first_step: int = 0, max_shots: int = MAX_SHOTS) -> Film:
    """The film of a game of Pong, from its frames' actions: of an agent step every ``SHOT_FRAMES`` from ``first_step``.

    ``looks`` are in order; the first one begins at 0.
    """
    skip = env.console.frame_skip
    every = max(1, SHOT_FRAMES // skip)  # agent steps from shot to shot
    steps = range(first_step, min(len(played) // skip, first_step + every * max_shots), every)
    film = Film([], UNUSED.copy(), every * skip / FRAMES_PER_SECOND, steps)
    replayed = islice(env.replay(played, np.random.default_rng()), steps.stop)
    for step, (observation, _) in enumerate(replayed):
        if step in steps:
            look = [look for look in looks if look.first_step <= step][-1]
            film.shots.append(_shoot(env, observation, look, film.palette))
    return film


def _shoot(env: Any, observation: Any, look: Look, palette: Array) -> Shot:
    """A picture of the console as it stands; its colours are noted in ``palette``."""
    screen = env.console.ale.getScreen()
    palette[screen] = env.console.ale.getScreenRGB()
    view = np.rint(look.view(observation) * _VIEW_LEVELS).astype(np.int8)
    probability = {}
    if look.probabilities:
        # A policy that diverged has no probabilities; its film shows none.
        probabilities = np.nan_to_num(look.probabilities(observation)).tolist()
        probability = dict(zip(env.MOVES, probabilities, strict=True))
    return Shot(screen, view, probability)


def encode(pictures: Sequence[Array], palette: Array, shot_s: float) -> bytes:
    """Pictures (rows, columns) of ``console_pixels`` and ``letters`` as one animated GIF that repeats."""
    colours = UNUSED.copy()
    colours[:_GREY] = palette[::2]
    colours[_GREY:_VIEW] = np.linspace(0, 255, _VIEW - _GREY)[:, None]
    share = np.linspace(0, 1, _VIEW_LEVELS + 1)[1:, None]
    middle = _VIEW + _VIEW_LEVELS
    colours[_VIEW:middle] = share[::-1] * _DOWN_COLOUR
    colours[middle] = 8
    colours[middle + 1 : middle + 1 + _VIEW_LEVELS] = share * _UP_COLOUR
    used = np.flatnonzero((colours != UNUSED).any(axis=1))  # Pillow takes 7 ms a picture for a palette of 256
    number = np.zeros(256, np.uint8)
    number[used] = np.arange(len(used))
    first, *others = [Image.fromarray(number[picture]) for picture in pictures]
    short = colours[[*used, 255]].tobytes()
    for image in (first, *others):
        image.putpalette(short)
    file = io.BytesIO()
    options = {"duration": int(1000 * shot_s), "loop": 0, "palette": short}
    # Pixels that did not change are written as transparent: that halves the file.
    first.save(file, "GIF", save_all=True, append_images=others, optimize=True, transparency=len(used), **options)
    return file.getvalue()


def console_pixels(screen: Array) -> Array:
    """The console's screen, enlarged, in the film's palette."""
    return _enlarged(screen >> 1, ZOOM, ZOOM)


def letters(size: tuple[int, int], lines: Sequence[tuple[int, int, str]], font_size: int = 15) -> Array:
    """An empty picture (rows, columns) with texts at (x, y), in the film's palette."""
    image = Image.new("L", size[::-1])
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(font_size)
    for x, y, text in lines:
        draw.text((x, y), text, fill=255, font=font)
    return _GREY + np.maximum(np.asarray(image) >> 5, 1)  # on dark grey, so that the view's black has an edge


def _letters(caption: Sequence[str]) -> Array:
    left = CONSOLE_SIZE[1] + GAP
    lines = [(left, 4 + 21 * row, text) for row, text in enumerate(caption)]
    bottom = COURT.stop + 6
    lines += [(left, bottom, "up"), (left + VIEW_SIZE - 40, bottom, "down")]
    return letters((CONSOLE_SIZE[0], left + VIEW_SIZE + GAP), lines)


def _picture(shot: Shot, blank: Array) -> Array:
    picture = blank.copy()
    picture[:, : CONSOLE_SIZE[1]] = console_pixels(shot.screen)
    left = CONSOLE_SIZE[1] + GAP
    rows, columns = shot.view.shape
    view = np.uint8(_VIEW + _VIEW_LEVELS) + shot.view.view(np.uint8)  # sums wrap, as they should
    picture[COURT, left : left + VIEW_SIZE] = _enlarged(view, VIEW_SIZE // rows, VIEW_SIZE // columns)
    if not shot.probability:
        return picture
    bar = np.full(VIEW_SIZE - 80, _GREY + 3, np.uint8)  # what neither end claims is the probability of staying
    bar[: round(shot.probability["up"] * len(bar))] = _VIEW + 2 * _VIEW_LEVELS
    bar[len(bar) - round(shot.probability["down"] * len(bar)) :] = _VIEW
    picture[COURT.stop + 9 : COURT.stop + 21, left + 30 : left + 30 + len(bar)] = bar
    return picture


def _enlarged(picture: Array, vertically: int, horizontally: int) -> Array:
    return picture.repeat(vertically, axis=0).repeat(horizontally, axis=1)
