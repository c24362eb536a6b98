"""Learners of one's own that lack something are refused in one line."""

import sys

import pytest

from experiments.plan.learners import LEARNERS, is_learner, learner_named, typed_as
from experiments.plan.own import SMOKE, learner_typed
from trainables.checks import ConfigError

FILE = """
from dataclasses import dataclass
from trainables.algorithms.algorithm import Algorithm
from trainables.config import Config

@dataclass(frozen=True)
class Settings(Config):
    "Mine."
    size: int = 3

class Loose(Config):
    pass

@dataclass(frozen=True)
class Impossible(Config):
    gamma: float = 0.9
    def __post_init__(self):
        from trainables.checks import ConfigError
        raise ConfigError("gamma=0.9 is for others")

@dataclass(frozen=True)
class Endless(Settings):
    most: float = float("inf")

@dataclass(frozen=True)
class Misspelt(Settings):
    ARCHITECTURE_FIELDS = ("siz",)

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

class Bare(Whole):
    config_class = None

class LooseOne(Whole):
    config_class = Loose

class ImpossibleOne(Whole):
    config_class = Impossible

class EndlessOne(Whole):
    config_class = Endless

class MisspeltOne(Whole):
    config_class = Misspelt

def function(): ...
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_own.py").write_text(FILE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("function", "accepted is a class that derives from trainables.algorithms.algorithm.Algorithm"),
        ("Settings", "accepted is a class that derives from trainables.algorithms.algorithm.Algorithm"),
        ("Part", "lacks collect, init, update, worker_factory"),
        ("Größe", "accepted are names of ASCII letters"),
        ("Bare", "config_class=None: accepted is a class that derives from Config"),
        ("LooseOne", "Loose needs the decorator @dataclass(frozen=True)"),
        ("ImpossibleOne", "the defaults of Impossible: gamma=0.9 is for others"),
        ("EndlessOne", "the defaults of Endless: most=inf: accepted is a finite number"),  # no record can hold it
        ("MisspeltOne", "ARCHITECTURE_FIELDS: unknown setting 'siz'; did you mean 'size'?"),
    ],
)
def test_what_is_no_learner_is_refused_in_one_line(name, complaint):
    with pytest.raises(ConfigError) as error:
        learner_typed(f"mine_own:{name}")
    assert complaint in str(error.value)
    assert str(error.value).startswith(f"mine_own:{name}")


def test_without_presets_and_spaces_there_are_the_defaults_and_a_smoke_test():
    learner = learner_typed("./mine_own.py:Whole")
    assert learner.name == "mine_own.Whole"
    assert learner.space.PRESETS == {"default": {}, "smoke": SMOKE}
    assert learner.space.SPACES == {"default": {}, "smoke": {}}
    assert learner.config_class.from_dict(learner.preset("smoke")).slots == SMOKE["slots"]
    assert typed_as("mine_own.Whole") == "./mine_own.py:Whole"
    with pytest.raises(ConfigError, match="Whole learns from segments: set slots to 1 or more"):
        learner.iteration_steps(learner.config_class(slots=0), 1000)


def test_a_space_of_a_module_is_that_of_its_smoke_test_too(folder):
    (folder / "mine_own.py").write_text(FILE + "\nSPACES = {'default': {'slots': [1], 'gamma': [2]}}\n")
    assert learner_typed("mine_own:Whole").space.SPACES["smoke"] == {"gamma": [2]}  # slots has the preset's value


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("PRESETS = {'small': 3}", "PRESETS has settings for each preset"),
        ("PRESETS = {'small': {'siz': 3}}", "PRESETS['small']: unknown setting 'siz'; did you mean 'size'?"),
        ("PRESETS = {'small': {'gamma': 2}}", "PRESETS['small']: gamma=2"),
        ("SPACES = [{'size': [1, 2]}]", "SPACES has settings for each preset"),
        ("SPACES = {'default': {'siz': [1, 2]}}", "SPACES['default']: unknown setting 'siz'; did you mean 'size'?"),
        ("MUTATIONS = {'size': [1, 2]}", "accepted are names of settings"),
        ("MUTATIONS = ['siz']", "MUTATIONS: unknown setting 'siz'; did you mean 'size'?"),
        ("MUTATIONS = ['slots']", "MUTATIONS: slots decides the form of the arrays"),
    ],
)
def test_what_stood_wrong_in_a_page_of_ones_own_came_out_as_a_traceback(folder, line, complaint):
    (folder / "mine_own.py").write_text(f"{FILE}\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        learner_typed("mine_own:Whole")
    assert complaint in str(error.value)
    assert str(error.value).startswith("mine_own:Whole")


def test_a_name_in_a_record_is_data_and_imports_nothing(folder):
    (folder / "bomb.py").write_text("open('exploded', 'w').close()\n")
    sys.path.append(str(folder))
    assert is_learner("bomb.Bomb")
    assert typed_as("bomb.Bomb") == "bomb:Bomb"
    with pytest.raises(ConfigError, match="--learner bomb:Bomb imports it"):
        learner_named("bomb.Bomb")
    assert "bomb" not in sys.modules
    assert not (folder / "exploded").exists()


@pytest.mark.parametrize(
    "name", ["", "bomb", "../bomb.Bomb", "bomb:Bomb", "bomb.Bomb\n", "b.B --callback x:y", "é.B", 3]
)
def test_what_cannot_be_the_name_of_a_learner(name):
    assert not is_learner(name)
    assert all(map(is_learner, LEARNERS))
