"""Tables of what was learned, made of the rows in docs/reports/data: ours, and Dopamine's."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.analysis.recorded import NOT_COMPARED, PERF
from experiments.analysis.statistics import mean_interval
from experiments.analysis.windows import WINDOW_STEPS, Windows, median, windows
from experiments.plan.identity import SPEED_ONLY
from trainables.metrics import SCORE_STEPS

REPORTS = Path(__file__).resolve().parent
ROOT, DATA = REPORTS.parents[1], REPORTS / "data"
LEARNERS = {"pg": "PPO from pixels", "trpo": "TRPO from memory"}
SWEEPS = {"pg": "sweep_pong.py", "trpo": "sweep_trpo.py"}
ACTIONS = {"sampled": "sampled, as in training", "greedy": "the most probable ones"}
CORES = 2
"""Cores of the machine that the published runs had to themselves."""

MACHINE = f"{CORES} cores, no GPU"

Runs = list[Windows]
"""A configuration's runs, one a seed."""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *rows))


def ranged(values: Sequence[float], digits: int) -> str:
    """The median of these values, and the lowest and the highest of them where these two differ."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    if low == high:
        return low
    return f"{np.median(values):.{digits}f} ({low} to {high})"


def present(page: str, name: str) -> list[list[str]]:
    """The rows of a table as they stand in a page."""
    text = (ROOT / page).read_text(encoding="utf-8").partition(f"<!-- numbers: {name} -->")[2]
    lines = text.partition("<!-- end -->")[0].strip().splitlines()
    found = []
    for line in lines[2:]:
        found.append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def rows_of(name: str) -> pd.DataFrame:
    """A published experiment's rows, as ``results.py table --rows`` has them."""
    return pd.read_parquet(DATA / f"{name}.parquet")


def runs(name: str) -> Runs:
    """A published experiment's trials."""
    found = []
    for _, rows in rows_of(name).groupby("trial"):
        found.append(windows(rows.to_dict("records"), WINDOW_STEPS))
    return found


def others(agent: str, network: str) -> Runs:
    """Dopamine's published training returns of an agent with a network in Pong, each run by itself."""
    frame = rows_of("dopamine_pong").query("agent == @agent and network == @network")
    found = []
    for _, rows in frame.groupby("run"):
        steps = rows["million_agent_steps"].to_numpy() * 1e6
        returns = rows["mean_training_return"].to_numpy()
        unknown = np.full(len(rows), np.nan)
        found.append(Windows(steps, returns, unknown, unknown))
    return found


def curves(side: Runs) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the windows that all runs have (w,), and every run's mean returns in these windows (n, w)."""
    common = min(len(run.end_w) for run in side)
    returns = []
    for run in side:
        returns.append(run.known_w[:common])
    return side[0].end_w[:common], np.array(returns)


def in_minutes(side: Runs) -> Runs:
    """The runs with windows that end at minutes of training, in place of agent steps."""
    found = []
    for run in side:
        found.append(run._replace(end_w=run.seconds_w / 60))
    return found


def arrivals(side: Runs, score: float) -> tuple[list[float], list[float]]:
    """Where runs came to a score, and where those ended that did not, in the unit of the windows' ends."""
    arrived, ended = [], []
    for run in side:
        when = run.steps_to(score)
        if when is None:
            ended.append(float(run.end_w[-1]))
        else:
            arrived.append(when)
    return arrived, ended


def steps_to(side: Runs, score: float, more: str = "") -> str:
    """Million agent steps to a score: the runs' median, and how many runs came there if not all did.

    ``more`` stands after the median, if there is one.
    """
    arrived, ended = arrivals(side, score)
    share = f"{len(arrived)} of {len(side)}"
    half = median(arrived, ended)
    if half is None:
        return share
    text = f"{half / 1e6:.3g}{more}"
    if ended:
        text += f" ({share})"
    return text


def _signed(scores: Sequence[int]) -> list[str]:
    """Scores as the heads of columns: ``+5``, and ``0`` without a sign."""
    heads = []
    for score in scores:
        heads.append("0" if score == 0 else f"{score:+}")
    return heads


