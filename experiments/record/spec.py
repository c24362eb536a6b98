"""What an experiment was asked to do: written into its folder before anything runs, and all that ``--resume`` needs."""

import dataclasses
import json
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from experiments.ask.budget import Budget
from experiments.ask.flags import KEEP_BEST
from experiments.record.folders import RECORD, read_record
from experiments.record.names import is_name
from experiments.record.provenance import ORIGIN
from experiments.record.seeds import is_sound, members
from experiments.record.sound import wrong_entry
from trainables.checks import ConfigError
from trainables.files import replace_text

ALL_DONE, TIME_BUDGET, INTERRUPTED, GAVE_UP = ENDINGS = ("all done", "time budget", "interrupted", "gave up")
"""Why a program stopped to run an experiment. Trials that failed are done; "gave up" is what Ray Tune does."""

SETTINGS = dict[str, str | int | float | bool | None]
"""A trial's settings as text has them."""


class Confirm(typing.TypedDict):
    """What ``--confirm`` asks for: how many of the best run again, and with how many seeds."""

    best: int
    seeds: int


@dataclass(frozen=True)
class ExperimentSpec:
    """The part of ``experiment.json`` that a program acts on; ``provenance`` adds the rest."""

    learner: str
    command: list[str]  # the program's file name and its arguments as typed
    iterations: int | None  # of a trial that is not stopped early; None if steps alone are counted
    swept: list[str]  # settings that differ between trials, and so appear in their names
    configs: list[dict[str, Any]]  # of every trial, in order
    checkpoint_frequency: int
    interval: int  # before asha first cuts, and between pbt's exchanges; in the budget's time_attr
    keep_checkpoints: int = KEEP_BEST  # the best ones of each trial beside its latest; 0: all
    scheduler: Literal["halving", "asha", "fifo", "pbt"] = "fifo"
    rungs: list[int] | None = None  # where halving compares trials, ascending to the budget's end, in its time_attr
    max_concurrent: int | None = None
    time_budget_s: float | None = None
    timesteps: int | None = None  # agent steps of a trial that is not stopped early; None if iterations are counted
    confirm: dict[str, int] | None = None  # how many of the best to run again, and with how many seeds
    confirms: str | None = None  # the sweep that this one confirms
    extended: list[int | dict[str, int | None]] = field(
        default_factory=list
    )  # what the budget was before --extend, once or more
    ended: str | None = None  # why the last program to run it stopped, one of ENDINGS; None before that
    storage_uri: str | None = None  # beneath which the experiment lies, where its folder here is a mirror
    learner_sha256: list[str] = field(default_factory=list)  # of the files of a learner of one's own that it ran with
    fork_of: dict[str, Any] | None = None  # the experiment that this one went on from, and each trial's iteration
    configuration_of: list[int] | None = None  # each trial's, counted from 0, where configurations have several seeds
    space: dict[str, str] | None = None  # each swept setting's values in words, where they were drawn from a space
    preset: dict[str, Any] | None = None  # settings of a preset that came with the space, in a file of the user's own

    @classmethod
    def read(cls, folder: Path) -> Self:
        """An experiment's specification. Raises ConfigError if it is damaged or lacks an entry."""
        content = sound_record(folder)
        names = {field.name for field in dataclasses.fields(cls)}
        try:
            spec = cls(**{name: value for name, value in content.items() if name in names})
        except TypeError as error:
            raise ConfigError(f"{folder / RECORD} is damaged or older than this program ({error})") from None
        if not spec.budget.limits:
            raise ConfigError(f"{folder / RECORD} is damaged: it has neither iterations nor timesteps")
        if spec.scheduler == "halving" and not spec.has_sound_rungs:
            raise ConfigError(f"{folder / RECORD} is damaged: rungs={spec.rungs} do not lead to {spec.budget}")
        return spec

    @property
    def budget(self) -> Budget:
        """How long a trial trains."""
        return Budget.of_record(vars(self))

    @property
    def budgets_before(self) -> list[Budget]:
        """What the budget was before it was extended."""
        return Budget.before(vars(self))

    @property
    def configurations(self) -> list[list[int]]:
        """The trials of each configuration: its seeds, in order."""
        return members(self.configuration_of, len(self.configs))

    @property
    def has_sound_rungs(self) -> bool:
        """Whether the rungs ascend to the end of the budget."""
        rungs = self.rungs or []
        return rungs == sorted({0, *rungs})[1:] and rungs[-1:] == [self.budget.limits[self.budget.time_attr]]

    def with_more(self, more: Budget) -> "ExperimentSpec":
        """What it is to do once its budget is extended. Raises ConfigError as ``Budget.extended`` does."""
        now = self.budget.extended(more)
        rungs = self.rungs and [*self.rungs[:-1], now.limits[now.time_attr]]
        before = [*self.extended, dataclasses.asdict(self.budget)]
        return dataclasses.replace(self, **dataclasses.asdict(now), rungs=rungs, extended=before)

    def to_dict(self) -> dict[str, Any]:
        """Plain types, for ``experiment.json``."""
        return dataclasses.asdict(self)

    def update(self, folder: Path) -> None:
        """Put this specification into the ``experiment.json`` of ``folder``; what else stands there stays."""
        replace_text(folder / RECORD, json.dumps(read_record(folder) | self.to_dict(), indent=1))


def sound_record(folder: Path) -> dict[str, Any]:
    """What ``experiment.json`` says, each entry of the type that is declared here. Raises ConfigError otherwise."""
    content = read_record(folder)
    hints = typing.get_type_hints(ExperimentSpec) | ORIGIN | {"configs": list[SETTINGS], "confirm": Confirm | None}
    hints["preset"] = SETTINGS | None
    wrong = wrong_entry(content, hints)
    if (sweep := content.get("confirms")) is not None and not (wrong or is_name(sweep)):
        wrong = f"confirms={sweep!r} is no name"
    if (of := content.get("configuration_of")) is not None and not wrong:
        sound = is_sound(of, len(content.get("configs", [])))
        wrong = None if sound else f"configuration_of={str(of)[:60]} does not count the configs' configurations from 0"
    if wrong:
        raise ConfigError(f"{folder / RECORD} is damaged: {wrong}")
    return content
