"""Callbacks of the user's own (``--callback module:factory``): Weights and Biases, MLflow, or whatever hears of trials.

They belong to whoever types them, not to the experiment: no record names them, and a resume needs them typed again.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ray import tune

from experiments.plan.own_files import imported, reason
from trainables.checks import ConfigError

HOOKS = ("setup", *(name for name in vars(tune.Callback) if name.startswith("on_")))
"""What Tune calls of a callback, but for its state, which is not restored here."""


def made(typed: Sequence[str]) -> list[tune.Callback]:
    """The callbacks that the factories on the command line make, each called without arguments.

    Raises ConfigError, in one line, for what cannot be imported or called, or makes something else.
    """
    return [Guarded(text, _made(text)) for text in typed]


def factory(typed: str) -> Callable[[], Any]:
    """What ``module:factory`` names. Raises ConfigError if it cannot be imported, or called."""
    _, found = imported(typed)
    if not callable(found):
        raise ConfigError(f"--callback {typed}: {found!r} cannot be called; accepted is a function or a class")
    return found


def _made(typed: str) -> tune.Callback:
    try:
        callback = factory(typed)()
    except ConfigError:
        raise
    except Exception as error:  # whatever somebody's function does
        raise ConfigError(f"--callback {typed}: the call fails with {reason(error)}") from None
    if not isinstance(callback, tune.Callback):
        raise ConfigError(f"--callback {typed} makes {type(callback).__name__}; accepted is a ray.tune.Callback")
    return callback


class Guarded(tune.Callback):
    """A callback that is left out from its first error on: training does not end with a service that is out of reach.

    Tune pickles callbacks into a file that nobody reads here, so there is nothing of it to pickle.
    """

    def __init__(self, typed: str, callback: tune.Callback) -> None:
        self.typed, self.callback = typed, callback
        self.failed = False

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def call(self, hook: str, *args: Any, **info: Any) -> None:
        """Call one of HOOKS of it."""
        if self.failed:
            return
        try:
            getattr(self.callback, hook)(*args, **info)
        except Exception as error:  # whatever somebody's callback does
            self.failed = True
            print(
                f"--callback {self.typed} is left out from here on: {hook} fails with {reason(error)}", file=sys.stderr
            )


def _hook(name: str) -> Callable[..., None]:
    return lambda self, *args, **info: self.call(name, *args, **info)


for _name in HOOKS:
    setattr(Guarded, _name, _hook(_name))