def _until(side: Runs, score: float) -> str:
    """The median of agent steps and of minutes to a score, and how many runs came there if not all did."""
    arrived, ended = arrivals(in_minutes(side), score)
    minutes = median(arrived, ended)
    more = " M"
    if minutes is not None:
        more += f", {minutes:.1f} min"
    return steps_to(side, score, more)


def at_the_end(side: Runs) -> tuple[str, str]:
    """The mean over runs of the last window that all have, with Student's 95% interval, and that window's end."""
    end_w, return_nw = curves(side)
    low_w, high_w = mean_interval(return_nw)
    return f"{return_nw[:, -1].mean():.1f} ({low_w[-1]:.1f} to {high_w[-1]:.1f})", f"{end_w[-1] / 1e6:.3g} M"


def learners() -> str:
    """Steps and minutes to scores, and the end, of both default learners."""
    scores = (0, 5, 10, 14, 16, 17, 18)
    rows = []
    for learner, name in LEARNERS.items():
        side = runs(learner)
        cells = [f"{name}, `train.py {learner}`, {len(side)} seeds"]
        for score in scores:
            cells.append(_until(side, score))
        mean, end = at_the_end(side)
        rows.append([*cells, f"{mean} after {end}"])
    return table(["mean return", *_signed(scores), "at the end"], rows)


HEALTHY_AT = (250_000, 500_000, 750_000, 1_000_000)
"""Agent steps at which docs/faults.md says what is usual."""


def policies() -> str:
    """How the policies that come along play, each with sampled and with the most probable actions."""
    games = pd.read_csv(DATA / "policies.tsv", sep="\t")
    rows = []
    for (policy, actions), of in games.groupby(["policy", "actions"], sort=False):
        returns = of["return"].to_numpy(float)
        low, high = mean_interval(returns)
        won = (returns > 0).mean()
        steps = of["steps"].mean()
        mean = f"{returns.mean():.1f} ({low:.1f} to {high:.1f})"
        rows.append([f"`trained/{policy}`", ACTIONS[actions], str(len(of)), mean, f"{won:.0%}", f"{steps:,.0f}"])
    return table(["policy", "actions", "games", "mean return (95% interval)", "won", "agent steps a game"], rows)


def _last_iterations(rows: pd.DataFrame, at: int, steps: int) -> pd.DataFrame:
    """A trial's iterations in the last so many steps before the end of the first one that comes to ``at``."""
    end = rows.loc[rows["timesteps_total"] >= at, "timesteps_total"].iloc[0]
    begins = rows["timesteps_total"] - rows["timesteps_this_iter"]
    return rows[(begins >= end - steps) & (rows["timesteps_total"] <= end)]


def return_before(rows: pd.DataFrame, at: int) -> float:
    """The mean return of a trial's games that ended in the last ``WINDOW_STEPS`` before ``at`` agent steps."""
    last = _last_iterations(rows, at, WINDOW_STEPS)
    return float(np.average(last["episode_reward_batch_mean"], weights=last["episodes_this_iter"]))


def means_at(rows: pd.DataFrame, at: int) -> tuple[float, ...]:
    """Score, entropy, KL divergence and explained variance of a trial's iterations in the last ``SCORE_STEPS``.

    They end with the first iteration that comes to ``at`` agent steps. The score is that of the games that ended in
    them. The explained variance is that before the update; its family has had two names.
    """
    last = _last_iterations(rows, at, SCORE_STEPS)
    score = np.average(last["episode_reward_batch_mean"], weights=last["episodes_this_iter"])
    explained = last.filter(regex="/explained_variance(_before)?$")
    return score, last["policy/entropy"].mean(), last["policy/kl"].mean(), explained.mean().item()


def healthy() -> str:
    """What the seeds of both default learners show while they learn: the median, the lowest and the highest."""
    rows = []
    for learner in LEARNERS:
        for at in HEALTHY_AT:
            seeds = [means_at(trial, at) for _, trial in rows_of(learner).groupby("trial")]
            cells = []
            for values, digits in zip(zip(*seeds, strict=True), (1, 2, 3, 2), strict=True):
                cells.append(ranged(values, digits))
            rows.append([f"`train.py {learner}`", f"{at / 1e6:g} M", *cells])
    heads = ["learner", "agent steps", "score", "`policy/entropy`, nats", "`policy/kl`, nats", "explained variance"]
    return table(heads, rows)


