"""The flag by which a program that only looks at results is given the code of a learner of one's own."""

from dataclasses import dataclass
from typing import Annotated

import tyro


@dataclass(frozen=True)
class OwnCode:
    """Code that a program may import."""

    learner: Annotated[str | None, tyro.conf.arg(metavar="MODULE:CLASS", help_behavior_hint="")] = None
    """The learner, if it is one of your own: its module is imported (docs/own_learner.md)."""
