"""Films side by side: how a policy learned."""

from collections.abc import Sequence

import numpy as np

from trainables.sampling.film import CONSOLE_SIZE, GAP, UNUSED, Film, console_pixels, encode, letters

HEADER = 48
"""Picture rows above each screen, for two lines of text."""


def side_by_side(films: Sequence[Film], captions: Sequence[tuple[str, str]]) -> bytes:
    """An animated GIF of games that start together, each under two lines of text. One that is over stands still."""
    height, width = CONSOLE_SIZE
    lefts = [index * (width + GAP) for index in range(len(films))]
    lines = [
        (x + 4, 3 + 21 * row, text) for x, pair in zip(lefts, captions, strict=True) for row, text in enumerate(pair)
    ]
    blank = letters((HEADER + height, lefts[-1] + width), lines)
    pictures = []
    for moment in range(max(len(film.shots) for film in films)):
        picture = blank.copy()
        for x, film in zip(lefts, films, strict=True):
            screen = film.shots[min(moment, len(film.shots) - 1)].screen
            picture[HEADER:, x : x + width] = console_pixels(screen)
        pictures.append(picture)
    return encode(pictures, _common_palette(films))


def _common_palette(films: Sequence[Film]) -> np.ndarray:
    palette = UNUSED.copy()
    for film in films:
        seen = (film.palette != UNUSED).any(axis=1)
        palette[seen] = film.palette[seen]
    return palette
