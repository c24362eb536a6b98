"""What an experiment was asked to do: ``experiment.json``, written before anything runs, and all ``--resume`` needs.

Of a fork it says where its trials come from: which runs they left, and at how many agent steps.
"""

import hashlib
import itertools
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from experiments.ask.budget import Budget
from experiments.ask.flags import KEEP_BEST
from experiments.ask.schedulers import SCHEDULERS, require_scheduler
from experiments.ask.storage import is_name, is_uri
from experiments.disk.folders import RECORD, existing, is_experiment, is_tunes_own
from experiments.disk.models import Count, Model, Settings, read_model
from experiments.disk.provenance import Origin, provenance, sha256_of, sources
from experiments.disk.tunes_own import entries
from experiments.plan.identity import Left, completed, decisive
from trainables.checks import ConfigError, unknown
from trainables.files import replace_text
from trainables.texts import printable

ALL_DONE, TIME_BUDGET, INTERRUPTED, GAVE_UP = "all done", "time budget", "interrupted", "gave up"
"""Why a program stopped to run an experiment. Trials that failed are done; "gave up" is what Ray Tune does."""


class Limits(Model):
    """A budget as JSON holds it."""

    iterations: Count | None
    timesteps: Count | None = None


class Start(Model):
    """Where a trial of a fork left its origin."""

    config: Settings  # the origin's
    iteration: Count
    steps: Count  # agent steps
    past: str = ""  # of an origin that was a fork itself, a digest of where that one had left its own


class ForkOf(Model):
    """The experiment that this one went on from, and where each trial did."""

    name: str
    starts: list[Start]  # of each trial


