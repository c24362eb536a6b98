"""Bad input: one clear line on stderr, exit status 2, and nothing started or written."""

import re
import subprocess
import sys
import tomllib

import pytest

from experiments import results, sweep, sweep_pong, train, watch
from experiments.ask.command_line import COMMANDS, clean_exit
from experiments.ask.flags import RunFlags
from experiments.disk.spec import ExperimentSpec, create
from experiments.plan.learners import PG, Learner, Pace
from experiments.run import sweep_program
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
SWEEP = {
    # flags: what the line has to say
    "--num-sample 3": "--num-sample, 3; did you mean --num-samples?",
    "--n-trials 3": "--n-trials, 3; did you mean --num-samples?",
    "--learning-rate 1e-3": "did you mean --set learning_rate=VALUE?",
    "--batch-size 3": "did you mean --set games_per_update=VALUE or --set minibatch_size=VALUE?",
    "--set ent_coef=0.01": "unknown setting 'ent_coef'; did you mean 'entropy_bonus'?",
    "--iterations many": "--iterations",
    "--scheduler hyperband": "'hyperband'",
    **{
        f"--{name.replace('_', '-')} 0": f"{name}=0: accepted is a whole number >= 1"
        for name in ("num_samples", "iterations", "timesteps", "num_workers", "max_concurrent")
    },
    "--confirm 3": "leave it out now, and type --confirm NAME --best 3 when it has",
    "--confirm 3 --confirm-seeds 3": "--confirm-seeds, 3; did you mean --seeds?",
    "--resume first --confirm 3": "--resume does not count with --confirm",
    "--confirm first --seeds 1": "--seeds 1: one seed says nothing of luck",
    "--confirm first --best 0": "best=0: accepted is a whole number >= 1",
    "--confirm first --sweep gamma=0.9,0.99": "--sweep does not count with --confirm: it runs the best of an ended",
    "--confirm first": "--confirm first: it is interrupted, and has not ended; --resume first goes on with it",
    "--confirm frist": "unknown experiment 'frist'; did you mean 'first'?",
    "--scheduler pbt": "now Ray Tune's own, in a tune.Tuner with our Trainables: docs/library.md shows it",
    "--set learning_rat=1": "'learning_rat'; did you mean 'learning_rate'?",
    "--set gamma": "accepted is key=value",
    "--set gamma=1.5": "gamma=1.5: accepted is a number in (0, 1]",
    "--set cpus_per_worker=abc": "cpus_per_worker='abc': accepted is a number > 0",
    "--set gamma=0.9 --set gamma=0.8": "gamma=0.8 comes on top of gamma=0.9",
    "--num-workers 2 --set num_workers=4": "--set num_workers=4 comes on top of num_workers=2: give it once",
    "--num-workers 4000": "num_workers=4000 needs 4000 CPUs, and here is room on",
    "--preset karpathy --set epochs=2 --scheduler fifo": "epochs=2 means nothing with method=reinforce",
    "--sweep gamma=0.99..0.9": "did you mean 0.9..0.99?",
    "--space none.py": "--space none.py cannot be read: there is no such file",
    "--grid": "learning_rate is a range; say how many of its values, as learning_rate=",
    "--sweep gamma=0.9,0.99 --grid --num-samples 3": "leave --num-samples 3 out",
    "--seed 1 --seed 2": "--seed stands there 2 times: once is accepted",
    "--name=": "--name is empty",
    "--name first": "'first' exists already",
    "--name a/b": "--name 'a/b': accepted is a name of at most 200 bytes without /",
    "--name ..": "--name '..': accepted is",
    f"--name {260 * 'x'}": "xxx': accepted is a name of at most 200 bytes",
    "--name first --resume-or-start": "--resume-or-start: another command began first: python sweep_pong.py; --resume",
    "--resume-or-start": "--resume-or-start means nothing without --name",
    "--best 4": "--best means nothing without --confirm",
    "--extend first": "--extend needs --iterations or --timesteps: until now they are 5 iterations",
    "--extend first --iterations 5": "--iterations 5: trials have 5 already",
    "--resume first --num-samples 3": "--num-samples does not count with --resume",
    "--resume {file} --storage-path elsewhere": "--storage-path does not count with --resume",
    "--resume secnod": "unknown experiment 'secnod'; did you mean 'second'? Known: first, second",
    "--resume {file_uri}/pong": "/pong is no experiment",
    "--address 127.0.0.1:1": "--address 127.0.0.1:1: nobody answers there",
    "--address 127.0.0.1:": "--address 127.0.0.1:: nobody answers there",
    "--storage-path http://host/pong": "http://host/pong: Unrecognized filesystem type",
    "--storage-path {file}": "cannot be written",
}
THEIRS = {
    # words of Stable-Baselines3, CleanRL and RLlib: what is nearest here
    **dict.fromkeys(("clip-range", "clip-coef", "clip-param"), "clip"),
    **dict.fromkeys(("n-steps", "num-steps", "rollout-fragment-length"), "segment-length"),
    **dict.fromkeys(("n-envs", "num-envs"), "slots"),
    **{"num-env-runners": "num-workers", "ent-coef": "entropy-bonus", "total-timesteps": "timesteps"},
}
TRAIN = {
    "pgg": "unknown learner 'pgg'; did you mean 'pg'?",
    "ppo": "unknown learner 'ppo'; did you mean 'pg'?",
    "--resume first": "the first word is a learner, not --resume",
    "pg --batch-size 64": "--batch-size, 64; did you mean --games-per-update or --minibatch-size?",
    "trpo --batch-size 64": "did you mean --timesteps-per-batch?",
    "trpo --ent-coef 0.01": "Unrecognized options: --ent-coef, 0.01 (see --help)",
    **{f"pg --{theirs} 1": f"did you mean --{ours}?" for theirs, ours in THEIRS.items()},
    "pg --learning-rat 1": "did you mean --learning-rate?",
    "pg --gamma 2": "gamma=2.0",
    "pg --env-id CartPole-v1": "'CartPole-v1' is not a Pong",
    "trpo --preset cartpole --env-id Pendulum-v1": "accepted is Discrete",
    "trpo --env-id CartPole-v1": "reset_on_reward=True and coarse_coding=True: for Pong only",
    "trpo --hidden-sizes 64 0": "hidden_sizes=0",
    "trpo --hidden-sizes 64-0": "hidden_sizes=0",
    "trpo --hidden-sizes 64x64": "hidden_sizes='64x64': accepted are one or more numbers, as 64-64",
    "pg --num-workers 4000": "num_workers=4000 needs 4000 CPUs",
    "pg --preset karpaty": "unknown preset 'karpaty'; did you mean 'karpathy'?",
    "pg --games-per-update 8": "games_per_update=8 is for whole games: set slots=0 too, or leave it out and set",
    "pg --rmsprop-decay 0.5": "rmsprop_decay=0.5 means nothing with optimiser=adam: it is for optimiser=rmsprop",
    "pg --fork first --preset=karpathy": "--preset does not count with --fork",
    "pg --extend first --iterations 9 --seeds 3": "new run with --seed and --seeds: `python results.py compare A,B`",
    "pg --resume third": "Known: first, second",
    # where the run to be forked is looked for, however the flag is written
    "pg --fork third --storage-path elsewhere": "is an experiment of 'trpo'",
    "pg --fork third --storage_path elsewhere": "is an experiment of 'trpo'",
}


