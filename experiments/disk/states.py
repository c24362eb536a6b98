"""What has become of a trial and of an experiment: the names of their states, and the one table that decides each.

A trial's facts come from its files (``facts_of``) or, while it runs, from Tune (``run/tune_trials.py``); the table is
the same. Nobody else compares a state with several others: what a state means is a property here (``HasState``).
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, NamedTuple

from experiments.disk.decisions import Decision, dropped
from experiments.disk.spec import ALL_DONE, TIME_BUDGET, ExperimentSpec

PENDING, PAUSED, TERMINATED, ERROR = "PENDING", "PAUSED", "TERMINATED", "ERROR"
"""What Tune calls a trial that waits for cores, one that waits for others, one at its end, and one that failed."""


class State(StrEnum):
    """What a trial's state is called wherever it is shown, the most telling first."""

    RUNNING = "running"
    FAILED = "failed"  # an error ended it
    FINISHED = "finished"  # its budget is used up, and its last policy saved
    DIVERGED = "diverged"  # an update gave up on figures that were not finite
    STOPPED = "stopped"  # before the end of its budget, as others were better, or time too short for it at a rung
    PAUSED = "paused"  # at a rung, until all others are there
    WAITING = "waiting"  # for cores
    TIME_IS_UP = "time is up"  # the sweep's time budget ended it
    INTERRUPTED = "interrupted"  # a signal or a kill ended it


def fell(state: str) -> Literal["diverged", "failed"] | None:
    """What ended a trial of this state before its time; None if nothing did."""
    if state == State.DIVERGED:
        return "diverged"
    if state == State.FAILED:
        return "failed"
    return None


class Facts(NamedTuple):
    """All that decides a trial's state: what happened, of which the table makes a verdict.

    Whoever asks what happened (whether there can be a last checkpoint, or why a score is missing) asks the facts, and
    whoever asks what that is worth asks the state.
    """

    broke: bool  # an error ended it, and it has not gone on since; the verdict on that is ``failed``
    over: bool  # it came to an end, be it that of its budget or an earlier one
    diverged: bool  # by its last result
    share: float  # of its budget that it has used up, 1 for all; see ``tunes_own`` for what stands for a foreign one's
    dropped: bool  # others went on at a rung, and it did not, be it for lack of time
    running: bool  # a program runs the experiment
    status: str | None  # what Tune calls the trial, or called it last
    began: bool  # it has results
    time_is_up: bool  # the sweep's time budget ended the experiment

    @property
    def used_up(self) -> bool:
        """Whether its whole budget is used up, and its last policy saved."""
        return self.over and self.share == 1


def state_of(facts: Facts) -> State:
    """A trial's state: that of the first case that holds."""
    cases = (
        (State.FAILED, facts.broke),
        (State.DIVERGED, facts.over and facts.diverged),
        (State.FINISHED, facts.used_up),
        (State.STOPPED, facts.over or facts.dropped),
        (State.WAITING, facts.running and facts.status == PENDING and not facts.began),
        (State.WAITING, facts.running and facts.status == PAUSED and not facts.began),
        (State.PAUSED, facts.running and facts.status == PAUSED),
        (State.RUNNING, facts.running),
        (State.TIME_IS_UP, facts.time_is_up),
    )
    for state, holds in cases:
        if holds:
            return state
    return State.INTERRUPTED


class HasState:
    """What its state says of a trial. ``SAYS`` in tests/experiments/disk/test_states.py has all of it as a table."""

    @property
    def facts(self) -> Facts:
        """What decides its state."""
        raise NotImplementedError

    @cached_property
    def state(self) -> State:
        """The first case of ``state_of`` that holds for it."""
        return state_of(self.facts)

    @property
    def goes_on(self) -> bool:
        """Whether ``--resume`` plays it further: one that failed, too, unless others went on without it at a rung."""
        return not self.has_ended or (self.failed and not self.facts.dropped)

    @property
    def has_ended(self) -> bool:
        """Whether it is not played further in this run of its experiment."""
        return self.played_out or self.stopped

    @property
    def played_out(self) -> bool:
        """Whether it arrived or failed: nobody stopped it, and nobody waits for it."""
        return self.arrived or self.failed

    @property
    def arrived(self) -> bool:
        """Whether it came to an end of its own: that of its budget, or by diverging."""
        return self.state in (State.FINISHED, State.DIVERGED)

    @property
    def finished(self) -> bool:
        """Whether its budget is used up, so that an extension gives it more to play."""
        return self.state == State.FINISHED

    @property
    def failed(self) -> bool:
        """Whether an error ended it."""
        return self.state == State.FAILED

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before the end of its budget: others were better, or time was too short for it."""
        return self.state == State.STOPPED

    @property
    def ended_as_planned(self) -> bool:
        """Whether its budget, its scheduler or the sweep's time budget ended it, and nothing went wrong."""
        return self.finished or self.stopped or self.state == State.TIME_IS_UP

    @property
    def fell(self) -> Literal["diverged", "failed"] | None:
        """What ended it before its time; None if nothing did."""
        return fell(self.state)


