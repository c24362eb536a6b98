"""Population based training (Jaderberg et al. 2017): who can copy whom, and what changes when somebody does."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.ask.schedulers import those
from experiments.plan.identity import completed
from experiments.plan.learners import Learner
from experiments.plan.ranges import Choices, Domain, Range, parse
from experiments.plan.spaces import kind_of
from experiments.plan.trial_names import number_of
from trainables.checks import ConfigError
from trainables.config import Config

RESAMPLE, FACTORS = 0.25, (0.8, 1.2)
"""How often a mutation draws anew from the whole range; otherwise a number is multiplied by one of these factors."""

QUANTILE = 0.25
"""Share of a group, rounded up and at most a half, that copies; and of the best, which are copied."""

EXCHANGE_RULE = "best quarter"
"""What the rule is called by which it is decided who copies whom, and what becomes of settings; see ``losers`` and
``drawn``. Another rule has another name."""

STREAM = 2**32 - 2
"""Spawn key of the generators that draw exchanges; trials' own streams have other ones."""


def mutations(learner: Learner, swept: Sequence[str], space: Mapping[str, str] | None) -> dict[str, Domain]:
    """The settings that an exchange copies and changes, with the values that they may take.

    These are the learner's MUTATIONS as far as they are swept, each within what the sweep draws from: ``space`` has it
    in words. Raises ConfigError for values that have no words.
    """
    words = {name: (space or {}).get(name) for name in learner.space.MUTATIONS if name in swept}
    if nameless := [name for name in words if not words[name]]:
        able = those(lambda scheduler: not scheduler.changes_settings)
        raise ConfigError(
            f"--scheduler pbt cannot change {nameless[0]} within what it is drawn from: accepted are choices and"
            f" ranges, as 0.98,0.99 and 1e-4..1e-2:log; or use {able}"
        )
    return {name: parse(name, words[name], kind_of(learner, name)) for name in words}


def groups(learner: Learner, configs: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """The indices of trials of equal architecture, which can copy each other.

    Weights of one architecture do not fit another. So each group exchanges by itself; to rank all trials together
    would leave most of the worst without anybody to copy.
    """
    found: dict[tuple[Any, ...], list[int]] = {}
    for index, config in enumerate(configs):
        settings = completed(learner.name, config)
        key = tuple(settings[name] for name in learner.config_class.ARCHITECTURE_FIELDS)
        found.setdefault(key, []).append(index)
    return list(found.values())


def notes(
    learner: Learner, configs: Sequence[Config], swept: Sequence[str], space: Mapping[str, str] | None
) -> list[str]:
    """What a user should know before it starts: trials that can copy nobody, and settings that stay as they are.

    Raises ConfigError as ``mutations`` does.
    """
    lines = []
    if alone := [group[0] for group in groups(learner, [config.to_dict() for config in configs]) if len(group) == 1]:
        fields = [name for name in learner.config_class.ARCHITECTURE_FIELDS if name in swept]
        what = " and ".join(fields) or "architecture"
        who = f"no other trial has the {what} of {', '.join(map(number_of, alone))}"
        if len(alone) == len(configs):
            who = f"no two trials have the same {what}"
        cure = f" or --set {fields[0]}=..." if fields else ""
        lines.append(f"pbt: {who}, so they cannot copy each other's weights; more --num-samples{cure} would help.")
    changing = " and ".join(mutations(learner, swept, space)) or "no setting"
    return [*lines, f"pbt: who copies takes over and changes {changing}; all else it keeps."]


def losers(scores: Sequence[float | None], groups: Sequence[Sequence[int]]) -> list[tuple[int, list[int]]]:
    """The trials that copy, each with the best ones of its group that have more. Of equal scores the first is best."""
    found = []
    for group in groups:
        scored = {index: score for index in group if (score := scores[index]) is not None}
        ranked = sorted(scored, key=lambda index: (scored[index], -index), reverse=True)
        count = min(math.ceil(len(ranked) * QUANTILE), len(ranked) // 2)
        for index in ranked[len(ranked) - count :]:
            if best := [other for other in ranked[:count] if scored[other] > scored[index]]:
                found.append((index, best))
    return found


def drawn(
    seed: int, exchange: int, trial: int, best: Mapping[int, Mapping[str, Any]], domains: Mapping[str, Domain]
) -> tuple[int, dict[str, Any]]:
    """Whom a trial copies, of the ``best`` and their settings, and what it then has of the settings of ``domains``.

    ``seed`` is that of the sweep's first trial. Exchanges are counted from 0.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM, exchange, trial)))
    donor = [*best][int(rng.integers(len(best)))]
    return donor, {name: mutated(domain, best[donor][name], rng) for name, domain in domains.items()}


def mutated(domain: Domain, value: Any, rng: np.random.Generator) -> Any:
    """A setting's value after an exchange, within its range: a neighbour, or sometimes any other value."""
    anew = rng.random() < RESAMPLE
    if isinstance(domain, Choices):
        choices = domain.values
        if anew or value not in choices:
            return choices[rng.integers(len(choices))]
        return choices[min(max(choices.index(value) + rng.choice([-1, 1]), 0), len(choices) - 1)]
    assert isinstance(domain, Range)  # words stand for choices or a range
    if anew:
        return domain.drawn(np.random.RandomState(rng.integers(2**31)))
    factor = FACTORS[rng.integers(2)]
    moved = value * factor
    if domain.whole:  # a small number has a neighbour, too
        moved = min(round(moved), value - 1) if factor < 1 else max(round(moved), value + 1)
    return min(max(moved, domain.low), domain.high)
