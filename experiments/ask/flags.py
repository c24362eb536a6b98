"""The flags of the programs that run experiments: what each means, and in which modes it counts.

A flag's type says where it counts, by a ``Counts``; one without counts wherever flags say how a new experiment runs.
Where a flag would be ignored it is refused. Flags that sweeps have beside those of all programs stand at the end.
"""

import dataclasses
import os
import typing
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from experiments.ask.budget import ITERATIONS, TIMESTEPS, Budget
from experiments.ask.notations import UNDECIDED, setting
from experiments.ask.schedulers import SCHEDULERS, require_scheduler
from experiments.ask.storage import MIRRORS, is_name, is_uri, locate
from trainables.checks import Bounds, ConfigError, check_fields

NEW, SMOKE_TEST, FORK, CONFIRM, RESUME, EXTEND = "new", "smoke_test", "fork", "confirm", "resume", "extend"
"""Modes. All but the first have the name of the flag that asks for them."""

CHOSEN = (NEW, SMOKE_TEST, FORK)
"""Modes in which flags say how a new experiment runs."""

STARTS = (*CHOSEN, CONFIRM)
"""Modes in which a new experiment starts."""

ALWAYS = (*STARTS, RESUME, EXTEND)
"""All modes."""

WHERE = {
    NEW: "in a new experiment",
    SMOKE_TEST: "with --smoke-test: what it runs is fixed",
    FORK: "with --fork: it starts with its origin's trials, settings and seeds, of which flags of settings change some",
    CONFIRM: "with --confirm: it runs the best of an ended sweep with that sweep's settings and budget, and has a name"
    " of its own for --resume and --extend; --best and --seeds say how many",
    RESUME: "with --resume: an experiment keeps its settings; --fork starts one with others, --extend goes further",
    EXTEND: "with --extend: an experiment keeps its settings and seeds; --fork starts one with other settings, and more"
    " seeds are a new run with --seed and --seeds: `python experiments/results.py compare A,B` takes both as one",
}
"""Each mode in words, and why other flags do not count in it."""


@dataclass(frozen=True)
class Counts:
    """Where a flag counts."""

    modes: tuple[str, ...] = CHOSEN
    beside: str | None = None  # the flag without which it means nothing
    repeatable: bool = False


def require_counted(flags: Sequence[Any], words: Sequence[str]) -> None:
    """Raise ConfigError for a flag of a command line that is empty, stands there twice, or would be ignored.

    ``flags`` are the dataclasses that were read from the command line's ``words``.
    """
    given: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    for each in flags:
        given |= {field.name: getattr(each, field.name) for field in dataclasses.fields(each)}
        hints |= typing.get_type_hints(type(each), include_extras=True)
    for name, times in typed(words, given).items():
        _require_counted(name, times, _rule(hints[name]), given)


def _rule(hint: Any) -> Counts:
    """Where a flag of this type counts."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Counts):
            return extra
    return Counts()


def _mode(given: Mapping[str, Any]) -> str:
    """The mode that flags ask for."""
    for mode in (CONFIRM, RESUME, EXTEND, FORK, SMOKE_TEST):
        if given.get(mode) not in (None, False):
            return mode
    return NEW


def _require_counted(name: str, times: int, rule: Counts, given: Mapping[str, Any]) -> None:
    """Raise ConfigError unless a flag that stands in a command line so many times counts beside all that is given."""
    flag, mode = "--" + name.replace("_", "-"), _mode(given)
    if mode not in rule.modes:
        raise ConfigError(f"{flag} does not count {WHERE[mode]}")
    if given[name] == "":
        raise ConfigError(f"{flag} is empty")
    if times > 1 and not rule.repeatable:
        raise ConfigError(f"{flag} stands there {times} times: once is accepted")
    if rule.beside and not given[rule.beside]:
        raise ConfigError(f"{flag} means nothing without --{rule.beside.replace('_', '-')}")
    where = str(given.get(mode))
    if name == "storage_path" and mode in (CONFIRM, RESUME, EXTEND) and (is_uri(where) or where.startswith("/")):
        raise ConfigError(f"{flag} does not count with --{mode} {where}, which says where it lies")


def typed(words: Sequence[str], known: Collection[str]) -> Counter[str]:
    """How often each of the flags ``known``, as fields are written, stands in a command line: ``--no-x`` is ``x``."""
    names = [word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--")]
    names = [name if name in known else name.removeprefix("no_") for name in names]
    return Counter(name for name in names if name in known)


KEEP_BEST = 2
"""Best checkpoints that a trial keeps beside its latest, unless it is told otherwise."""

LONGEST_NAME = 200
"""Bytes of an experiment's name: file systems take 255, and names of files are made of it that are longer."""

