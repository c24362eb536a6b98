"""Puts the published numbers into README.md and docs, between markers; a test compares them with the data.

    python docs/reports/numbers.py           write them
    python docs/reports/numbers.py --check   write nothing; exit status 1 if a page has others

A page has ``<!-- numbers: NAME -->`` before a text that is made here from docs/reports/data, and ``<!-- end -->`` after.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from published import ROOT, Runs, benchmark, made, others, runs  # noqa: E402

from experiments.read.arrivals import median  # noqa: E402
from experiments.read.differences import mean_interval  # noqa: E402

PAGES = ("README.md", "docs/speed.md", "docs/records.md")
BLOCK = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SCORES = (0.0, 5.0, 10.0, 14.0, 16.0, 17.0, 18.0)


def filled(text: str) -> str:
    """A page's text with its numbers. Raises KeyError for a marker that names no block."""
    return BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match[2]]().rstrip()}\n{match[3]}", text)


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
    return _table(heads, [*steps, *minutes])


def speed() -> str:
    """The sentence about whole iterations."""
    rates = {name: _row(f"{name}, ", name) for name in ("PongPG", "PongTRPO")}
    (pg, pg_share), (trpo, trpo_share) = (
        (f"{round(row['frames/s'] / 4, -2):,.0f}", f"{row['share of emulator']['middle']:.2f}")
        for row in rates.values()
    )
    return (
        f"Two workers on 2 cores play and learn from {pg} agent steps a second with `pg` and {trpo} with `trpo`:"
        f" {pg_share} and\n{trpo_share} of what two bare emulators play (`benchmark.py update`)."
    )


def iterations() -> str:
    """The parts of whole iterations."""
    rows = []
    for name, learner in (("PongPG", "pg"), ("PongTRPO", "trpo")):
        parts = {row["part"]: row["share"]["middle"] for row in _parts(name)}
        share = _row(f"{name}, ", name)["share of emulator"]["middle"]
        rows.append([f"`train.py {learner}`", f"{share:.2f}", *(f"{value:.2f}" for value in parts.values())])
    return _table(["whole iterations, 2 workers", "share of the emulator", *parts], rows)


def origin() -> str:
    """Revision, day and machine."""
    data = made()
    return (
        f"Made of revision `{data['revision'][:12]}` on {data['day']}, on {data['cpus']} cores ({data['processor']}),"
        f" with Python\n{data['python']}."
    )


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
    return _table([*heads, "return at 1", "at 2", "at 4 million"], rows)


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


def _mean(side: Runs) -> str:
    low, high = mean_interval(side.last[:, None])
    return f"{side.last.mean():.1f} ({low[0]:.1f} to {high[0]:.1f})"


def _at(side: Runs, steps: float) -> str:
    ends, returns = side.curves
    index = [number for number, end in enumerate(ends) if abs(end - steps) < 1]
    return f"{returns[:, index[0]].mean():.1f}" if index else ""


def _row(title: str, side: str) -> Mapping[str, Any]:
    rows = next(table["rows"] for table in benchmark("update") if table["title"].startswith(title))
    return next(row for row in rows if row["side"] == side)


def _parts(name: str) -> list[dict[str, Any]]:
    tables = benchmark("update")
    first = next(number for number, table in enumerate(tables) if table["title"].startswith(f"{name}, "))
    return tables[first + 1]["rows"]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


BLOCKS: dict[str, Callable[[], str]] = {
    function.__name__: function for function in (learners, speed, iterations, origin, beside_others)
}


def main() -> int:
    """Write or check the pages; return the exit status."""
    changed = []
    for page in (ROOT / name for name in PAGES):
        old = page.read_text(encoding="utf-8")
        if (new := filled(old)) != old:
            changed.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(new, encoding="utf-8")
    print(f"{'differ' if '--check' in sys.argv else 'written'}: {', '.join(changed) or 'none'}")
    return int("--check" in sys.argv and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
