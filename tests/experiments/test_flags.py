"""Every flag counts or is refused: all pairs of flags of the programs that run experiments, without Ray."""

import dataclasses
import itertools

import pytest

from experiments import train
from experiments.ask.command_line import parse
from experiments.ask.flags import RunFlags, SweepFlags, TrainFlags
from experiments.plan.learners import PG
from experiments.run import sweep_program
from experiments.run.draft import Draft
from tests.helpers.programs import call, refused
from tests.helpers.written_experiments import write_experiment, write_policies
from trainables.checks import ConfigError
from trainables.config import PGConfig


def examples(text):
    """Each flag's example, from a command line with all of them; None for one that takes no value."""
    words = [flag.split() for flag in text.split("--")[1:]]
    return {flag.replace("-", "_"): value[0] if value else None for flag, *value in words}


SHARED = examples("""
    --name mine --storage-path elsewhere --checkpoint-frequency 7 --keep-checkpoints all --resume first --extend first
    --fork first --address auto --callback ray.tune:Callback --verbose --iterations 20 --timesteps 50000
    --preset karpathy --seeds 2 --resume-or-start
""")
SWEEP = SHARED | examples("""
    --num-samples 3 --time-budget-s 60 --scheduler fifo --num-workers 4 --max-concurrent 1 --seed 5
    --set gamma=0.9 --sweep learning_rate=1e-3,2e-3 --space space.py --grid --confirm ended --best 1
    --smoke-test --dry-run --baseline False
""")
SETTINGS = examples("""
    --env-id PongNoFrameskip-v4 --gamma 0.9 --half-life 1000 --num-workers 4 --cpus-per-worker 0.5 --placement spread
    --game-timeout-s 60 --learner-threads 2 --eval-interval 3 --eval-games 4 --seed 5 --slots 4 --segment-length 100
    --updates-per-iteration 3 --method reinforce --hidden-size 20 --learning-rate 0.1 --games-per-update 3
    --block-size 2 --optimiser rmsprop --rmsprop-decay 0.5 --epochs 2 --minibatch-size 100 --clip 0.5 --gae-lambda 0.5
    --entropy-bonus 0.5
""")
TRAIN = SHARED | SETTINGS | {"preset": "smoke"}
"""A value of each flag that is not its default, nor that of the experiment it is tried on."""

WAYS_ON = {"resume": {"storage_path", "address", "callback", "verbose"}}
WAYS_ON["extend"] = WAYS_ON["resume"] | {"iterations", "timesteps"}
OWN_SPACE = {"sweep", "space", "grid", "baseline"}
ONE_WAY = {"resume", "extend", "fork", "smoke_test", "confirm"}
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
    "grid": (set(), {"num_samples", "baseline"}),
    "confirm": (set(), SWEEP.keys() - WAYS_ON["resume"] - {"best", "seeds", "name", "resume_or_start", "dry_run"}),
}


NEEDED = [
    # flags, of which each needs one of the next ones beside it, or else what stands last is added
    ("extend", "iterations timesteps", "--timesteps 60000"),
    ("grid", "sweep space", "--sweep eval_games=3,4"),  # the preset's space has ranges
    ("resume_or_start", "name", "--name other"),
    ("rmsprop_decay", "optimiser", "--optimiser rmsprop"),
    ("games_per_update", "slots fork", "--slots 0"),  # it is of whole games, as the next ones are
    ("block_size method", "slots fork games_per_update", "--slots 0 --games-per-update 4"),
]


def words(examples, *names):
    """A command line with the examples of these flags, and with what they need beside them."""
    found = []
    for name in names:
        found.append("--" + name.replace("_", "-"))
        if examples[name] is not None:
            found.append(examples[name])
    for needing, one_of, others in NEEDED:
        if {*needing.split()} & {*names} and not {*one_of.split()} & {*names}:
            found += others.split()
    return found


def is_refused(pair, *, of_sweep):
    """Whether the documentation says that one of these flags does not count beside the other."""
    for flag, other in (pair, pair[::-1]):
        if flag in WAYS_ON:
            return other not in WAYS_ON[flag]
        if flag in REFUSED and other in REFUSED[flag][of_sweep]:
            return True
    return "best" in pair and "confirm" not in pair


@pytest.fixture
def storage(tmp_path, four_cpus):
    """Experiments called "first" and "ended", in each place where the programs are told to look."""
    page = "SPACES = dict.fromkeys(('default', 'karpathy'), {'hidden_size': [10, 20]})\n"
    (tmp_path / "space.py").write_text(page)
    settings = {"slots": 0, "games_per_update": 2, "hidden_size": 10, "num_workers": 3}
    for place in ("results", "elsewhere"):
        trials = [(settings, [-20.0, -20.0], "running")]
        folder = write_experiment(tmp_path / place, "first", "pg", trials, iterations=5, timesteps=9000)
        write_policies(next(folder.glob("0*")), "pg", {2: -20})
        two = [({"gamma": gamma}, [-20.0], None) for gamma in (0.9, 0.8)]
        write_experiment(tmp_path / place, "ended", "pg", two, iterations=5, ended="all done")
    return tmp_path


def facts(asked):
    """All that a program is going to do, as what it acts on says it."""
    run = asked.run
    if isinstance(asked, Draft):
        starts = [(start.folder, start.counters) for start in asked.starts]
        spec = asked.spec.model_dump() | {"command": None}
        what = spec, starts, run.name, run.storage_path, run.resume_or_start
    else:
        what = asked.folder, asked.more
    return what, run.address, run.callback, run.verbose


def sweep_plan(*flags):
    search, run = parse(sweep_program.FLAGS, args=flags)
    return facts(sweep_program.prepare(PG, search, run, flags)), search.dry_run


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
    assert {name for name, found in alone.items() if found is None} == {"best"} & examples.keys()
    wrong = []
    for pair in pairs:
        both = planned(*pair)
        if (both is None) != is_refused(pair, of_sweep=of_sweep):
            wrong.append((pair, "refused" if both is None else "accepted"))
        if both and any(both == alone[name] for name in pair):
            wrong.append((pair, "one is ignored"))
    assert not wrong
    assert not [complaint for complaint in complaints if "\n" in complaint]


def test_of_two_flags_of_a_sweep_each_counts_or_one_is_refused(storage, one_parser):
    walk(sweep_plan, SWEEP, itertools.combinations(SWEEP, 2), of_sweep=True)


def test_of_two_flags_of_train_each_counts_or_one_is_refused(storage, one_parser):
    """Two settings of a learner both stand in its configuration, so pairs of them are left out."""
    pairs = [pair for pair in itertools.combinations(TRAIN, 2) if not {*pair} <= {*SETTINGS}]
    walk(train_plan, TRAIN, pairs, of_sweep=False)


def test_a_fork_with_dry_run_starts_nothing_and_says_whether_its_names_are_free(storage):
    before, fork = sorted(storage.rglob("*")), ["sweep_pong.py", "--fork", "first", "--dry-run"]
    status, output, _ = call(*fork, "--set", "gamma=0.9", "--name", "mine")
    assert status == 0
    assert "1 trial to the end: at most 1,000,000 agent steps" in output
    assert "Trials start from the best checkpoints of their origin" in output
    assert "gamma=0.9" in output
    assert "in results/mine" in output
    assert sorted(storage.rglob("*")) == before
    write_experiment(storage / "results", "mine", "pg", [({}, [-20], None)])
    assert "'mine'" in refused(*fork, "--name", "mine")
