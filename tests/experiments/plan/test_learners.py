"""Learners of one's own: what they need not have, and what they lack is said in one line."""

import sys
import time

import pytest

from experiments.plan.learners import LEARNERS, SMOKE, TRPO, is_learner, learner_named, learner_typed, typed_as
from experiments.plan.spaces import space_of
from tests.helpers.trials import CARTPOLE
from trainables.checks import ConfigError
from trainables.config import TRPOConfig
from trainables.sampling import evaluation

FILE = """
from dataclasses import dataclass
from trainables.algorithms.algorithm import Algorithm
from trainables.checks import ConfigError
from trainables.config import Config

@dataclass(frozen=True)
class Settings(Config):
    "Mine."
    size: int = 3

class Loose(Config): ...

@dataclass(frozen=True)
class Impossible(Config):
    def __post_init__(self):
        raise ConfigError("gamma=0.9 is for others")

@dataclass(frozen=True)
class Endless(Settings):
    most: float = float("inf")

@dataclass(frozen=True)
class Misspelt(Settings):
    ARCHITECTURE_FIELDS = ("siz",)

@dataclass(frozen=True)
class Texts(Config):
    size: "int" = 1

class Part(Algorithm):
    config_class = Settings
    num_params = 0

class Whole(Part):
    def __init__(self, settings): self.settings = settings
    def init(self, rng): return {}
    def worker_factory(self): ...
    def collect(self, arrays, blocks, play): ...
    def update(self, arrays, batch, progress, rng): ...

class Größe(Whole): ...
class Bare(Whole): config_class = None
class LooseOne(Whole): config_class = Loose
class ImpossibleOne(Whole): config_class = Impossible
class EndlessOne(Whole): config_class = Endless
class TextsOne(Whole): config_class = Texts
class MisspeltOne(Whole): config_class = Misspelt
def function(): ...
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_own.py").write_text(FILE, encoding="utf-8")
    return tmp_path / "mine_own.py"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("function", "accepted is a class that derives from trainables.algorithms.algorithm.Algorithm"),
        ("Part", "lacks collect, init, update, worker_factory"),
        ("Größe", "accepted are names of ASCII letters"),
        ("Bare", "config_class=None: accepted is a class that derives from Config"),
        (
            "LooseOne",
            "Loose'>: accepted is a class that derives from Config, with the decorator @dataclass(frozen=True)",
        ),
        ("ImpossibleOne", "preset 'default': gamma=0.9 is for others"),
        ("EndlessOne", "preset 'default': most=inf: accepted is a finite number"),  # no record can hold it
        ("TextsOne", "the types of Texts are texts, which a worker cannot read: leave out `from __future__"),
        ("MisspeltOne", "ARCHITECTURE_FIELDS: unknown setting 'siz'; did you mean 'size'?"),
    ],
)
def test_what_is_no_learner_is_refused_in_one_line(name, complaint):
    with pytest.raises(ConfigError) as error:
        learner_typed(f"mine_own:{name}")
    assert complaint in str(error.value)
    assert str(error.value).startswith(f"mine_own:{name}")
    assert "ConfigError" not in str(error.value)


def test_without_presets_and_spaces_there_are_the_defaults_and_a_smoke_test(module):
    learner = learner_typed("./mine_own.py:Whole")
    assert learner.name == "mine_own.Whole"
    assert learner.space.PRESETS == {"default": {}, "smoke": SMOKE}
    assert learner.space.SPACES == {"default": {}, "smoke": {}}
    assert typed_as("mine_own.Whole") == "./mine_own.py:Whole"
    with pytest.raises(ConfigError, match="Whole learns from segments: set slots to 1 or more"):
        learner.iteration_steps(learner.config_class(slots=0))
    del sys.modules["mine_own"]
    module.write_text(FILE + "\nSPACES = {'default': {'slots': [1], 'gamma': [2]}}\n")
    learner = learner_typed("mine_own:Whole")
    assert learner.space.SPACES["smoke"] == {"gamma": [2]}  # slots has the preset's value
    learner.space.SPACES["smoke"] = {"siz": [1, 2]}
    with pytest.raises(ConfigError, match="unknown setting 'siz'"):
        space_of(learner, "smoke", {}, None)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("PRESETS = {'small': 3}", "PRESETS has settings for each preset"),
        ("PRESETS = {'small': {'gamma': 2}}", "preset 'small': gamma=2"),
        ("PRESETS = {'default': {'gamma': 0.9}}", "preset 'default' has the defaults of"),
        ("SPACES = {'default': [1, 2]}", "SPACES has settings for each preset"),
    ],
)
def test_a_page_that_is_not_of_the_learners_settings_is_refused(module, line, complaint):
    module.write_text(f"{FILE}\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        learner_typed("mine_own:Whole")
    assert complaint in str(error.value)
    assert str(error.value).startswith("mine_own:Whole")


def test_a_name_in_a_record_is_data_and_imports_nothing(module):
    module.with_name("bomb.py").write_text("open('exploded', 'w').close()\n")
    sys.path.append(str(module.parent))
    assert is_learner("bomb.Bomb")
    assert typed_as("bomb.Bomb") == "bomb:Bomb"
    with pytest.raises(ConfigError, match="--learner bomb:Bomb imports it"):
        learner_named("bomb.Bomb")
    assert "bomb" not in sys.modules
    assert not module.with_name("exploded").exists()


def test_what_can_be_the_name_of_a_learner():
    assert all(map(is_learner, LEARNERS))
    for name in ("", "bomb", "../bomb.Bomb", "bomb:Bomb", "bomb.Bomb\n", "b.B --callback x:y", "é.B", 3):
        assert not is_learner(name)


def test_what_a_game_waits_for_a_busy_core_does_not_count_in_a_plan(monkeypatch, capsys):
    waits, games, measure = 0.05, [], evaluation.measure

    def measured_late(*words):
        time.sleep(waits)
        games.append(measure(*words))
        return games[-1]

    monkeypatch.setattr(evaluation, "measure", measured_late)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    pace = TRPO.pace(TRPOConfig.from_dict(CARTPOLE))
    assert pace.step_s < waits / games[0].length
    assert pace.delay > 1.5, "a plan says that it waited"
    assert capsys.readouterr().err.startswith("Three games are played"), "a terminal is not silent meanwhile"
