"""Ray Tune Trainables for Pong: thin shells around ``sampling`` (experience) and ``learning`` (maths).

What is imported from here is public (docs/library.md). Each name is loaded when it is first used: to import this
package takes no time, and loads neither Ray nor what plays.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.processor import choose_kernels
from trainables.surroundings import choose_caches

choose_kernels()  # before anything imports NumPy
choose_caches()

if TYPE_CHECKING:
    from trainables.checkpoints import CheckpointError
    from trainables.checks import ConfigError
    from trainables.config import PGConfig, TRPOConfig
    from trainables.policy import TrainedPolicy, load_policy
    from trainables.trainable import PongPG, PongTRPO

TRAINED = Path(__file__).parent / "trained"
"""Policies that come with the package, one folder each: ``TRAINED / "pg"`` and ``TRAINED / "trpo"``."""

_MODULES = {
    "CheckpointError": "checkpoints",
    "ConfigError": "checks",
    "PGConfig": "config",
    "PongPG": "trainable",
    "PongTRPO": "trainable",
    "TRPOConfig": "config",
    "TrainedPolicy": "policy",
    "load_policy": "policy",
}

__all__ = [
    "TRAINED",
    "CheckpointError",
    "ConfigError",
    "PGConfig",
    "PongPG",
    "PongTRPO",
    "TRPOConfig",
    "TrainedPolicy",
    "load_policy",
]


def __dir__() -> list[str]:
    """Also the names that are not loaded yet, for completion."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"trainables.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'trainables' has no attribute {name!r}")
