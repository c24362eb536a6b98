"""Every flag counts or is refused: all pairs of flags of the programs that run experiments, without Ray."""

import dataclasses
import itertools
import sys

import pytest

from experiments import train
from experiments.ask.command_line import parse
from experiments.ask.flags import RunFlags, SweepFlags, TrainFlags
from experiments.plan import capacity
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.record.spec import create
from experiments.run import lifecycle, sweep
from tests.helpers.small_experiments import small_spec
from trainables.checks import ConfigError
from trainables.config import PGConfig

SHARED = {
    "name": "mine",
    "storage_path": "elsewhere",
    "checkpoint_frequency": "7",
    "keep_checkpoints": "all",
    "resume": "first",
    "extend": "first",
    "fork": "first",
    "address": "auto",
    "callback": "ray.tune:Callback",
    "verbose": None,
    "iterations": "20",
    "timesteps": "50000",
    "preset": "karpathy",
    "seeds": "2",
}
SWEEP = SHARED | {
    "num_samples": "3",
    "time_budget_s": "60",
    "scheduler": "fifo",
    "num_workers": "4",
    "batch_size": "3",
    "max_concurrent": "1",
    "seed": "5",
    "set": "gamma=0.9",
    "sweep": "learning_rate=1e-3,2e-3",
    "space": "space.yaml",
    "grid": None,
    "confirm": "2",
    "confirm_seeds": "4",
    "smoke_test": None,
    "dry_run": None,
}
SETTINGS = {
    "env_id": "PongNoFrameskip-v4",
    "gamma": "0.9",
    "half_life": "1000",
    "num_workers": "4",
    "cpus_per_worker": "0.5",
    "placement": "spread",
    "game_timeout_s": "60",
    "learner_threads": "2",
    "eval_interval": "3",
    "eval_games": "4",
    "seed": "5",
    "slots": "4",
    "segment_length": "100",
    "updates_per_iteration": "3",
    "method": "reinforce",
    "hidden_size": "20",
    "learning_rate": "0.1",
    "batch_size": "3",
    "block_size": "2",
    "optimiser": "rmsprop",
    "rmsprop_decay": "0.5",
    "epochs": "2",
    "minibatch_size": "100",
    "clip": "0.5",
    "gae_lambda": "0.5",
    "entropy_bonus": "0.5",
}
TRAIN = SHARED | SETTINGS | {"preset": "smoke"}
"""A value of each flag that is not its default, nor that of the experiment it is tried on."""

WAYS_ON = {"resume": {"storage_path", "address", "callback", "verbose"}}
WAYS_ON["extend"] = WAYS_ON["resume"] | {"iterations", "timesteps"}
WAYS_ON_OF_SWEEPS = {"resume": WAYS_ON["resume"] | {"confirm"}, "extend": WAYS_ON["extend"]}
OWN_SPACE = {"sweep", "space", "grid"}
ONE_WAY = {"resume", "extend", "fork", "smoke_test"}
REFUSED = {
    # way to run: flags that train.py would ignore, or cannot change; and those that a sweep would
    "fork": (
        {"preset", "seeds", "rmsprop_decay", "segment_length", "updates_per_iteration", *PGConfig.ARCHITECTURE_FIELDS}
        | ONE_WAY,
        {"num_samples", "preset", "seed", "seeds"} | OWN_SPACE | ONE_WAY,
    ),
    "smoke_test": (
        set(),
        {"num_samples", "seeds", "preset", "scheduler", "iterations", "timesteps"} | OWN_SPACE | ONE_WAY,
    ),
    "grid": (set(), {"num_samples"}),
}


def words(examples, *names):
    flags = [["--" + name.replace("_", "-"), examples[name]] for name in names]
    if "extend" in names and not {"iterations", "timesteps"} & {*names}:
        flags.append(["--timesteps", "60000"])  # it is nothing without one of them
    if "grid" in names and not {"sweep", "space"} & {*names}:
        flags.append(["--sweep", "eval_games=3,4"])  # the preset's space has ranges
    if "rmsprop_decay" in names and "optimiser" not in names:
        flags.append(["--optimiser", "rmsprop"])
    if {"batch_size", "block_size", "method"} & {*names} and not {"slots", "fork"} & {*names}:
        flags.append(["--slots", "0"] if "method" in examples else ["--set", "slots=0"])  # they play whole games
        flags += [["--batch-size", "4"]] * ("batch_size" not in names)
    return [word for flag in flags for word in flag if word is not None]


def refused(pair, *, of_sweep):
    """Whether the documentation says that one of these flags does not count beside the other."""
    for flag, other in (pair, pair[::-1]):
        if flag in WAYS_ON:
            return other not in (WAYS_ON_OF_SWEEPS if of_sweep else WAYS_ON)[flag]
        if flag in REFUSED and (other in REFUSED[flag][of_sweep] or other == "confirm_seeds"):
            return True
    return "confirm_seeds" in pair and "confirm" not in pair


