"""Configurations: frozen dataclasses that refuse strangers and impossible values, naming what would be accepted.

Each field carries its bounds in its type and its meaning in the line below it, which command lines show as help.
"""

from trainables.config.base import Config
from trainables.config.pg import PGConfig
from trainables.config.trpo import TRPOConfig

__all__ = ["Config", "PGConfig", "TRPOConfig"]
