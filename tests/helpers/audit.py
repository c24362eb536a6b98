"""What a call does that it must not: Python's own audit events, while it is watched."""

import contextlib
import os
import sys
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {"os.rename": 2, "os.symlink": 2, "os.link": 2, "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.truncate": 1}
"""Events of changes on disk, and how many of their first arguments are paths."""


class Watch:
    """Notes writes outside of a folder, modules of new packages, and anything that is unpickled."""

    def __init__(self, folder):
        self.folder, self.found = folder, []
        self.packages = {name.partition(".")[0] for name in sys.modules} | {*sys.stdlib_module_names}

    def __call__(self, event, args):
        if event == "open" and isinstance(args[2], int) and args[2] & WRITING and not isinstance(args[0], int):
            self._written(args[0])
        elif event in PATHS:
            for path in args[: PATHS[event]]:
                self._written(path)
        elif event == "pickle.find_class":
            self.found.append(f"unpickled {args}")
        elif event == "import" and args[0].partition(".")[0] not in self.packages:
            self.found.append(f"imported {args[0]}")

    def _written(self, path):
        path = os.fsdecode(path)
        real = Path(os.path.realpath(os.path.dirname(os.path.abspath(path)))) / os.path.basename(path)
        if not real.is_relative_to(self.folder) and path not in ("/dev/null",):
            self.found.append(f"wrote {path}")


_watching: list[Watch] = []


def _hook(event, args):
    if _watching:
        _watching[-1](event, args)


@contextlib.contextmanager
def watched(folder):
    """Watch a block; yields what was found. (A hook stays for ever, so there is one, and it looks at a list.)"""
    if _hook not in _hooks:
        sys.addaudithook(_hook)
        _hooks.append(_hook)
    _watching.append(Watch(folder.resolve()))
    try:
        yield _watching[-1].found
    finally:
        _watching.pop()


_hooks: list = []
