"""The learners that experiments know: ours, and somebody's own, which docs/own_learner.md writes.

A user's own files, which are modules to import and pages of presets and spaces, are read where a command line names
them, and nowhere else: names in records and checkpoints are data, and never come here. Whatever is wrong with a file is
said in one line, as a ConfigError.
"""

import contextlib
import functools
import importlib
import inspect
import re
import runpy
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from search_spaces import pong_pg, pong_trpo
from trainables.checks import ConfigError, unknown
from trainables.config import Config, PGConfig, TRPOConfig
from trainables.sampling.rollout import GameNumber

if TYPE_CHECKING:
    from trainables.trainable import PongTrainable


ACCEPTED = (
    "accepted is module:name (of a file here or on PYTHONPATH), or file.py:name, with names as variables can have them"
)


def imported(typed: str) -> tuple[ModuleType, Any]:
    """The module that ``module:name`` or ``file.py:name`` names, and what has this name in it.

    Raises ConfigError, in one line, if there is none, or if its code fails.
    """
    where, _, name = typed.rpartition(":")
    called, folder = where, Path().absolute()
    file = None
    if where.endswith(".py"):
        file = Path(where).absolute()
        called, folder = file.stem, file.parent
    if not all(part.isidentifier() for part in (*called.split("."), name)):
        raise ConfigError(f"{typed!r}: {ACCEPTED}")
    if file and not file.is_file():
        raise ConfigError(f"{typed}: there is no such file")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # after all others: no file in it takes the place of a library
    module = _import(typed, called)
    if file and Path(module.__file__ or "").resolve() != file.resolve():
        raise ConfigError(f"{typed}: there is another module {called!r}; call the file otherwise")
    if not hasattr(module, name):
        public = [known for known, it in vars(module).items() if getattr(it, "__module__", "") == called]
        raise ConfigError(f"{typed}: {unknown('name', name, public)}")
    return module, getattr(module, name)


def _import(typed: str, called: str) -> ModuleType:
    """The module of this name. Raises ConfigError if there is none, or if its code fails."""
    importlib.invalidate_caches()
    with one_line(f"{typed}: its import"):
        try:
            return importlib.import_module(called)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{called}.".startswith(f"{error.name}."):
                raise  # what is missing is a module that this one imports
            raise ConfigError(f"{typed}: there is no module {error.name!r}; {ACCEPTED}") from None


@contextlib.contextmanager
def one_line(what: str) -> Iterator[None]:
    """Turns whatever somebody's code raises into a ConfigError, which says that ``what`` fails, and with what."""
    try:
        yield
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{what} fails with {reason(error)}") from None