@pytest.fixture
def storage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        create(RunFlags().folder, name, SPEC)
    create(tmp_path / "elsewhere", "third", SPEC.but(learner="trpo"))
    (tmp_path / "file").touch()
    monkeypatch.setattr(Learner, "pace", lambda *of: Pace(2e-4))  # no games are played
    return tmp_path


MAIN = {
    "sweep_pong.py": lambda: sweep_program.main(PG, sweep_pong.DESCRIPTION),
    "train.py": train.main,
    "pong-train": train.main,
    "pong-sweep": sweep.main,
    "pong-results": results.main,
    "pong-watch": watch.main,
}


@pytest.fixture
def run(monkeypatch, capsys):
    def call(program, flags=""):
        monkeypatch.setattr(sys, "argv", [program, *flags.split()])
        with pytest.raises(SystemExit) as stop:
            MAIN[program]()
        return stop.value.code, *capsys.readouterr()

    return call


@pytest.mark.parametrize(("program", "cases"), [("sweep_pong.py", SWEEP), ("train.py", TRAIN)])
def test_bad_input_is_answered_in_one_line_and_nothing_is_written(program, cases, storage, one_parser, run):
    before, wrong = sorted(storage.rglob("*")), {}
    for flags, message in cases.items():
        code, _, error = run(program, flags.format(file=storage / "file", file_uri=storage.absolute().as_uri()))
        if (code, error.count("\n")) != (2, 1) or message not in error or not error.startswith(f"{program}: error: "):
            wrong[flags] = code, error
        if sorted(storage.rglob("*")) != before:
            wrong[flags] = "something is written"
    assert not wrong


