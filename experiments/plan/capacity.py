"""How many trials begin, and how far the last one goes, so that a sweep ends within the time that it is given.

Successive halving (Jamieson and Talwalkar 2016): each round costs as much as the others, since a third of the trials
go on, with three times the steps. Nine trials with the rungs r, 4 r and 13 r cost 9 r + 3 * 3 r + 1 * 9 r = 27 r.
Where configurations have several seeds, these go on together, and "trials" stands for configurations. What flags say
of these numbers holds, and the rest follows from the time (``extent_of``).
"""

import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from experiments.ask.budget import Budget
from experiments.ask.flags import SAMPLES, SweepFlags
from experiments.ask.schedulers import SCHEDULERS
from experiments.plan.draws import gridded, one_of_each, typical, undrawn
from experiments.plan.learners import GAME_STEPS, Learner
from experiments.plan.resources import ClusterResources
from experiments.plan.spaces import Space
from experiments.plan.trial_names import short
from trainables.checks import ConfigError
from trainables.config import Config
from trainables.texts import counted

ETA = 3
"""One trial of so many goes on at a rung, and plays so many times the steps of the round before."""

MAX_RUNGS = 3
"""The most rungs. The last one is the end of the budget; with three the first one is at a thirteenth of it."""

FIRST_STEPS = 300_000
"""The fewest agent steps before trials are first compared, where time decides how many begin and how far they go: their
order by then says something of a later one, while at 100,000 it is luck. In docs/schedulers.md its rank correlation
with the order at a million steps is 0.64, of PPO alone, and with that at the end 0.27 to 0.41; at 100,000 it is 0.12
with the order at a million. If there is no time for it, fewer trials begin."""

FEW_TRIALS = 6
"""The fewest trials that have three rungs. Where time decides both numbers, so many begin as soon as there is time for
their first rung at ``FIRST_STEPS``, and more only if there is time for the last one to reach ``FAR_STEPS``."""

FAR_STEPS = 6_000_000
"""The fewest agent steps of the last trial where time decides that more than ``FEW_TRIALS`` begin. One winner
rose from 16.6 at 4 million to 18.0 at 5.8, another from 16.2 to 16.4 at 6.1. The first comparison is at 460,000; with
one at 400,000 or 500,000 winners ended no lower than with one at 300,000 (docs/schedulers.md). Time that is left is for
more trials, three by three."""

MOST_STEPS = 8_000_000
"""The most agent steps that a plan gives the last trial, whatever the time."""

MOST_TRIALS = 270
"""The most trials, all seeds counted, that time decides to begin: their checkpoints take up to 20 GB."""

USED = 0.9
"""Share of the time budget that a plan fills; the rest is for the start, the end, and what the plan has wrong."""

START_AND_END_S = 12.0
"""Seconds before the first game, of which Ray and the compiled loops take most, and after the last one. With a last
iteration that is played to its end they are more than what ``USED`` leaves of a time budget under three minutes."""

PACE = 0.75
"""Agent steps a second of a core in a sweep over those of an untrained policy's game alone: updates, evaluations, and
cores that wait for the end of a batch. With 0.78 the default sweeps on 2 cores, planned to end within 1,620 s, 0.9 of
their budget, took 1,548 s (``pg``), and on a machine with slower workers 1,734 (``pg``) and 1,838 s (``trpo``). On two
cores half as fast as that first machine's a first round of ``trpo`` took 1,007 s in place of 812: a game alone is
faster there than one of two at once. ``trials_in_time`` makes up for what a plan has wrong."""

SERIAL = 0.05
"""Share of a trial's time with one worker in which no further worker helps (Amdahl 1967): updates, and the end of a
batch. By the parts of an iteration of ``pg`` (docs/speed.md) 2, 8 and 16 workers are 1.9, 5.5 and 8.0 times as fast as
one; with this share they are 1.9, 5.9 and 9.1."""

NEAR = 0.75
"""Share of the last trial's steps that time is kept for before more than one trial goes on. The later comparison that
the others then have says far more than the one before it (docs/schedulers.md), and the last quarter of the steps brings
a few tenths of a point. A sweep at 0.8 of the planned speed compared its trials only once, at 470,000 steps, when time
was kept for all of them."""