class ExperimentSpec(Model):
    """What an experiment was asked to do: the entries of ``experiment.json``."""

    learner: str
    command: list[str]  # the program's file name and its arguments as typed; empty where a foreign Tuner began it
    iterations: Count | None = None  # of a trial that is not stopped early; None if steps alone are counted
    timesteps: Count | None = None  # agent steps of such a trial; None if iterations are counted
    swept: list[str]  # settings that differ between trials, and so appear in their names
    configs: list[Settings]  # of every trial, in order
    checkpoint_frequency: Count
    interval: Count  # before asha first cuts, in the budget's time_attr
    keep_checkpoints: Count = KEEP_BEST  # the best ones of each trial beside its latest; 0: all
    scheduler: str = "fifo"
    rungs: list[Count] | None = None  # where halving compares trials, ascending to the budget's end, in its time_attr
    max_concurrent: Count | None = None
    time_budget_s: float | None = None
    confirm: Any = Field(default=None, exclude=True)  # what an older sweep promised, which is read and forgotten
    confirms: str | None = None  # the sweep whose best it runs again, with fresh seeds
    extended: list[Limits] = Field(default_factory=list)  # what the budget was before --extend, once or more
    ended: Literal["all done", "time budget", "interrupted", "gave up"] | None = None  # None before a program stopped
    storage_uri: str | None = None  # beneath which the experiment lies, where its folder here is a mirror
    learner_sha256: list[str] = Field(default_factory=list)  # of the files of a learner of one's own that it ran with
    fork_of: ForkOf | None = None
    configuration_of: list[Count] | None = None  # each trial's, counted from 0, where configurations have several seeds
    drawn: Count | None = None  # --num-samples of a sweep, before what was drawn twice was left out
    space: dict[str, str] | None = None  # each swept setting's values in words, where they were drawn from a space
    preset: Settings | None = None  # settings of a preset that came with the space, in a file of the user's own
    baseline: Settings | None = None  # the preset's own values of what is swept, but for speed; None without a baseline
    origin: Origin = Origin()

    @model_validator(mode="after")
    def _require_whole(self) -> Self:
        """Raise ValueError for entries that do not fit each other."""
        self._require_names()
        if not self.budget.limits:
            raise ValueError("it has neither iterations nor timesteps")
        scheduler = SCHEDULERS.get(self.scheduler)  # one that there is not is refused where a file is read
        if scheduler and scheduler.has_rungs and not self._rungs_lead_to_the_end:
            raise ValueError(f"rungs={self.rungs} do not lead to {self.budget}")
        if self.configuration_of is not None and not self._counts_configurations(self.configuration_of):
            raise ValueError(f"configuration_of={str(self.configuration_of)[:60]} does not count the configs' from 0")
        if self.fork_of and len(self.fork_of.starts) != len(self.configs):
            raise ValueError(f"fork_of has {len(self.fork_of.starts)} starts for {len(self.configs)} configs")
        return self

    def _require_names(self) -> None:
        """Raise ValueError for a name of another experiment that is no name, or a storage that is no URI."""
        names = {}
        if self.confirms is not None:
            names["confirms"] = self.confirms
        if self.fork_of:
            names["fork_of"] = self.fork_of.name
        for entry, name in names.items():
            if not is_name(name):
                raise ValueError(f"{entry}={name!r} is no name")
        if self.storage_uri and not is_uri(self.storage_uri):
            raise ValueError(f"storage_uri={self.storage_uri[:60]!r} is no URI")

    def _counts_configurations(self, of: Sequence[int]) -> bool:
        """Whether these are the numbers of all trials' configurations, ascending from 0, and none is left out."""
        numbers = {*of}
        none_left_out = numbers == {*range(len(numbers))}
        return len(of) == len(self.configs) and [*of] == sorted(of) and none_left_out

    @property
    def _rungs_lead_to_the_end(self) -> bool:
        """Whether the rungs ascend from above 0, and the last one is the budget's end; False without rungs."""
        rungs = self.rungs or [0]
        ascending = all(before < after for before, after in itertools.pairwise([0, *rungs]))
        return ascending and rungs[-1] == self.budget.limit

    @classmethod
    def read(cls, folder: Path) -> Self:
        """An experiment's specification, or what Tune's files say in its place.

        Raises ConfigError if it is damaged, or of a scheduler that there is not.
        """
        if is_tunes_own(folder):
            return cls(**entries(folder))
        spec = read_model(folder / RECORD, cls)
        try:
            require_scheduler(spec.scheduler)
        except ConfigError as error:
            raise ConfigError(f"{folder / RECORD}: {error}") from None
        return spec

    def write(self, folder: Path) -> None:
        """Replace the ``experiment.json`` of a folder. Raises OSError."""
        replace_text(folder / RECORD, json.dumps(self.model_dump(), indent=1))

    def but(self, **changes: Any) -> Self:
        """The same specification with other values of these entries."""
        return self.model_copy(update=changes)

    def with_source(self, source: Path | None) -> Self:
        """The same with the digests of the present code appended, where other code ran last. Raises ConfigError.

        The code is our packages and, if there is one, the file ``source`` of a learner of one's own.
        """
        changes: dict[str, Any] = {}
        ran, now = self.origin.sources or [{}], sources()  # {}: code of which nothing is known
        if ran[-1] != now:
            changes["origin"] = self.origin.model_copy(update={"sources": [*ran, now]})
        if source:
            sha256 = sha256_of(source)
            if self.learner_sha256[-1:] != [sha256]:
                changes["learner_sha256"] = [*self.learner_sha256, sha256]
        return self.but(**changes)

    @property
    def is_ours(self) -> bool:
        """Whether a program of ours began it, and no ``tune.Tuner`` of somebody's own."""
        return bool(self.command)

    @property
    def budget(self) -> Budget:
        """How long a trial trains."""
        return Budget(self.iterations, self.timesteps)

    @property
    def earlier_budgets(self) -> list[Budget]:
        """What the budget was before it was extended."""
        return [Budget(limits.iterations, limits.timesteps) for limits in self.extended]

    @property
    def configurations(self) -> list[list[int]]:
        """The trials of each configuration: its seeds, in order."""
        return members(self.configuration_of, len(self.configs))

    @property
    def seeds(self) -> list[int]:
        """Each trial's random seed."""
        return [int(config.get("seed") or 0) for config in self.configs]

    def start(self, number: int) -> Start | None:
        """Where a trial of a fork left its origin; None from scratch, and for a trial that was not planned."""
        if not self.fork_of or number >= len(self.fork_of.starts):
            return None
        return self.fork_of.starts[number]

    def with_more(self, more: Budget) -> Self:
        """The same with a budget extended by ``more``. Raises ConfigError as ``Budget.extended`` does."""
        now = self.budget.extended(more)
        rungs = self.rungs
        if rungs:  # the last one is the budget's end
            rungs = [*rungs[:-1], now.limit]
        before = [*self.extended, Limits(iterations=self.iterations, timesteps=self.timesteps)]
        return self.but(iterations=now.iterations, timesteps=now.timesteps, rungs=rungs, extended=before)


def members(configuration_of: Sequence[int] | None, trials: int) -> list[list[int]]:
    """The trials of each configuration, in order. Without ``configuration_of`` each trial is one of its own."""
    found: dict[int, list[int]] = {}
    for trial, configuration in enumerate(configuration_of or range(trials)):
        found.setdefault(configuration, []).append(trial)
    return list(found.values())


