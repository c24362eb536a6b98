"""Configurations: frozen dataclasses that refuse strangers and impossible values, naming what would be accepted.

Each field carries its bounds in its type and its meaning in the line below it, which command lines show as help.
"""

from collections.abc import Mapping
from typing import Any

from trainables.config.base import Config
from trainables.config.pg import PGConfig
from trainables.config.trpo import TRPOConfig

__all__ = ["Config", "PGConfig", "TRPOConfig", "upgraded"]


def upgraded(learner: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """A learner's configuration as an earlier revision stored it, with today's names and every setting it left out."""
    configs: dict[str, type[Config]] = {"pg": PGConfig, "trpo": TRPOConfig}
    config = configs.get(learner, Config)
    return config.BEFORE_DEFAULTS | {config.RENAMED.get(name, name): value for name, value in stored.items()}