LENGTH = Counts((NEW, FORK, EXTEND))
"""Where flags count that say how long trials train: --extend gives more of it."""

Repeated = tyro.conf.UseAppendAction[tuple[str, ...]]
"""The type of a flag that can stand there several times, each time with one value."""


def shown(metavar: str, default: str) -> Any:
    """How ``--help`` shows a flag: what its value stands for, and what holds without it."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=f"({default})")


@dataclass(frozen=True)
class RunFlags:
    """Where results go, how they are kept, and on which Ray."""

    name: Annotated[str | None, Counts(STARTS), shown("NAME", "default: learner, date, time")] = None
    """The experiment's name, and its folder's."""

    storage_path: Annotated[str, Counts(ALWAYS), tyro.conf.arg(metavar="DIR|URI")] = "results"
    """Folder of experiments, shared by all nodes of a cluster; or s3://... or gs://..., which ./results mirrors."""

    checkpoint_frequency: Annotated[int, Bounds(1)] = 5
    """Iterations between checkpoints: a kill costs at most these."""

    keep_checkpoints: Annotated[str, tyro.conf.arg(metavar="all|best|N")] = "best"
    """A trial keeps its latest checkpoint and its N best ones, by score (best: 2); or all, so that results.py
    (pong-results) verify and replay have a way of a few iterations to any of its iterations."""

    resume: Annotated[str | None, Counts((RESUME,)), shown("NAME|PATH|URI", "default: start a new one")] = None
    """Continue an interrupted experiment with the settings it was started with."""

    extend: Annotated[str | None, Counts((EXTEND,)), shown("NAME|PATH|URI", "with --iterations or --timesteps")] = None
    """Give the trials of an experiment more to do, in place; those that were stopped early stay stopped."""

    fork: Annotated[str | None, Counts((FORK,)), shown("NAME|PATH|URI", "with changed settings")] = None
    """Start a new experiment from the best checkpoints of another one's trials."""

    resume_or_start: Annotated[bool, Counts(STARTS, beside="name")] = False
    """Go on with the experiment of this --name if this very command began it, and start it if there is none: what a
    batch system runs again goes on by itself."""

    address: Annotated[str | None, Counts(ALWAYS), shown("auto|HOST:PORT", "default: this machine alone")] = None
    """Attach to a running Ray cluster; its nodes need this project's dependencies, not its code."""

    callback: Annotated[Repeated, Counts(ALWAYS, repeatable=True), shown("MODULE:FACTORY", "repeatable")] = ()
    """Import and call a function of yours that makes a ray.tune.Callback, such as MLflow's. It is yours, and not the
    experiment's: --resume needs it typed again."""

    verbose: Annotated[bool, Counts(ALWAYS)] = False
    """Show Ray's own messages and tables."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        if self.name and (not is_name(self.name) or len(os.fsencode(self.name)) > LONGEST_NAME):
            raise ConfigError(
                f"--name {self.name[:40]!r}: accepted is a name of at most {LONGEST_NAME} bytes without / and \\ that"
                " can be printed; put the path into --storage-path"
            )
        if self.uri:
            locate(self.uri)
        number = self.keep_checkpoints
        if number not in ("all", "best") and not (number.isdecimal() and 2 <= int(number[:6]) < 100_000):
            raise ConfigError(f"keep_checkpoints={number!r}: accepted is all, best or a number from 2 to 99999")

    @property
    def again(self) -> list[str]:
        """The words that a record does not keep, and that going on needs once more: on which Ray, and callbacks."""
        words = ["--address", self.address] if self.address else []
        for name in self.callback:
            words += ["--callback", name]
        return words

    @property
    def kept(self) -> int:
        """The best checkpoints that a trial keeps beside its latest; 0: all."""
        if self.keep_checkpoints == "all":
            return 0
        return KEEP_BEST if self.keep_checkpoints == "best" else int(self.keep_checkpoints)

    @property
    def uri(self) -> str | None:
        """The storage path if it is a URI."""
        return self.storage_path if is_uri(self.storage_path) else None

    @property
    def folder(self) -> Path:
        """Where experiments lie on this machine."""
        return MIRRORS if self.uri else Path(self.storage_path)


@dataclass(frozen=True)
class TrainFlags(RunFlags):
    """How long to train, where results go, and on which Ray."""

    iterations: Annotated[
        int | None, Bounds(1), LENGTH, shown("N", f"default: {ITERATIONS}, or what --timesteps takes")
    ] = None
    """Iterations, each a row of results: several updates of segments, or one of whole games."""

    timesteps: Annotated[int | None, Bounds(1), LENGTH, shown("N", "default: no limit")] = None
    """Agent steps after which it ends, if it has not made all --iterations before. Elsewhere total_timesteps."""

    preset: Annotated[str, Counts((NEW,)), tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings that the other flags then change."""

    seeds: Annotated[int, Counts((NEW,)), Bounds(1)] = 1
    """Runs of this configuration, with the seeds --seed, --seed + 1 and so on: as many at once as the CPUs hold."""

    @property
    def budget(self) -> Budget:
        """How long to train."""
        if not (self.iterations or self.timesteps):
            return Budget(ITERATIONS)
        return Budget(self.iterations, self.timesteps)


