"""Bad input: one clear line on stderr, exit status 2, and nothing started or written."""

import subprocess
import sys

import pytest

from experiments import sweep_pong, train
from experiments.ask.command_line import clean_exit
from experiments.ask.flags import RunFlags
from experiments.plan.learners import PG
from experiments.record.spec import ExperimentSpec, create
from experiments.run import sweep
from tests.helpers.programs import ROOT, command

SPEC = ExperimentSpec(
    learner="pg",
    command=["sweep_pong.py"],
    iterations=5,
    swept=[],
    configs=[],
    checkpoint_frequency=1,
    interval=1,
)
CASES = {
    "unknown flag": ("--num-sample 3", "--num-sample, 3; did you mean --num-samples?"),
    "not a number": ("--iterations many", "--iterations"),
    "unknown scheduler": ("--scheduler hyperband", "'hyperband'"),
    "no samples": ("--num-samples 0", "num_samples=0: accepted is a number >= 1"),
    "unknown setting": ("--set learning_rat=1", "'learning_rat'; did you mean 'learning_rate'?"),
    "a range of nothing": ("--sweep gamma=0.99..0.9", "a range goes from the smaller to the larger number"),
    "a range beyond the bounds": ("--sweep gamma=0.9..1.5", "gamma=1.5: accepted is a number in (0, 1]"),
    "a range of an unknown setting": ("--sweep gama=0.9,0.99", "'gama'; did you mean 'gamma'?"),
    "fixed and swept": ("--sweep gamma=0.9,0.99 --set gamma=0.9", "gamma is fixed to 0.9, and swept"),
    "a space that is not there": ("--space none.yaml", "--space none.yaml cannot be read: No such file"),
    "a grid of a range": ("--sweep gamma=0.9..0.99 --grid", "say how many of its values, as gamma=0.9..0.99:4"),
    "a grid of the default space": (
        "--grid",
        "learning_rate is a range; say how many of its values, as learning_rate=",
    ),
    "a range of a setting of the other method": (
        "--sweep rmsprop_decay=0.9..0.99 --scheduler fifo",
        "means nothing with optimiser=adam: it is for optimiser=rmsprop",
    ),
    "a range the wrong way round": ("--sweep gamma=0.99..0.9", "did you mean 0.9..0.99?"),
    "a grid of so many": ("--sweep gamma=0.9,0.99 --grid --num-samples 3", "leave --num-samples 3 out"),
    "setting without a value": ("--set gamma", "accepted is key=value"),
    "learning rate 0": ("--set learning_rate=0", "learning_rate=0.0: accepted is a number > 0"),
    "learning rate negative": ("--set learning_rate=-1", "learning_rate=-1.0"),
    "learning rate NaN": ("--set learning_rate=NaN", "learning_rate=nan"),
    "gamma 0": ("--set gamma=0", "gamma=0.0: accepted is a number in (0, 1]"),
    "gamma above 1": ("--set gamma=1.5", "gamma=1.5"),
    "empty batch": ("--batch-size 0", "batch_size=0: accepted is a number >= 1"),
    "no workers": ("--num-workers 0", "num_workers=0"),
    "more CPUs than there are": ("--num-workers 4000", "num_workers=4000 needs 4000 CPUs, but there are"),
    "no choice of workers fits": ("--set cpus_per_worker=1000", "set cpus_per_worker lower"),
    "CPUs that are none": ("--set cpus_per_worker=0", "cpus_per_worker=0.0: accepted is a number > 0"),
    "CPUs that are no number": ("--set cpus_per_worker=abc", "cpus_per_worker='abc': accepted is a number > 0"),
    "CPUs that are nothing": ("--set cpus_per_worker=null", "cpus_per_worker=None: accepted is a number > 0"),
    "CPUs that are NaN": ("--set cpus_per_worker=NaN", "cpus_per_worker=nan: accepted is a number > 0"),
    "confirm none or more": ("--confirm -1", "confirm=-1: accepted is a number >= 0"),
    "an interval of one seed": ("--confirm 1 --confirm-seeds 1", "confirm_seeds=1: accepted is a number >= 2"),
    "confirm a schedule": ("--confirm 1 --scheduler pbt", "use halving, asha or fifo"),
    "a flag twice": ("--seed 1 --seed 2", "--seed stands there 2 times: once is accepted"),
    "an empty name": ("--name=", "--name is empty"),
    "a setting in two ways": (
        "--num-workers 2 --set num_workers=4",
        "--set num_workers=4 comes on top of num_workers=2: give it once",
    ),
    "a setting of the other method": (
        "--preset karpathy --set epochs=2",
        "epochs=2 means nothing with method=reinforce: it is for method=ppo",
    ),
    "a setting twice": ("--set gamma=0.9 --set gamma=0.8", "gamma=0.8 comes on top of gamma=0.9"),
    "seeds of no confirmation": ("--confirm-seeds 4", "--confirm-seeds means nothing without --confirm"),
    "extend by nothing": (
        "--extend first",
        "--extend needs --iterations or --timesteps: until now they are 5 iterations",
    ),
    "extend by less": ("--extend first --iterations 5", "--iterations 5: trials have 5 already"),
    "a path and where to look": (
        "--resume {file} --storage-path elsewhere",
        "--storage-path does not count with --resume",
    ),
    "resume what is not there": (
        "--resume secnod",
        "unknown experiment 'secnod'; did you mean 'second'? Known: first, second",
    ),
    "resume with other settings": ("--resume first --num-samples 3", "--num-samples does not count with --resume"),
    "resume and fork": ("--resume first --fork second", "--fork does not count with --resume"),
    "extend with other settings": ("--extend first --scheduler fifo", "--scheduler does not count with --extend"),
    "resume with more iterations": ("--resume first --iterations 3", "--iterations does not count with --resume"),
    "no cluster at the address": ("--address 127.0.0.1:1", "--address 127.0.0.1:1: nobody answers there"),
    "address without a port": ("--address 127.0.0.1:", "--address 127.0.0.1:: nobody answers there"),
    "name that exists": ("--name first", "'first' exists already"),
    "name that is a path": ("--name a/b", "not a folder name"),
    "a URI of no storage": ("--storage-path http://host/pong", "http://host/pong: Unrecognized filesystem type"),
    "a URI of nothing": ("--resume {file_uri}/pong", "/pong is no experiment"),
    "storage path that is a file": ("--storage-path {file}", "cannot be written"),
}