def reason(error: BaseException) -> str:
    """An error in one line: its type, its text, and where it arose, if that is in a file and the text has it not."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    known = last and not isinstance(error, SyntaxError) and not last[0].filename.startswith("<")
    place = f" ({Path(last[0].filename).name}, line {last[0].lineno})" if known else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def read_page(file: Path, preset: str) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
    """The settings of a preset, None if the file has no such preset, and the space around it, as they stand there.

    The file is Python, as those in search_spaces/, and is run. Raises ConfigError if it has no space around the preset.
    """
    where = f"--space {file}"
    if not file.is_file():
        raise ConfigError(f"{where} cannot be read: there is no such file")
    if file.suffix != ".py":
        raise ConfigError(
            f"{where}: accepted is Python as in search_spaces/ (docs/sweeps.md shows a file); what YAML has as KEY:"
            ' VALUES is "KEY": "VALUES" there'
        )
    with one_line(where):
        content = runpy.run_path(str(file))
    presets, spaces = presets_and_spaces(where, content)
    if not spaces.get(preset):
        filled = unknown("preset", preset, [name for name in spaces if spaces[name]])
        raise ConfigError(
            f"{where} holds no space for --preset {preset}: accepted is SPACES as in search_spaces/; {filled}"
        )
    return presets.get(preset), spaces[preset]


def presets_and_spaces(where: str, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """PRESETS and SPACES of a page, each with settings for each preset; empty where there are none.

    ``content`` are the page's names, and ``where`` is how a ConfigError calls the page.
    """
    presets, spaces = content.get("PRESETS", {}), content.get("SPACES", {})
    for name, of in (("PRESETS", presets), ("SPACES", spaces)):
        if not isinstance(of, Mapping) or not all(isinstance(each, Mapping) for each in of.values()):
            raise ConfigError(f"{where}: {name} has settings for each preset, as in search_spaces/")
    return presets, spaces


GAME_STEPS = 1000
"""Agent steps of a short game of Pong."""

SMOKE = {"slots": 2, "segment_length": 500, "updates_per_iteration": 2, "eval_games": 2, "num_workers": 1}
"""The preset ``smoke`` of a module that has none."""


class Pace(NamedTuple):
    """How fast a core plays games of an untrained policy."""

    step_s: float  # seconds of a core for an agent step
    delay: float = 1.0  # wall-clock seconds for each second of a core: more than 1 where other programs had it, too


@dataclass(frozen=True, eq=False)
class Learner:
    """What the programs need to know of a learner. Only ``trainable`` imports Ray, and what learns and plays."""

    name: str
    load: Callable[[], "type[PongTrainable]"]
    config_class: type[Config]
    space: Any  # PRESETS, SPACES: a module of search_spaces/, or what stands for it
    games_steps: Callable[[Any], float]  # agent steps of an iteration that plays whole games, if these are short
    typed: str = ""  # of one's own: module:Class, as the user named it
    source: Path | None = None  # of one's own: its file

    @functools.cached_property
    def trainable(self) -> "type[PongTrainable]":
        """Its class for Tune."""
        return self.load()

    def pace(self, config: Config) -> Pace:
        """The pace of the fastest of three real games, which are played now.

        Processor time is counted, so a busy machine plans what it would plan when it is free. Raises ConfigError if the
        environment has another form than the learner takes.
        """
        if sys.stderr.isatty():
            print("Three games are played, whose speed the plan goes by ...", file=sys.stderr, flush=True)
        try:
            trial = self.trainable.untrained(config)
            weights = trial.algorithm.playing_weights(trial.arrays)
            worker = trial.algorithm.worker_factory()()
        except (ValueError, MemoryError) as error:
            raise ConfigError(str(error)) from None
        from trainables.sampling.evaluation import measure  # which loads the code that plays

        paces = []
        for _ in range(3):  # the first one of a program also compiles
            wall, core = time.perf_counter(), time.process_time()
            length = measure(worker, weights, GameNumber(0, 0, 0)).length
            wall, core = time.perf_counter() - wall, time.process_time() - core
            paces.append(Pace(core / length, wall / core))
        return min(paces)

    def most_workers(self, config: Config) -> int:
        """How many rollout actors a trial can use: one for each slot, or for each short game of an update."""
        return config.slots or max(1, int(self.games_steps(config) // GAME_STEPS))

    def iteration_steps(self, config: Config) -> float:
        """Agent steps of an iteration, about."""
        return config.segments_steps or self.games_steps(config)

    def preset(self, name: str) -> dict[str, Any]:
        """The settings of a preset. Raises ConfigError if there is none of this name."""
        if name not in self.space.PRESETS:
            raise ConfigError(unknown("preset", name, self.space.PRESETS))
        return self.space.PRESETS[name]


PG = Learner(
    "pg",
    functools.partial(resolve_name, "trainables.trainable:PongPG"),
    PGConfig,
    pong_pg,
    lambda config: config.games_per_update * GAME_STEPS,
)
TRPO = Learner(
    "trpo",
    functools.partial(resolve_name, "trainables.trainable:PongTRPO"),
    TRPOConfig,
    pong_trpo,
    lambda config: config.timesteps_per_batch,
)
LEARNERS = {learner.name: learner for learner in (PG, TRPO)}

IMPORTED: dict[str, Learner] = {}
"""Learners of one's own that this program's command line named, by name."""

OWN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
"""The name of a learner of one's own in records and checkpoints: ``module.Class``. To read it imports nothing."""


def is_learner(name: Any) -> bool:
    """Whether an experiment can be of this learner: one of ours, or somebody's own, imported or not."""
    return name in LEARNERS or (isinstance(name, str) and bool(OWN.fullmatch(name)))


def learner_named(name: str) -> Learner:
    """The learner of an experiment or a checkpoint. Raises ConfigError for one's own that the user has not named."""
    found = _known(name)
    if found:
        return found
    if not is_learner(name):
        raise ConfigError(unknown("learner", name, LEARNERS))
    raise ConfigError(f"this needs the code of {name}, a learner of one's own: --learner {typed_as(name)} imports it")


def config_class_of(name: str) -> type[Config]:
    """A learner's configuration; of one's own that was not imported, what all configurations have in common."""
    found = _known(name)
    return found.config_class if found else Config


def typed_as(name: str) -> str:
    """A learner's name as a command line has it: ``module:Class`` for one's own, or as the user typed that."""
    found = _known(name)
    if found and found.typed:
        return found.typed
    return ":".join(name.rsplit(".", 1))


