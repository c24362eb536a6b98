"""Puts the published numbers into README.md and docs, between markers; a test compares them with the data.

    python docs/reports/numbers_in_pages.py

A page has ``<!-- numbers: NAME -->`` before a text that is made here from docs/reports/data, and ``<!-- end -->``
after it.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

from elsewhere import elsewhere
from published import DATA, ROOT, Runs, made, others, runs, table
from speed_numbers import begin, clusters, iterations, speeds
from sweep_numbers import confirmed, default_sweeps, sweep_parts, winners

from experiments.read.statistics import mean_interval
from experiments.read.windows import median
from trainables.files import replace_text

PAGES = ("README.md", "docs/speed.md", "docs/records.md", "docs/own_learner.md", "docs/sweeps.md")
BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SCORES = (0.0, 5.0, 10.0, 14.0, 16.0, 17.0, 18.0)


def filled(text: str) -> str:
    """A page's text with its numbers. Raises KeyError for a marker that names no block."""
    return BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match[2]]().rstrip()}\n{match[3]}", text)


def film() -> str:
    """README's film and its caption."""
    shown = json.loads((DATA / "film.json").read_text())
    at = f"{shown['million_agent_steps']:.1f} million agent steps"
    return (
        f"![One game by the untrained policy, by two on the way, and after {at}](docs/learned.gif)\n\n"
        f"*PPO, seed {shown['seed']}: one game by the untrained policy, by two on the way, and after"
        f" {shown['iteration']} iterations, {at}.*"
    )


def learners() -> str:
    """Steps and minutes to scores, and the end, of both default learners."""
    found = {"PPO from pixels, `train.py pg`": runs("pg"), "TRPO from memory, `train.py trpo`": runs("trpo")}
    heads = ["million agent steps until", *(f"{score:+.0f}" if score else "0" for score in SCORES), "at the end"]
    steps = [
        [name, *(_steps(side, score) for score in SCORES), f"{_mean(side)} after {side.curves[0][-1] / 1e6:.3g}"]
        for name, side in found.items()
    ]
    minutes = [
        [f"minutes, {name.split(',')[0]}", *(_minutes(side, s) for s in SCORES), ""] for name, side in found.items()
    ]
    return table(heads, [*steps, *minutes])


def origin() -> str:
    """Revision, day and machine."""
    data = made()
    steps: dict[str, list[str]] = {}
    for step, revision in data["revisions"].items():
        steps.setdefault(revision[:12], []).append(f"`{step}`")
    made_of = "; ".join(f"revision `{revision}`: {', '.join(names)}" for revision, names in steps.items())
    processors = " and ".join(sorted({*data["processors"].values()}))
    machine = f"{data['cpus']} cores ({processors}), Python {data['python']}"
    return f"Made on {machine}; the last step ended on {data['day']}. Of\n{made_of}."


def beside_others() -> str:
    """Steps to scores beside Dopamine's."""
    sides = {
        "PPO from pixels, this project": runs("pg"),
        "TRPO from the console's memory, this project": runs("trpo"),
    } | {f"{agent}, {network}": others(agent, network) for agent, network in OTHERS}
    scores = (0.0, 10.0, 14.0, 16.0, 18.0, 19.0)
    rows = [
        [name, *(_steps(side, score) for score in scores), *(_at(side, steps) for steps in (1e6, 2e6, 4e6))]
        for name, side in sides.items()
    ]
    heads = ["million agent steps until", *(f"{score:+.0f}" if score else "0" for score in scores)]
    return table([*heads, "return at 1", "at 2", "at 4 million"], rows)


def a2c() -> str:
    """When the learner of docs/own_learner.md comes to 0."""
    side = runs("a2c")
    found = side.arrivals(0.0)
    at = ", ".join(f"{steps / 1e6:.3g}" for steps in found.steps)
    return (
        f"{len(found.steps)} of {len(side.runs)} seeds come to a mean return of 0, half of the points, within"
        f" {side.curves[0][-1] / 1e6:.3g} million agent steps: the first window of\n"
        f"250,000 steps at 0 or more ends at {at} million."
    )


def core_minutes() -> str:
    """What +16 and +18 cost, beside what others report."""
    names = {"pg": "PPO from pixels, this project", "trpo": "TRPO from memory, this project"}
    ours = [
        [name, f"{score:+.0f}", _core_minutes(runs(learner), score), "2 cores, no GPU", f"`train.py {learner}`"]
        for learner, name in names.items()
        for score in (16.0, 18.0)
    ]
    theirs = [
        [name, score, minutes, machine, f"[{Path(path).name}](https://github.com/ray-project/ray/blob/{commit}/{path})"]
        for name, score, minutes, machine, commit, path in RLLIB
    ]
    return table(["learner", "until", "core-minutes", "machine", "source"], [*ours, *theirs])


RLLIB = (
    (
        *("RLlib IMPALA", "18 to 19", "224 to 384", "32 to 128 workers, 2 GPUs"),
        *("01433cf7b62c122b8caab4392d20a687e8d6a8f7", "rllib/tuned_examples/impala/pong-impala-fast.yaml"),
    ),
    (
        *("RLlib APPO", "18 to 19", "160 to 224", "32 workers, a GPU"),
        *("6cde9cc75be3da126002002b76853623e0e5d3bc", "rllib/tuned_examples/ppo/pong-appo.yaml"),
    ),
    (
        *("RLlib PPO", "the maximum", "480 to 640", "32 workers, a GPU"),
        *("11922434b36954daee908e9d77769225c80a3d0f", "rllib/tuned_examples/ppo/pong-ppo.yaml"),
    ),
)
"""What comments in Ray's own tuned examples say: workers (a core each) times minutes."""

OTHERS = (
    ("DQN", "Nature CNN"),
    ("Rainbow", "Nature CNN"),
    ("IQN", "Nature CNN"),
    ("Rainbow", "Impala CNN (JAX)"),
    ("IQN", "Impala CNN (JAX)"),
)
"""The oldest of Dopamine's agents, the best two, and these with a larger network."""


def _steps(side: Runs, score: float) -> str:
    found = side.arrivals(score)
    half = median(found.steps, found.ended)
    share = "" if len(found.steps) == len(side.runs) else f" ({len(found.steps)} of {len(side.runs)})"
    return f"{half / 1e6:.3g}{share}" if half is not None else share.strip(" ()") if found.steps else ""


def _minutes(side: Runs, score: float) -> str:
    found = side.minutes(score)
    half = median(found.steps, found.ended)
    return f"{half:.1f}" if half is not None else ""


def _core_minutes(side: Runs, score: float) -> str:
    found = side.minutes(score)
    half, share = median(found.steps, found.ended), f"{len(found.steps)} of {len(side.runs)} seeds"
    return f"{2 * half:.0f} ({share})" if half is not None else f"more than {2 * max(found.ended):.0f} ({share})"


def _mean(side: Runs) -> str:
    low, high = mean_interval(side.last[:, None])
    return f"{side.last.mean():.1f} ({low[0]:.1f} to {high[0]:.1f})"


def _at(side: Runs, steps: float) -> str:
    ends, returns = side.curves
    index = [number for number, end in enumerate(ends) if abs(end - steps) < 1]
    return f"{returns[:, index[0]].mean():.1f}" if index else ""


BLOCKS: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        *(film, learners, origin, beside_others, a2c, core_minutes, elsewhere),
        *(begin, speeds, iterations, clusters, winners, default_sweeps, sweep_parts, confirmed),
    )
}


def main() -> None:
    """Write the pages that have numbers."""
    for page in (ROOT / name for name in PAGES):
        replace_text(page, filled(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