@pytest.fixture
def storage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        create(RunFlags().folder, name, SPEC)
    (tmp_path / "file").touch()
    return tmp_path


def run(monkeypatch, capsys, main, *argv):
    monkeypatch.setattr(sys, "argv", list(argv))
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code, capsys.readouterr()


@pytest.mark.parametrize("case", CASES)
def test_bad_input_to_a_sweep_is_answered_in_one_line(case, storage, monkeypatch, capsys):
    flags, message = CASES[case]
    argv = flags.format(file=storage / "file", file_uri=storage.absolute().as_uri()).split()
    before = sorted(storage.rglob("*"))
    code, output = run(monkeypatch, capsys, lambda: sweep.main(PG, sweep_pong.DESCRIPTION), "sweep_pong.py", *argv)
    assert code == 2
    assert message in output.err
    assert output.err.startswith("sweep_pong.py: error: ")
    assert output.err.count("\n") == 1
    assert sorted(storage.rglob("*")) == before, "nothing was written"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("pgg", "unknown learner 'pgg'; did you mean 'pg'?"),
        ("pg --learning-rat 1", "did you mean --learning-rate?"),
        ("pg --learning-rate 0", "learning_rate=0.0: accepted is a number > 0"),
        ("pg --gamma 2", "gamma=2.0"),
        ("pg --optimiser sgd", "'sgd'"),
        ("pg --env-id CartPole-v1", "'CartPole-v1' is not a Pong"),
        ("trpo --preset cartpole --env-id Pendulum-v1", "accepted is Discrete"),
        (
            "trpo --env-id CartPole-v1",
            "reset_on_reward=True and coarse_coding=True: for Pong only; for CartPole-v1 set each to",
        ),
        ("trpo --hidden-sizes 64 0", "hidden_sizes=0"),
        ("pg --num-workers 4000", "num_workers=4000 needs 4000 CPUs"),
        ("pg --preset karpaty", "unknown preset 'karpaty'; did you mean 'karpathy'?"),
        ("pg --preset karpathy --clip 0.1", "clip=0.1 means nothing with method=reinforce: it is for method=ppo"),
        (
            "pg --batch-size 8",
            "batch_size=8 is for whole games: set slots=0 too, or leave it out and set segment_length",
        ),
        (
            "pg --slots 0 --batch-size 8 --segment-length 9",
            "segment_length=9 means nothing with slots=0: it is for slots",
        ),
        ("pg --rmsprop-decay 0.5", "rmsprop_decay=0.5 means nothing with optimiser=adam: it is for optimiser=rmsprop"),
        ("pg --resume first --seed 3", "--seed does not count with --resume"),
        ("pg --resume third", "Known: first, second"),
    ],
)
def test_bad_input_to_train_is_answered_in_one_line(argv, message, storage, monkeypatch, capsys):
    code, output = run(monkeypatch, capsys, train.main, "train.py", *argv.split())
    assert code == 2
    assert message in output.err
    assert output.err.count("\n") == 1