def create(storage_path: Path, name: str | None, spec: ExperimentSpec) -> Path:
    """Make a new experiment's folder with its specification and its origin; return its absolute path.

    Without a name it is called by learner, date and time. Raises ConfigError if the name exists already, or if the
    storage path cannot be written; then no folder is left behind.
    """
    spec = spec.but(origin=provenance())
    try:
        storage_path.mkdir(parents=True, exist_ok=True)
        folder = _make(storage_path.absolute(), name, spec.learner)
        try:
            spec.write(folder)
        except OSError:
            shutil.rmtree(folder)
            raise
    except OSError as error:
        raise ConfigError(f"--storage-path {storage_path} cannot be written: {error.strerror}") from None
    return folder


def _make(storage_path: Path, name: str | None, learner: str) -> Path:
    """Make a new folder. Without a name, programs that begin in the same second get different ones: ``...-2``."""
    called = name or f"{learner}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, count = storage_path / called, 1
    while True:
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            if name:
                reason = f"--name {name!r} exists already in {storage_path}; --resume {name} continues it"
                raise ConfigError(reason) from None
        count += 1
        folder = storage_path / f"{called}-{count}"


def find(storage_path: Path, name_or_path: str, learner: str | None = None) -> Path:
    """The folder of an experiment, named within the storage path or by any path.

    Raises ConfigError, listing those that exist, if there is none, if it is not of the ``learner`` asked for, or if its
    name cannot be printed.
    """
    path = Path(name_or_path).absolute()
    for folder in (storage_path.absolute() / name_or_path, path):
        if is_experiment(folder):
            if not is_name(folder.name):
                raise ConfigError(f"{printable(str(folder))!r}: accepted are names that can be printed; rename it")
            if learner:
                _require_learner(folder, learner)
            return folder
    parents = [storage_path]
    if Path(name_or_path).name != name_or_path:  # of a path, what lies in that folder is listed, or else beside it
        parents = [path, path.parent, storage_path]
    parent = next((parent for parent in parents if existing(parent)), storage_path)
    asked = name_or_path  # as it was typed, unless what it is beside is listed
    if parent != storage_path:
        asked = path.name
    raise ConfigError(f"{unknown('experiment', asked, existing(parent))} (in {parent})")


def _require_learner(folder: Path, learner: str) -> None:
    """Raise ConfigError unless an experiment is of this learner, and was begun by a program of ours."""
    if is_tunes_own(folder):
        raise ConfigError(f"{folder} was made by a tune.Tuner of one's own: tune.Tuner.restore goes on with it")
    found = ExperimentSpec.read(folder).learner
    if found != learner:
        raise ConfigError(f"{folder} is an experiment of {found!r}, not of {learner!r}")


def left_of(spec: ExperimentSpec, number: int) -> Left | None:
    """Where a trial of a fork, and the other seeds of its configuration, left their origin; None from scratch."""
    start = spec.start(number)
    if not start:
        return None
    steps, seeds = set(), set()
    for other in _forked_together(spec, number, start):
        steps.add(other.steps)
        seeds.add(_settings(spec, other)["seed"])
    settings = decisive(_settings(spec, start))
    return Left(settings, tuple(sorted(steps)), tuple(sorted(seeds, key=repr)), start.past)


def past_of(spec: ExperimentSpec, number: int) -> str:
    """A digest of where a trial of a fork, and the other seeds of its configuration, left their origin.

    A fork of this fork records it, since origins that were forked elsewhere are other origins, though their settings,
    seeds and steps be the same. Empty from scratch.
    """
    start = spec.start(number)
    if not start:
        return ""
    starts = []
    for other in _forked_together(spec, number, start):
        starts.append(json.dumps(other.model_dump(), sort_keys=True))
    return hashlib.sha256("\n".join(sorted(starts)).encode()).hexdigest()  # the same one for all of these seeds


def _forked_together(spec: ExperimentSpec, number: int, start: Start) -> list[Start]:
    """The starts of those trials of a fork that are seeds of one configuration; ``start`` is that of trial ``number``.

    The record names the trials. Where it names none, they are those that drew the same settings, if they left at equal
    steps. Of these, trials to which the fork gave one seed are not seeds of one configuration: only their origins tell
    them apart.
    """
    assert spec.fork_of
    starts = spec.fork_of.starts
    named = next(trials for trials in spec.configurations if number in trials)
    if len(named) > 1:
        return [starts[trial] for trial in named]
    left, found = decisive(_settings(spec, start)), [start]
    for config, other in zip(spec.configs, starts, strict=True):
        if config.get("seed") == spec.configs[number].get("seed") or other.steps != start.steps:
            continue
        if decisive(_settings(spec, other)) == left:
            found.append(other)
    return found


def _settings(spec: ExperimentSpec, start: Start) -> dict[str, Any]:
    """All settings of the run that a trial left."""
    return completed(spec.learner, start.config)
