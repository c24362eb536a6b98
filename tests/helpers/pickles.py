"""A pickle that leaves a trace when it is opened."""

from pathlib import Path


class Trap:
    """Whoever unpickles it creates the file ``sprung``."""

    def __init__(self, sprung):
        self.sprung = sprung

    def __reduce__(self):
        return Path.touch, (self.sprung,)