NOISE = 1.1
"""Time that is proposed, over what it takes by the speed that was measured: of two plans in a row on busy cores the
second one needed 2,500 s for what the first one had said to take 2,300."""

START_S = 2.0
"""Seconds from a trial's start, or its going on from a checkpoint, to its first game: 4 for new processes, 1 to 2 where
it takes over those of another trial."""

BUSY = 1.3
"""Cores count as busy if a game takes more than so many seconds for each second of its core: on free ones it takes 1.0
to 1.1."""


class Round(NamedTuple):
    """A round of halving."""

    trials: int
    begin: int  # steps of each; where trials of a fork stand apart, their mean
    end: int
    seconds: float  # of all, about


def rungs(num_trials: int, limit: int, start: int = 0) -> list[int]:
    """The values of the budget's unit at which trials are compared, ascending; the last one is the ``limit``.

    In each round fewer trials play than in the one before: three rungs with 6 trials or more (of 6, first 2 and then 1
    go on), two with 3 to 5, one with fewer. ``start`` is where the trials begin. A limit of a few iterations has fewer
    rungs, since they are whole numbers.
    """
    count = 1
    if num_trials >= ETA:
        count = MAX_RUNGS if trials_of_round(num_trials, 1) > 1 else 2
    parts = [sum(ETA**round_ for round_ in range(last + 1)) for last in range(count)]
    return sorted({start + max(1, round((limit - start) * part / parts[-1])) for part in parts})


def _late_steps(configurations: int) -> int:
    """Steps of the last trial with which the first rung is at ``FIRST_STEPS``: it is at the same share of any steps.

    That is a quarter, or a thirteenth.
    """
    whole = 4 * 13
    return FIRST_STEPS * whole // rungs(configurations, whole)[0]


def _least_steps(configurations: int) -> int:
    """Steps that there has to be time for the last trial to play, so that so many configurations begin."""
    return FAR_STEPS if configurations > FEW_TRIALS else _late_steps(configurations)


def reachable(rungs: Sequence[int], standing: Callable[[int], Sequence[float]]) -> list[int]:
    """Of ascending rungs the last one, and those at which some trial waits with more to play before the next one.

    ``standing`` says where each trial stands as it waits at a rung.
    """
    kept = [rungs[-1]]
    for rung in reversed(rungs[:-1]):
        here_and_next = zip(standing(rung), standing(kept[0]), strict=True)
        if any(here < next_one for here, next_one in here_and_next):
            kept.insert(0, rung)
    return kept