class Records(NamedTuple):
    """What an experiment has written down of all its trials."""

    spec: ExperimentSpec
    decisions: Sequence[Decision] = ()  # of halving


class Traces(NamedTuple):
    """What there is of a trial's end beside its rows and its experiment's records."""

    error: str  # the last line of its error.txt; empty without one
    saved: int  # the iteration of its newest usable checkpoint; 0 without one
    status: str | None  # what Tune's newest account of its trials calls it
    running: bool  # a program runs the experiment


def facts_of(number: int, rows: Sequence[Mapping[str, Any]], records: Records, traces: Traces) -> Facts:
    """The facts of a trial on disk, which is called by its ``number`` in its experiment's records."""
    spec = records.spec
    last: Mapping[str, Any] = {}
    if rows:
        last = rows[-1]
    decision = dropped(records.decisions, number)
    return Facts(
        broke=not _is_done(rows, spec) and _broke(number, traces, decision),
        over=_over(rows, spec, traces),
        diverged=bool(last.get("diverged")),
        share=spec.budget.share(last),
        dropped=decision is not None,
        running=traces.running,
        status=traces.status,
        began=bool(rows),
        time_is_up=spec.ended == TIME_BUDGET,
    )


def _is_done(rows: Sequence[Mapping[str, Any]], spec: ExperimentSpec) -> bool:
    """Whether the last row says that the trial is done, and no extension has given it more to do since.

    A row that ends one of the budgets that the trial had before says nothing of the present one, but a trial that
    diverged stays so.
    """
    if not rows or not rows[-1].get("done"):
        return False
    if rows[-1].get("diverged") or spec.budget.share(rows[-1]) == 1:
        return True
    return not any(earlier.ended(rows) for earlier in spec.earlier_budgets)


def _broke(number: int, traces: Traces, dropped_at: Decision | None) -> bool:
    """Whether an error ended a trial that is not done: ``error.txt`` stays where it failed once and then went on.

    The decision at which others went on without it says so. One of an older file does not; there a trial that had
    failed has no score. Neither has one whose seeds all diverged, but its last row says that it is done.
    """
    if not traces.error:
        return False
    if dropped_at is None:
        return traces.status in (None, ERROR)
    if dropped_at.broke is None:
        return number not in dropped_at.scored
    return number in dropped_at.broke


def _over(rows: Sequence[Mapping[str, Any]], spec: ExperimentSpec, traces: Traces) -> bool:
    """Whether a trial has come to an end, and needs nothing more.

    At the end of its budget a trial saves once more, so its newest checkpoint is then that of its last row. Tune's word
    counts for a Tuner of somebody's own alone: of our trials Tune calls those "terminated", too, that a time budget
    ended, with which --resume goes on.
    """
    if not spec.is_ours:
        return traces.status in (TERMINATED, ERROR)
    if not _is_done(rows, spec):
        return False
    return spec.budget.share(rows[-1]) < 1 or traces.saved >= rows[-1]["training_iteration"]


class ExperimentState(StrEnum):
    """What an experiment's state is called wherever it is shown."""

    RUNNING = "running"  # a program holds its lock
    FAILED = "failed"  # it has ended, with a failed trial
    FINISHED = "finished"  # it has ended, without one
    TIME_IS_UP = "time is up"  # its time budget ended it
    INTERRUPTED = "interrupted"

    @property
    def has_ended(self) -> bool:
        """Whether it came to an end, that of its trials or of its time budget, so that its scores can be confirmed."""
        return self not in (ExperimentState.RUNNING, ExperimentState.INTERRUPTED)


def state_of_experiment(
    trials: Collection[State], all_ended: bool, running: bool, ended: str | None
) -> ExperimentState:
    """An experiment's state: that of the first case that holds.

    It follows from its ``trials``' states, from whether all that were planned have ended (``all_ended``), from whether
    a program runs it now, and from why its last program ``ended``.
    """
    done = all_ended or ended == ALL_DONE
    cases = (
        (ExperimentState.RUNNING, running),
        (ExperimentState.FAILED, done and State.FAILED in trials),
        (ExperimentState.FINISHED, done),
        (ExperimentState.TIME_IS_UP, ended == TIME_BUDGET),
    )
    for state, holds in cases:
        if holds:
            return state
    return ExperimentState.INTERRUPTED
