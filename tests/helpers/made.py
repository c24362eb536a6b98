"""Cases that a test makes by chance: the same ones each time, or new ones for as many minutes as FUZZ_MINUTES says."""

import itertools
import os
import random
import time

FUZZ_MINUTES = float(os.environ.get("FUZZ_MINUTES", "0"))


def generators(count):
    """The generators of ``count`` fixed cases, or of new ones, each with its seed, by which it can be made again."""
    until = time.monotonic() + 60 * FUZZ_MINUTES
    for seed in itertools.count(time.time_ns()) if FUZZ_MINUTES else range(count):
        if FUZZ_MINUTES and time.monotonic() > until:
            return
        yield seed, random.Random(seed)
