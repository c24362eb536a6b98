"""Population based training (Jaderberg et al. 2017): who can copy whom, and what changes when somebody does."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ray.tune.search.sample import Domain

from experiments.plan.learners import Learner
from trainables.config import Config

RESAMPLE, FACTORS = 0.25, (0.8, 1.2)
"""How often a mutation draws anew from the whole range; otherwise a number is multiplied by one of these factors."""


def mutations(learner: Learner, swept: Sequence[str]) -> dict[str, Any]:
    """The settings that an exchange copies and changes, with their ranges.

    These are the learner's MUTATIONS, as far as they are swept: what ``--set`` or a preset fixed stays fixed.
    """
    return {name: domain for name, domain in learner.space.MUTATIONS.items() if name in swept}


def groups(learner: Learner, configs: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """The indices of trials of equal architecture, which can copy each other.

    Weights of one architecture do not fit another. So each group exchanges by itself; to rank all trials together
    would leave most of the worst without anybody to copy.
    """
    found: dict[tuple[Any, ...], list[int]] = {}
    for index, config in enumerate(configs):
        key = tuple(config[name] for name in learner.config_class.ARCHITECTURE_FIELDS)
        found.setdefault(key, []).append(index)
    return list(found.values())


def notes(learner: Learner, configs: Sequence[Config], swept: Sequence[str]) -> list[str]:
    """What a user should know before it starts: trials that can copy nobody, and settings that stay as they are."""
    found = groups(learner, [config.to_dict() for config in configs])
    alone = [f"{group[0]:05d}" for group in found if len(group) == 1]
    fields = [name for name in learner.config_class.ARCHITECTURE_FIELDS if name in swept]
    names = mutations(learner, swept)
    lines = []
    if alone:
        what = " and ".join(fields) or "architecture"
        who = f"no other trial has the {what} of {', '.join(alone)}"
        if len(alone) == len(configs):
            who = f"no two trials have the same {what}"
        cure = f" or --set {fields[0]}=..." if fields else ""
        lines.append(f"pbt: {who}, so they cannot copy each other's weights; more --num-samples{cure} would help.")
    lines.append(f"pbt: who copies takes over and changes {' and '.join(names) or 'no setting'}; all else it keeps.")
    return lines


def mutated(domain: Any, value: Any, rng: np.random.Generator) -> Any:
    """A setting's value after an exchange, within its range: a neighbour, or sometimes any other value.

    ``domain`` is a list of choices, or one of Tune's ranges with a lower and an upper end.
    """
    anew = rng.random() < RESAMPLE
    if isinstance(domain, Domain):
        if anew:
            return float(domain.sample(random_state=np.random.RandomState(rng.integers(2**31))))
        low, high = domain.lower, domain.upper  # type: ignore[attr-defined]
        return min(max(value * FACTORS[rng.integers(2)], low), high)
    if anew or value not in domain:
        return domain[rng.integers(len(domain))]
    return domain[min(max(domain.index(value) + rng.choice([-1, 1]), 0), len(domain) - 1)]