def test_console_commands_are_those_that_are_installed_and_their_help_names_no_file(run):
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    names = ("train", "sweep", "results", "watch")
    assert scripts == {COMMANDS[f"{name}.py"]: f"experiments.{name}:main" for name in names}
    for words in (*scripts, "pong-train pg", "pong-sweep trpo", "pong-results best", "pong-results replay"):
        program, _, word = words.partition(" ")
        code, output, _ = run(program, f"{word} --help")
        assert code == 0
        assert f" {program} " in output.partition("\n")[2], "an example, after the first line"
        assert "experiments/" not in output


def test_what_a_program_began_its_console_command_goes_on_with(storage, monkeypatch):
    words = ["--name", "run", "--resume-or-start"]
    monkeypatch.setattr(sys, "argv", ["experiments/train.py", "pg", *words])
    create(storage / "results", "run", train.prepare(PG, words).spec)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pong-train", "pg", *words])
    assert train.prepare(PG, words).folder == storage / "results" / "run"


def test_a_wrong_flag_is_answered_in_one_line_on_a_terminal_with_colours_too(run, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    status, _, complaint = run("sweep_pong.py", "--learning-rate 1e-3")
    expected = "Unrecognized options: --learning-rate, 1e-3; did you mean --set learning_rate=VALUE? (see --help)"
    assert (status, complaint) == (2, f"sweep_pong.py: error: {expected}\n")


SUBCOMMANDS = [f"pong-results {name}" for name in ("report", "compare", "table", "best", "export", "verify", "replay")]


def test_help_is_as_wide_as_the_terminal_and_its_examples_can_be_pasted(run, monkeypatch):
    for width in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        for words in ("train.py", "train.py pg", "sweep_pong.py", "pong-sweep", "pong-results", *SUBCOMMANDS):
            program, _, word = words.partition(" ")
            output = run(program, f"{word} --help")[1]
            assert max(map(len, output.splitlines())) < width, words
            if "\nExample:\n" in output:  # a command that is longer than a line
                example = output.partition("\nExample:\n  ")[2].partition("\n\n")[0]
                assert all(line.endswith(" \\") for line in example.splitlines()[:-1]), "it can be pasted"
    monkeypatch.setenv("COLUMNS", "80")
    command = (
        "sweep_pong.py --sweep learning_rate=1e-4..1e-2:log \\\n      --sweep gamma=0.98,0.99\n      ranges of your own"
    )
    assert command in run("sweep_pong.py", "--help")[1]


def test_a_choice_that_can_be_left_out_does_not_offer_nothing_as_a_word(run):
    assert "--format csv|parquet|json" in run("pong-results", "table --help")[1]
    status, _, complaint = run("pong-results", "table x --format None")
    assert status == 2
    assert "invalid choice 'None'" in complaint


@pytest.mark.parametrize(
    ("words", "first", "groups"),
    [
        (
            "train.py pg",
            "iterations timesteps preset seeds num-workers name resume",
            "learning network experience speed evaluation storage ray",
        ),
        (
            "sweep_pong.py",
            "iterations timesteps time-budget-s num-samples preset sweep set seeds num-workers name resume smoke-test"
            " dry-run",
            "search speed evaluation storage ray",
        ),
    ],
)
def test_help_begins_with_what_everybody_needs_and_has_all_else_in_groups(words, first, groups, run):
    program, _, word = words.partition(" ")
    boxes = re.split(r"^ (\w+ )?options +$", run(program, f"{word} --help")[1], flags=re.MULTILINE)[1:]
    assert [name.strip() for name in boxes[2::2]] == groups.split()
    assert re.findall(r"^  --([\w-]+)", boxes[1], re.MULTILINE) == first.split()
    assert re.search(r"--iterations N +Iterations", boxes[1]), "and not updates, of which an iteration has several"


def test_help_of_train_shows_a_presets_values(run):
    assert run("train.py", "--help")[0] == 0
    code, output, _ = run("train.py", "pg --preset karpathy --help")
    assert code == 0
    assert "(default: 0.0001)" in output


def test_the_dry_run_prints_the_plan_and_writes_nothing(storage, run):
    before = sorted(storage.rglob("*"))
    given = "--num-samples=3 --timesteps=400000 --set=gamma=0.97 --set=cpus_per_worker=0.5"
    code, output, _ = run("sweep_pong.py", f"--dry-run {given}")
    assert code == 0
    assert "3 trials begin, 1 goes to the end: at most 400,000 agent steps a trial" in output
    assert "gamma=0.97" in output
    assert "by the speed of a game that was played now" in output
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
@pytest.mark.parametrize("words", ["sweep_pong.py --help", "results.py list", "results.py report --help"])
def test_a_reader_that_has_gone_ends_a_program_without_a_word(words, storage):
    name, *words = words.split()
    line = command(ROOT / "experiments" / name, *words)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=storage) as running:
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 141