SAMPLES = 8
"""Configurations of a sweep without rungs, unless --num-samples says otherwise."""

FRESH = 3
"""Seeds of each configuration in a confirmation, unless --seeds says otherwise."""


@dataclass(frozen=True)
class SweepFlags:
    """What is swept, how far, and how trials are stopped."""

    num_samples: Annotated[int | None, Bounds(1), Counts((NEW,)), shown("N", "default: what time allows")] = None
    """Trials (with --seeds configurations): the baseline, and others whose settings cover the search space evenly.
    Without it halving begins as many as it has time for (6 at most, unless there is time for the last one to play 6
    million steps; with --timesteps 9 at most, unless they are 3.9 million or more), and other schedulers 8. Optuna's
    n_trials."""

    iterations: Annotated[int | None, Bounds(1), LENGTH, shown("N", "default: no limit")] = None
    """Iterations of a trial that is not stopped early."""

    timesteps: Annotated[int | None, Bounds(1), LENGTH, shown("N", "default: what time allows")] = None
    """Agent steps of a trial that is not stopped early. Trials are compared at equal steps, which is fair to trials of
    different batches; with --iterations alone, after equally many. Without either halving gives the last trial as
    many steps as it has time for, and other schedulers give each a million, as forks do."""

    time_budget_s: Annotated[float, Bounds(0, low_included=False)] = 1800.0
    """Seconds that halving plans for, and after which any sweep ends, whatever is left to do. --resume has as many
    again."""

    scheduler: Annotated[
        str,
        Counts((NEW, FORK)),
        tyro.conf.arg(
            metavar="|".join(SCHEDULERS), help="; ".join(f"{name} {of.help}" for name, of in SCHEDULERS.items()) + "."
        ),
    ] = "halving"

    preset: Annotated[str, Counts((NEW,)), tyro.conf.arg(metavar="NAME")] = "default"
    """Named settings, and the search space around them."""

    num_workers: Annotated[int | None, Bounds(1), shown("N", "default: swept")] = None
    """Rollout actors of every trial."""

    max_concurrent: Annotated[int | None, Bounds(1), shown("N", "default: as many as the CPUs hold")] = None
    """Trials that run at once."""

    seed: Annotated[int, Counts((NEW, SMOKE_TEST)), Bounds(0)] = 0
    """Decides what is drawn, and the trials' own seeds, which the plan lists: 32 bits each, spawned from this one. With
    --seeds N all configurations have the same N."""

    seeds: Annotated[int | None, Counts((NEW, CONFIRM)), Bounds(1), shown("N", "default: 1; to confirm 3")] = None
    """Seeds of each configuration, which begins as so many trials: halving compares it by all of them, and lets all of
    them go on or none; fifo runs them all; asha takes one. With --confirm they are fresh ones."""

    set: Annotated[Repeated, Counts(repeatable=True), shown("KEY=VALUE", "repeatable")] = ()
    """Fix any setting of the learner's configuration in all trials."""

    sweep: Annotated[Repeated, Counts((NEW,), repeatable=True), shown("KEY=VALUES", "repeatable")] = ()
    """Sweep this setting: choices, as gamma=0.98,0.99, a range, as learning_rate=1e-4..1e-2:log, or so many values of
    it, as gamma=0.9..0.99:4. What is named so, or in --space, is then all that is swept, in place of the preset's
    space."""

    space: Annotated[Path | None, Counts((NEW,)), shown("FILE", "default: the preset's")] = None
    """Sweep the settings in this file: Python as in search_spaces/, in --sweep's words, which is run. --sweep adds to
    it, so a preset's space can be had with a change: give its file."""

    grid: Annotated[bool, Counts((NEW,))] = False
    """Run every combination of the choices once, in place of even draws; of a range, say how many values."""

    baseline: Annotated[bool | None, Counts((NEW,)), UNDECIDED, shown("True|False", "default: yes, but for a grid")] = (
        None
    )
    """Begin with the baseline: a trial that has the preset's own values of what is swept, so that the end says whether
    anything drawn is better. --num-samples counts it. --no-baseline leaves it out."""

    confirm: Annotated[str | None, Counts((CONFIRM,)), shown("NAME|PATH|URI", "with --best and --seeds")] = None
    """Start an experiment that runs the best configurations of a sweep that has ended, and its baseline, again with
    fresh seeds: how much of their scores was luck? Without --name it is called NAME-confirm, beside the sweep."""

    best: Annotated[int, Counts(STARTS, beside="confirm"), Bounds(1)] = 3
    """Configurations that --confirm runs again, beside the baseline."""

    smoke_test: Annotated[bool, Counts((SMOKE_TEST,))] = False
    """2 trials of 2 short iterations on real Pong (--preset smoke), some 15 seconds on free cores: does everything
    work here?"""

    dry_run: Annotated[bool, Counts(STARTS)] = False
    """Print the plan and stop."""

    def __post_init__(self) -> None:
        """Check every flag."""
        check_fields(self)
        if self.grid and self.num_samples:
            raise ConfigError(f"--grid runs all combinations: leave --num-samples {self.num_samples} out")
        if self.grid and self.baseline is False:
            raise ConfigError("--grid has a baseline only with --baseline: leave --no-baseline out")
        if self.confirm and self.seeds == 1:
            raise ConfigError("--seeds 1: one seed says nothing of luck; with --confirm accepted is a number >= 2")
        require_scheduler(self.scheduler)

    @property
    def settled(self) -> "SweepFlags":
        """These flags, with what --smoke-test fixes if it was asked for."""
        if not self.smoke_test:
            return self
        return dataclasses.replace(self, preset="smoke", scheduler="fifo", num_samples=2, iterations=2)

    @property
    def seeds_each(self) -> int:
        """How many seeds each configuration has."""
        return self.seeds or (FRESH if self.confirm else 1)

    @property
    def has_baseline(self) -> bool:
        """Whether a configuration has the preset's own values of what is swept."""
        if self.baseline is None:
            return not self.grid
        return self.baseline

    @property
    def budget(self) -> Budget:
        """How long a trial trains, where no time budget decides it."""
        if not (self.iterations or self.timesteps):
            return Budget(None, TIMESTEPS)
        return Budget(self.iterations, self.timesteps)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that are the same in all trials.

        Raises ConfigError for a ``--set`` that is no assignment, and for a setting that is given twice.
        """
        settings: dict[str, Any] = {}
        if self.num_workers:
            settings["num_workers"] = self.num_workers
        for text in self.set:
            name, equals, word = text.partition("=")
            if not equals:
                raise ConfigError(f"--set {text!r}: accepted is key=value")
            if name in settings:
                raise ConfigError(f"--set {text} comes on top of {name}={settings[name]}: give it once")
            settings[name] = setting(name, word)
        return settings