@pytest.mark.parametrize("flags", ["--help", "pg --help"])
def test_help_of_train_teaches(flags, monkeypatch, capsys):
    code, output = run(monkeypatch, capsys, train.main, "train.py", *flags.split())
    assert code == 0
    assert "pg" in output.out
    assert "--help" in flags.replace("pg", "")


def test_help_of_train_shows_a_presets_values(monkeypatch, capsys):
    code, output = run(monkeypatch, capsys, train.main, "train.py", "pg", "--preset", "karpathy", "--help")
    assert code == 0
    assert "(default: 0.0001)" in output.out


def test_the_dry_run_prints_the_plan_and_writes_nothing(storage, monkeypatch, capsys):
    before = sorted(storage.rglob("*"))
    given = "--num-samples=3 --timesteps=400000 --set=gamma=0.97 --set=cpus_per_worker=0.5"
    flags = ["--dry-run", *given.split()]
    code, output = run(monkeypatch, capsys, lambda: sweep.main(PG, ""), "sweep_pong.py", *flags)
    assert code == 0
    assert "3 trials begin, 1 goes to the end: at most 400,000 agent steps a trial" in output.out
    assert "gamma=0.97" in output.out
    assert "by the speed of a game that was played now" in output.out
    assert sorted(storage.rglob("*")) == before


def test_ctrl_c_ends_a_program_without_a_word(capsys):
    @clean_exit()
    def main():
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert not capsys.readouterr().err


@pytest.mark.ray
@pytest.mark.parametrize("program", ["sweep_pong.py", "benchmark.py"])
def test_a_reader_that_has_gone_ends_a_program_without_a_word(program):
    """``--help | head`` was a BrokenPipeError's traceback."""
    words = command(ROOT / "experiments" / program, "--help")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 141


def test_a_presets_name_and_the_run_to_be_forked_exclude_each_other(storage, monkeypatch, capsys):
    for preset in (["--preset", "default"], ["--preset=karpathy"]):
        code, output = run(monkeypatch, capsys, train.main, "train.py", "pg", "--fork", "first", *preset)
        assert code == 2
        assert "--preset does not count with --fork" in output.err


def test_the_run_to_be_forked_is_looked_for_in_the_storage_path_however_it_is_written(storage, monkeypatch, capsys):
    create(storage / "elsewhere", "third", SPEC.but(learner="trpo"))
    for flag in ("--storage-path", "--storage_path"):
        code, output = run(monkeypatch, capsys, train.main, "train.py", "pg", "--fork", "third", flag, "elsewhere")
        assert code == 2
        assert "is an experiment of 'trpo'" in output.err