def trials_of_round(num_trials: int, round_: int) -> int:
    """How many trials play in a round, counted from 0. Those that fail count as if they played."""
    return max(1, num_trials // ETA**round_)


def trials_in_time(rungs: Sequence[int], index: int, steps: float, seeds: int = 1) -> float:
    """How many trials can go on at the rung of an ``index``, so that one has time to come ``NEAR`` its end.

    ``steps`` are those that all trials together have time for; the configuration has so many ``seeds``. If as many went
    on as have time for the next round alone, a default sweep whose cores turn out half as fast as planned would spend
    its time on that round: by this arithmetic its last trial would end after 2.2 million agent steps in place of 3.7.
    """
    here, then = rungs[index], rungs[index + 1]
    afterwards = max(0.0, NEAR * rungs[-1] - then)
    return (steps - seeds * afterwards) / (then - here)


def in_turn(trials: Sequence[tuple[float, float]], room: float, at_once: int) -> float:
    """Seconds until all trials have ended that begin in this order, each as soon as there is room for it.

    Each is told by its share of the ``room``, which for one alone may be too small, and by its seconds. At most so
    many run ``at_once``. What any program says of the time of trials that do not lend each other cores is this.
    """
    ends: list[tuple[float, float]] = []  # of those that run: when, and what room it leaves
    now = last = 0.0
    for share, seconds in trials:
        while ends and (share > room + 1e-9 or len(ends) >= at_once):
            now, left = heapq.heappop(ends)
            room += left
        room -= share
        heapq.heappush(ends, (now + seconds, share))
        last = max(last, now + seconds)
    return last


@dataclass(frozen=True)
class Capacity:
    """What a machine can play."""

    cores: int  # or parts of them, where workers share one
    steps_per_s: float  # of each, in a game
    most_workers: int  # that a trial can use
    iteration_steps: float  # of a trial
    seeds: int = 1  # of each configuration, and so trials
    max_concurrent: int | None = None  # trials at once; None: as many as there are cores
    delay: float = 1.0  # of games, when their speed was measured: ``Pace.delay``

    @classmethod
    def of(
        cls,
        learner: Learner,
        config: Config,
        resources: ClusterResources,
        seeds: int = 1,
        max_concurrent: int | None = None,
    ) -> Self:
        """The capacity of machines that are as fast as this one, on which games of an untrained policy are measured.

        Raises ConfigError as ``Learner.pace`` does.
        """
        pace = learner.pace(config)
        return cls(
            max(1, resources.workers(config.cpus_per_worker)),
            min(1, config.cpus_per_worker) / pace.step_s,
            learner.most_workers(config),
            learner.iteration_steps(config),
            seeds,
            max_concurrent,
            pace.delay,
        )

    def rounds(self, configurations: int, at: Sequence[float]) -> list[Round]:
        """The rounds of a sweep; ``at`` is where its trials begin, in the mean, and then its rungs, in steps."""
        found = []
        for index, (begin, end) in enumerate(itertools.pairwise(at)):
            trials = trials_of_round(configurations, index) * self.seeds
            found.append(Round(trials, round(begin), round(end), self._seconds(trials, end - begin)))
        return found

    def seconds(self, configurations: int, steps: int) -> float:
        """Seconds of a whole sweep whose last trials have so many steps."""
        return sum(each.seconds for each in self.rounds(configurations, [0, *rungs(configurations, steps)]))

    def steps(self, configurations: int, seconds: float) -> int:
        """How many steps the last trial can have in that time, in two digits: from a game's to ``MOST_STEPS``.

        Each million more takes as many seconds as the one before.
        """
        million = 10**6
        one, two = self.seconds(configurations, million), self.seconds(configurations, 2 * million)
        found = max(0, int(million * (1 + (seconds - one) / (two - one))))
        digit = 10 ** max(0, len(str(found)) - 2)
        return max(GAME_STEPS, min(found // digit * digit, MOST_STEPS))

    def choose(self, seconds: float, configurations: int | None, steps: int | None, named: int = 1) -> tuple[int, int]:
        """How many configurations begin and how many steps the last one has, as far as they are not given.

        As many begin as there is time for: 3, 6, 9 and so on, or as many as are ``named``, one for each choice of a
        space. If steps are given that are too few for a first rung at ``FIRST_STEPS``, nine begin at most.

        Raises ConfigError if there is no time for anything.
        """
        filled = min(USED * seconds, seconds - self._beside)
        if configurations:
            return configurations, steps or self.steps(configurations, filled)
        if not steps and self.steps(1, filled) <= GAME_STEPS:
            raise ConfigError(f"--time-budget-s {seconds:g} is too short for a trial: give more, or --timesteps")
        chosen = 1
        for count in sorted({named, *range(ETA, MOST_TRIALS // self.seeds + 1, ETA)}):
            late = not steps or steps >= _late_steps(count)  # without steps needed() sees to it
            if (late or count <= ETA ** (MAX_RUNGS - 1)) and self.needed(count, steps) <= seconds:
                chosen = count
        return chosen, steps or self.steps(chosen, filled)

    def needed(self, configurations: int, steps: int | None) -> float:
        """Seconds of a time budget that holds so many configurations, of so many steps or of as many as they need."""
        filled = self.seconds(configurations, steps or _least_steps(configurations))
        return max(filled / USED, filled + self._beside)

    @property
    def _beside(self) -> float:
        """Seconds that a plan leaves at least: for its start and end, and to play an iteration to its end."""
        return START_AND_END_S + self._seconds_at_once(1, self.iteration_steps)

    def _seconds(self, num_trials: int, steps: float) -> float:
        """Seconds of a round: as many trials at once as can be, then those that are left over; they share the cores."""
        most = min(self.cores, self.max_concurrent or self.cores)
        waves, rest = divmod(num_trials, most)
        seconds = waves * self._seconds_at_once(most, steps)
        if rest:
            seconds += self._seconds_at_once(rest, steps)
        return seconds

    def _seconds_at_once(self, trials: int, steps: float) -> float:
        """Seconds of so many trials that run at once, each with its share of the cores."""
        return self.trial_seconds(min(self.cores // trials, self.most_workers), steps)

    def trial_seconds(self, workers: int, steps: float) -> float:
        """Seconds of a trial with so many workers, from its start to the last of so many steps."""
        times_faster = workers / (1 + SERIAL * (workers - 1))
        return START_S + steps / (PACE * self.steps_per_s * times_faster)

    @property
    def times_longer(self) -> float:
        """How many times as long as on free cores everything takes while other programs keep on as they do.

        A game that takes d seconds for each second of its core shares n cores with d n - 1 other programs. Of n games
        at once beside them each has one of d n - 1 + n parts of n cores. With d up to ``BUSY`` the cores count as free.
        """
        return self.delay + 1 - 1 / self.cores if self.delay > BUSY else 1.0


class Extent(NamedTuple):
    """How many configurations there are, a baseline among them, and how long a trial trains."""

    configurations: int
    budget: Budget
    capacity: Capacity | None = None  # by which halving decided what flags left open
    steps: int | None = None  # of the last trial, as far as flags say
    time_decides: bool = False  # how many configurations there are

    def flag_for(self, configurations: int) -> str:
        """The flag with which there are so many configurations: the time for them, in two digits, rounded up, or their
        number where no time decides it. The time is enough, too, if the machine is then measured as a bit slower."""
        if not (self.capacity and self.time_decides):
            return f"--num-samples {configurations}"
        seconds = NOISE * self.capacity.needed(configurations, self.steps)
        digit = 10 ** max(0, len(str(int(seconds))) - 2)
        return f"--time-budget-s {math.ceil(seconds / digit) * digit}"


def extent_of(
    learner: Learner,
    space: Space,
    flags: SweepFlags,
    resources: ClusterResources,
    own: Mapping[str, Any] | None = None,
) -> Extent:
    """The extent of a sweep of a space. Halving measures how fast the machine plays, and fills the time budget.

    ``own`` are its baseline's values, if it has one.

    Raises ConfigError for a grid of ranges, if there is no time for a trial, or if no game of it can be played.
    """
    given = len(gridded(space, own)) if flags.grid else flags.num_samples
    if not SCHEDULERS[flags.scheduler].has_rungs:
        return Extent(given or SAMPLES, flags.budget)
    capacity = Capacity.of(learner, typical(learner, space), resources, flags.seeds_each, flags.max_concurrent)
    asked = flags.timesteps
    if flags.iterations:  # Of two limits the one counts that is reached first.
        of_iterations = round(flags.iterations * capacity.iteration_steps)
        asked = min(asked or of_iterations, of_iterations)
    named = one_of_each(space, flags.seed, own) if space.own else 1
    count, steps = capacity.choose(flags.time_budget_s, given, asked, named)
    timesteps = flags.timesteps if flags.iterations else steps
    return Extent(count, Budget(flags.iterations, timesteps), capacity, asked, time_decides=given is None)


def nothing_swept(preset: str, extent: Extent) -> str:
    """Says that a single trial has a preset's settings, and which flag makes it a comparison."""
    return f"A single trial has the settings of {preset}: nothing is swept. Three take {extent.flag_for(3)}."


def left_out(space: Space, configs: Sequence[Config], extent: Extent, needed: int) -> str:
    """Says which choices of a space no configuration has, and which flag gives the configurations that are ``needed``
    for one of each; empty if none is left."""
    left = undrawn(space, [config.to_dict() for config in configs])
    if not left:
        return ""
    flag = f"--num-samples {needed}"  # More configurations than these can have missed one by chance.
    if len(configs) < needed:
        flag = extent.flag_for(needed)
    named = "; ".join(f"{name}={','.join(map(short, values))}" for name, values in left.items())
    return f"No trial has {named}: {counted(len(configs), 'configuration')} of the space. One of each takes {flag}."