OTHERS = (
    ("DQN", "Nature CNN"),
    ("Rainbow", "Nature CNN"),
    ("IQN", "Nature CNN"),
    ("Rainbow", "Impala CNN (JAX)"),
    ("IQN", "Impala CNN (JAX)"),
)
"""The oldest of Dopamine's agents, the best two, and these with a larger network."""


def beside_others() -> str:
    """Steps to scores beside Dopamine's."""
    sides = {}
    for learner, name in LEARNERS.items():
        sides[f"{name}, this project"] = runs(learner)
    for agent, network in OTHERS:
        sides[f"{agent}, {network}"] = others(agent, network)
    scores = (0, 10, 14, 16, 18, 19)
    rows = []
    for name, side in sides.items():
        end_w, return_nw = curves(side)
        cells = [str(len(side))]
        for score in scores:
            cells.append(steps_to(side, score))
        for steps in (1e6, 2e6, 4e6):
            cells.append(f"{return_nw[:, np.isclose(end_w, steps)].mean():.1f}")
        rows.append([name, *cells])
    heads = ["million agent steps until", "runs", *_signed(scores), "return at 1", "at 2", "at 4 million"]
    return table(heads, rows)


def core_minutes() -> str:
    """Core-minutes until +16 and +18, and below them the rows of others' learners as they stand in the page."""
    rows = []
    for learner, name in LEARNERS.items():
        side = runs(learner)
        for score in (16, 18):
            arrived, ended = arrivals(in_minutes(side), score)
            half = median(arrived, ended)
            if half is None:
                spent = f"more than {CORES * max(ended):.0f}"
            else:
                spent = f"{CORES * half:.0f}"
            spent += f" ({len(arrived)} of {len(side)} seeds)"
            rows.append([f"{name}, this project", f"{score:+}", spent, MACHINE, f"`train.py {learner}`"])
    heads = ["learner", "until", "core-minutes", "machine", "source"]
    return table(heads, rows + others_rows("core_minutes"))


def peers() -> str:
    """Returns at the end, above those of others, which stay as they stand there; minutes are of the slowest seed."""
    rows = []
    for learner, name in LEARNERS.items():
        side = runs(learner)
        mean, end = at_the_end(side)
        minutes = max(run.seconds_w[-1] for run in side) / 60
        whose = f"{name}, this project, {len(side)} seeds"
        rows.append([whose, mean, end, f"{minutes:.0f}", MACHINE, f"`train.py {learner}`"])
    heads = ["learner", "mean return", "agent steps", "minutes", "machine", "source"]
    return table(heads, rows + others_rows("peers"))


def others_rows(name: str) -> list[list[str]]:
    """The rows of others in a table of records.md, which stay as they stand there."""
    return [row for row in present("docs/records.md", name) if "this project" not in row[0]]


def first_difference(published: pd.DataFrame, again: pd.DataFrame) -> str:
    """The first result that is not the same in both tables of rows, in words; empty if all are.

    Times are not compared, nor trials' names, which have numbers of workers in them: these depend on the machine.
    """
    left_out = {*NOT_COMPARED, "experiment", "trial"}
    for name in SPEED_ONLY:
        left_out.add(f"config/{name}")
    if len(published) != len(again):
        return f"{len(published)} rows published, {len(again)} now"
    for name in published.columns.intersection(again.columns).difference(left_out, sort=False):
        both = pd.DataFrame({"old": published[name].to_numpy(), "new": again[name].to_numpy()})
        no_result = name.startswith(PERF) or both["old"].isna().all()
        missing_in_both = both.isna().all(axis=1)
        other = both[both["old"].ne(both["new"]) & ~missing_in_both]
        if len(other) and not no_result:
            return f"row {other.index[0]}, {name}: published {other['old'].iloc[0]}, now {other['new'].iloc[0]}"
    return ""