@pytest.fixture
def storage(tmp_path, monkeypatch):
    """Two experiments called "first", one in each place where the programs are told to look; and four CPUs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.yaml").write_text("hidden_size: [10, 20]\n")
    config = PGConfig(slots=0, batch_size=2, hidden_size=10, num_workers=3)
    learner = PG.trainable.untrained(config)
    learner.iterations, learner.episodes.recent_returns = 2, [-20.0]
    spec = small_spec("pg", [config], iterations=5, timesteps=9000)
    for place in ("results", "elsewhere"):
        checkpoint = create(RunFlags(storage_path=place).folder, "first", spec) / "00000/checkpoint_000000"
        checkpoint.mkdir(parents=True)
        learner.save_checkpoint(str(checkpoint))
    for program in (sweep, train):
        monkeypatch.setattr(program, "resources_for", lambda run: ClusterResources((4,)))
    monkeypatch.setattr(lifecycle, "require_disk", lambda *of: 0)  # it builds every network, and no flag is for it
    monkeypatch.setattr(capacity, "_seconds_per_step", lambda *of: 2e-4)  # it plays games
    return tmp_path


def facts(task):
    """All that a program is going to do, as what it acts on says it."""
    spec = task.spec.model_dump() | {"command": None}
    starts = [trial.checkpoints for trial in task.origin]
    where = None if task.folder else (task.run.name, task.run.storage_path)
    return spec, task.folder, starts, where, task.run.address, task.run.callback, task.run.verbose


def sweep_plan(*flags):
    arguments = parse(sweep.Arguments, args=flags)
    return facts(sweep.prepare(PG, arguments, flags)[0]), arguments.sweep.dry_run


def train_plan(*flags):
    return facts(train.prepare(PG, flags))


def test_each_flag_has_an_example():
    """A flag that is added needs one, and then is tried with all others."""
    fields = {name.name for flags in (RunFlags, SweepFlags) for name in dataclasses.fields(flags)}
    assert fields == SWEEP.keys()
    assert {name.name for flags in (TrainFlags, PGConfig) for name in dataclasses.fields(flags)} == TRAIN.keys()


def walk(plan, examples, pairs, of_sweep):
    complaints = []

    def planned(*names):
        try:
            return plan(*words(examples, *names))
        except ConfigError as error:
            complaints.append(str(error))
            return None
        except SystemExit:  # the parser says that settings do not go together
            return None

    alone = {name: planned(name) for name in examples}
    assert {name for name, found in alone.items() if found is None} == {"confirm_seeds"} & examples.keys()
    wrong = []
    for pair in pairs:
        both = planned(*pair)
        if (both is None) != refused(pair, of_sweep=of_sweep):
            wrong.append((pair, "refused" if both is None else "accepted"))
        if both and any(both == alone[name] for name in pair):
            wrong.append((pair, "one is ignored"))
    assert not wrong
    assert not [complaint for complaint in complaints if "\n" in complaint]


@pytest.mark.ray  # seconds, too long for the inner loop; so the next one
def test_of_two_flags_of_a_sweep_each_counts_or_one_is_refused_where_many_were_dropped(storage):
    walk(sweep_plan, SWEEP, itertools.combinations(SWEEP, 2), of_sweep=True)


@pytest.mark.ray
@pytest.mark.parametrize(
    "settings", [["num_workers", "hidden_size"], pytest.param([*SETTINGS], marks=pytest.mark.slow)], ids=["two", "all"]
)
def test_of_two_flags_of_train_each_counts_or_one_is_refused(settings, storage):
    """Two settings of a learner both stand in its configuration, so pairs of them are left out."""
    examples = {name: value for name, value in TRAIN.items() if name in {*SHARED, *settings}}
    pairs = [pair for pair in itertools.combinations(examples, 2) if not set(pair) <= {*settings}]
    walk(train_plan, examples, pairs, of_sweep=False)


def test_a_fork_with_dry_run_really_started_and_did_not_look_whether_its_names_are_free(storage, monkeypatch, capsys):
    def call(*flags):
        monkeypatch.setattr(sys, "argv", ["sweep_pong.py", "--fork", "first", "--dry-run", *flags])
        with pytest.raises(SystemExit) as stop:
            sweep.main(PG, "")
        return stop.value.code, capsys.readouterr()

    before = sorted(storage.rglob("*"))
    code, output = call("--set", "gamma=0.9", "--name", "mine")
    assert code == 0
    assert "1 trial to the end: at most 1,000,000 agent steps" in output.out
    assert "Trials start from the best checkpoints of their origin" in output.out
    assert "gamma=0.9" in output.out
    assert "in results/mine" in output.out
    for name in ("mine-confirm", "mine"):
        create(RunFlags().folder, name, small_spec("pg", [PGConfig()]))
        code, output = call("--name", "mine", "--confirm", "1")
        assert code == 2
        assert f"{name!r}" in output.err
    assert {path.name for path in {*storage.rglob("*")} - {*before}} == {"mine", "mine-confirm", "experiment.json"}