def _known(name: str) -> Learner | None:
    return LEARNERS.get(name) or IMPORTED.get(name)


def learner_typed(text: str) -> Learner:
    """The learner that a user typed: one of ours by its name, one's own as ``module:Class``, which is imported.

    ``text`` has to come from the command line: to import is to run. Raises ConfigError, in one line, if it is none.
    """
    if ":" not in text:
        if text not in LEARNERS:
            raise ConfigError(f"{unknown('learner', text, LEARNERS)}; one's own: module:Class")
        return LEARNERS[text]
    module, algorithm = imported(text)
    with one_line(text):
        own = _own_learner(text, module, algorithm)
    IMPORTED[own.name] = own
    return own


def _own_learner(typed: str, module: ModuleType, algorithm: Any) -> Learner:
    """The learner that ``module:Class`` names. Raises ConfigError, in one line, if that is none."""
    from trainables.trainable import PongTrainable  # Ray and all that learns

    _require_algorithm(typed, algorithm)
    name = f"{module.__name__}.{algorithm.__name__}"
    if not is_learner(name):
        raise ConfigError(f"{typed}: accepted are names of ASCII letters, digits and underscores")
    config_class, make = algorithm.config_class, staticmethod(algorithm)
    body = {"__doc__": algorithm.__doc__, "learner": name, "config_class": config_class, "make_algorithm": make}
    trainable = type(algorithm.__name__, (PongTrainable,), body)
    source = Path(module.__file__) if module.__file__ else None
    space = _space(typed, vars(module), config_class)

    def games_steps(config: Any) -> float:
        new = algorithm(config)
        try:
            return new.first_games(new.init(np.random.default_rng(0))) * GAME_STEPS
        except ValueError as error:
            raise ConfigError(str(error)) from None

    return Learner(name, lambda: trainable, config_class, space, games_steps, typed, source)


def _require_algorithm(typed: str, algorithm: Any) -> None:
    """Raise ConfigError unless this is an Algorithm, whole, with a configuration."""
    from trainables.algorithms.algorithm import Algorithm

    if not (isinstance(algorithm, type) and issubclass(algorithm, Algorithm)):
        raise ConfigError(f"{typed}: accepted is a class that derives from trainables.algorithms.algorithm.Algorithm")
    missing = sorted(algorithm.__abstractmethods__)
    if missing:
        raise ConfigError(f"{typed} lacks {', '.join(missing)}; trainables/algorithms/algorithm.py says what they do")
    config_class: Any = getattr(algorithm, "config_class", None)
    parameters = vars(config_class).get("__dataclass_params__") if isinstance(config_class, type) else None
    if not (parameters and parameters.frozen and issubclass(config_class, Config)):
        raise ConfigError(
            f"{typed}: config_class={config_class!r}: accepted is a class that derives from Config, with the decorator"
            " @dataclass(frozen=True)"
        )
    if any(isinstance(kind, str) for kind in inspect.get_annotations(config_class).values()):
        raise ConfigError(
            f"{typed}: the types of {config_class.__name__} are texts, which a worker cannot read: leave out"
            " `from __future__ import annotations`"
        )


def _space(typed: str, content: Mapping[str, Any], config_class: type[Config]) -> SimpleNamespace:
    """PRESETS and SPACES of a module, as those in search_spaces/ have them; each can be left out.

    The preset ``default`` has the configuration's own defaults. A preset without a space of its own has that around
    ``default``, but for settings that it has itself. Raises ConfigError for presets that cannot be, and for
    ARCHITECTURE_FIELDS that are no settings.
    """
    presets, spaces = presets_and_spaces(typed, content)
    if presets.get("default"):
        raise ConfigError(
            f"{typed}: preset 'default' has the defaults of {config_class.__name__}: change these there, or give the"
            " preset another name"
        )
    presets = {"smoke": SMOKE, **presets, "default": {}}
    for preset in ("default", *presets):  # first "default", whose faults are those of all others too
        try:
            known = config_class.from_dict(presets[preset]).to_dict()
        except ConfigError as error:
            raise ConfigError(f"{typed}: preset {preset!r}: {error}") from None
    for name in config_class.ARCHITECTURE_FIELDS:
        if name not in known:
            raise ConfigError(f"{typed}: ARCHITECTURE_FIELDS: {unknown('setting', str(name), known)}")
    around = spaces.get("default", {})
    complete = dict(spaces)
    for preset, settings in presets.items():
        if preset not in complete:
            complete[preset] = {name: words for name, words in around.items() if name not in settings}
    return SimpleNamespace(PRESETS=presets, SPACES=complete)
