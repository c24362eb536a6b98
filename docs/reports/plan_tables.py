"""Tables of what is planned: trainings on other machines, and sweeps by the time that there is for them."""

from learning_tables import CORES, LEARNERS, SWEEPS, return_before, rows_of, runs, table
from speed_tables import Rows, benchmark, by, tables

from experiments.ask.flags import SweepFlags
from experiments.benchmarks.measure import FRAME_SKIP
from experiments.plan.capacity import PACE, USED, Capacity, rungs
from trainables.config import PGConfig

MACHINES = (2, 4, 8, 16)
"""Cores of the machines in the table of hardware."""

STEPS_PER_S = 5600.0
"""Agent steps that each core plays in a second, in the tables of plans."""

BEFORE = {2: (3, 1.2), 3: (3, 1.8), 5: (6, 1.6), 8: (6, 2.6), 12: (12, 4.6), 20: (21, 4.2)}
"""Trials and million steps of the last one in plans of revision ``10494cea9940``, by million steps in all."""


def hardware() -> str:
    """What machines of more cores would take: training by an iteration's parts, sweeps as they would be planned."""
    alone = by(benchmark("emulator"), "side")["1 process"]["frames/s"]
    share = by(benchmark("rollout", "One worker"), "side")["PPO"]["share of emulator"]["middle"]
    rows = []
    for cores in MACHINES:
        most = PGConfig().slots
        capacity = Capacity(cores, share * alone / FRAME_SKIP, most, PGConfig().segments_steps)
        trials, steps = capacity.choose(SweepFlags.time_budget_s, None, None)
        last = capacity.rounds(trials, [0, *rungs(trials, steps)])[-1].trials
        sweep = f"{trials} trials, {last} of them to {steps / 1e6:.1f} M steps"
        minutes = []
        for learner, table_of_parts in zip(SWEEPS, tables("update")[1::2], strict=True):
            minutes.append(f"{_training_minutes(learner, table_of_parts['rows'], min(cores, most)):.0f} min")
        rows.append([str(cores), *minutes, sweep])
    return table(["cores", "`train.py pg --num-workers CORES`", "`train.py trpo`, likewise", "`sweep_pong.py`"], rows)


def _training_minutes(learner: str, parts: Rows, workers: int) -> float:
    """Minutes of the default training with so many workers, by its slowest seed with two and an iteration's parts.

    Games share the workers, and so do an evaluation's games; an update takes as long as with two.
    """
    measured = max(run.seconds_w[-1] for run in runs(learner)) / 60
    shares = {line["part"]: line["share"]["middle"] for line in parts}
    games = shares["rollouts"] * CORES / workers
    evaluation = shares["evaluation"] * CORES / min(workers, 2 * PGConfig.eval_games)
    return measured * (games + evaluation + shares["updates"] + shares["all else"])


def plans() -> str:
    """How many trials begin, when they are first compared and how far the last one goes, by the steps in all."""
    trials, first, last = ["trials that begin"], ["first compared at"], ["last one's steps"]
    for million in BEFORE:
        begin, steps = _plan(million)
        trials.append(str(begin))
        first.append(f"{rungs(begin, steps)[0] / 1e6:.2f} M")
        last.append(f"{steps / 1e6:.1f} M")
    return table(["million agent steps in all", *map(str, BEFORE)], [trials, first, last])


def ends_of_plans() -> str:
    """Plans of an earlier revision and of this one, and where the default settings are after the last one's steps."""
    rows = []
    for million, (before, last_before) in BEFORE.items():
        begin, steps = _plan(million)
        cells = [str(million)]
        for trials, last in ((before, last_before * 1e6), (begin, steps)):
            cells += [str(trials), f"{last / 1e6:.1f} M"]
            for learner in LEARNERS:
                cells.append(_end(learner, int(last)))
        rows.append(cells)
    ends = ["last one's steps", "end, PPO", "end, TRPO"]
    return table(["million agent steps in all", "trials before", *ends, "trials now", *ends], rows)


def _plan(million: float) -> tuple[int, int]:
    """Trials and steps of the last one on two cores that have time for so many million steps of all trials."""
    capacity = Capacity(CORES, STEPS_PER_S, PGConfig().slots, PGConfig().segments_steps)
    return capacity.choose(million * 1e6 / (CORES * PACE * STEPS_PER_S * USED), None, None)


def _end(learner: str, at: int) -> str:
    """The mean over seeds of a default learner's return before so many steps, with the lowest and the highest."""
    found = []
    for _, rows in rows_of(learner).groupby("trial"):
        if rows["timesteps_total"].iloc[-1] < at:
            return "not measured"
        found.append(return_before(rows, at))
    return f"{sum(found) / len(found):.1f} ({min(found):.1f} to {max(found):.1f})"
