"""Names of trials and values of settings that a person can read: ``00003_lr=2e-3_h=200_g=0.99_w=2``."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.plan.identity import is_baseline

SHORT = {
    "learning_rate": "lr",
    "hidden_size": "h",
    "hidden_sizes": "h",
    "gamma": "g",
    "gae_lambda": "lam",
    "max_kl": "kl",
    "baseline_mix": "mix",
    "segment_length": "seg",
    "games_per_update": "games",
    "timesteps_per_batch": "b",
    "num_workers": "w",
}

LONGEST = 160
"""Letters of a name. A folder's has at most 255 bytes, and Ray puts something before it in places."""

BASELINE = "baseline"
"""How the configuration is called that has the preset's own values of what is swept."""


def trial_name(
    number: str, config: Mapping[str, Any], swept: Sequence[str], baseline: Mapping[str, Any] | None = None
) -> str:
    """``00003_lr=2e-3_h=200``, which is a folder's name: ``/`` and what is not ASCII become ``-``.

    The first settings that make it too long, and all that follow, are left out; ``params.json`` has them. A trial of
    the ``baseline`` is called so in place of its values: ``00000_baseline``.
    """
    name = number
    if baseline and is_baseline(config, baseline):
        name += f"_{BASELINE}"
        swept = [key for key in swept if key not in baseline]
    for key in swept:
        part = "_" + re.sub(r"[^\w.=+-]", "-", f"{SHORT.get(key, key)}={short(config[key])}", flags=re.ASCII)
        if len(name + part) > LONGEST:
            break
        name += part
    return name


def short(value: Any) -> str:
    """A setting in three significant digits, fit for a folder name: ``2e-3``, ``0.98``, ``64-64``.

    A number below 1 has more where it would be 1 in three: ``0.9995``.
    """
    if isinstance(value, float):
        if value == 0 or 1e-2 <= abs(value) < 999.5:
            digits = 3
            while abs(value) < 1 and f"{abs(value):.{digits}g}" == "1":
                digits += 1
            return f"{value:.{digits}g}"
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return str(value)


def number_of(index: int) -> str:
    """How a trial's index within its experiment is written: ``00003``."""
    return f"{index:05d}"


def in_words(trials: Sequence[int]) -> str:
    """The numbers of trials: ``00000 to 00002`` where more than two follow each other."""
    first, last = trials[0], trials[-1]
    if len(trials) > 2 and [*trials] == [*range(first, last + 1)]:
        return f"{number_of(first)} to {number_of(last)}"
    return ", ".join(map(number_of, trials))
