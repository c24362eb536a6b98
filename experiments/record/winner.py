"""How the winner of a sweep plays: what its final policy returned in games that only measure."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.record.journal import read_journal, write_journal

WINNER = "winner.json"

FILM = "winner.gif"
"""The first of the games."""


@dataclass(frozen=True)
class WinnerGames:
    """An evaluation of a trial's last checkpoint."""

    trial: int  # counted from 0
    iteration: int
    games: int  # with actions sampled, and as many with the most probable one
    metrics: dict[str, float]  # of the eval/ family


def read_winner(folder: Path) -> WinnerGames | None:
    """None where no winner has played yet. Raises ConfigError if the file is damaged."""
    return next(iter(read_journal(folder / WINNER, _games)), None)


def write_winner(folder: Path, games: WinnerGames) -> None:
    """Replace the file."""
    write_journal(folder / WINNER, [games])


def _games(trial: Any, iteration: Any, games: Any, metrics: Any) -> WinnerGames:
    found = {str(name): float(value) for name, value in metrics.items()}
    if not all(map(math.isfinite, found.values())):
        raise ValueError
    return WinnerGames(int(trial), int(iteration), int(games), found)
