"""The program that looks at experiments: how they are found, what is best, what state they are in."""

import io
import json
import re
import shlex

import pandas as pd
import pytest

from experiments import train
from experiments.disk.experiments import read_experiment
from experiments.disk.lock import exclusive
from experiments.disk.spec import ExperimentSpec
from experiments.plan.learners import LEARNERS
from experiments.show.summary import summarise
from tests.helpers.programs import refused
from tests.helpers.written_experiments import forked_from, write_experiment


def test_an_experiment_is_found_by_name_and_by_any_path(store, tmp_path, monkeypatch, run_results):
    (tmp_path / "elsewhere").mkdir()
    for place, where in ((".", "pg-sweep"), (".", "results/pg-sweep"), (".", store / "pg-sweep")):
        monkeypatch.chdir(tmp_path / place)
        assert run_results("best", where)[0] == 0
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run_results("best", "../results/pg-sweep")[0] == 0


def test_a_wrong_call_is_answered_in_one_line_that_says_what_there_is(store, tmp_path):
    known = "Known: killed, pg-sweep, trpo-sweep"
    for words, answer in {
        "best pg-swep": f"unknown experiment 'pg-swep'; did you mean 'pg-sweep'? {known}",
        f"report pg-sweep {store}/kiled": f"did you mean 'killed'? {known} (in {store}",
        f"report {store}": f"{known} (in {store})",
        "best": f"which experiment? {known} (in results)",
        "report": known,
        "compare": known,
        "table": known,
        "best pg-sweep --storage-path nowhere": "Known: none (in nowhere)",
        "list --storage-path nowhere": "no experiments in nowhere",
        "repot pg-sweep": "unknown command 'repot'; did you mean 'report'?",
        "best pg-sweep --jsn": "did you mean --json?",
        "report pg-sweep --out nowhere/all.html": "--out nowhere/all.html cannot be written",
        "report trained/pg": f"unknown experiment 'trained/pg'. {known}",
        "export pg-swep": "did you mean 'pg-sweep'?",
        "export trained/ppo": "did you mean 'trained/pg'?",
        "compare killed": "one configuration is nothing to compare: name two experiments, as in compare killed OTHER",
        "compare killed,pg-swep trpo-sweep": "unknown experiment 'pg-swep'; did you mean 'pg-sweep'?",
        "compare pg-sweep trpo-sweep --steps 10": "--steps 10 lies before the end of the first window of 200",
        "compare pg-sweep trpo-sweep --best -1": "best=-1: accepted is a whole number >= 0",
        "compare pg-sweep killed --out nowhere/a.html": "--out nowhere/a.html cannot be written",
        "table killed --format xlsx": "xlsx",
        "table killed --format parquet": "--format parquet is no text: it needs --out FILE",
        "table killed --rows --windows": "--rows and --windows are two tables",
        "table killed --out nowhere/a.csv": "--out nowhere/a.csv cannot be written",
    }.items():
        assert answer in refused("results.py", *words.split()), words


def test_a_table_goes_to_the_terminal_or_to_a_file_in_the_format_of_its_name(store, tmp_path, run_results):
    status, output, complaint = run_results("table", "pg-sweep", "killed", "--rows")
    assert (status, complaint) == (0, "")
    printed = pd.read_csv(io.StringIO(output), dtype={"trial": str})
    assert len(printed) == 3 * 3 + 2 + 2 + 1 + 2 + 3
    assert printed[printed["experiment"] == "killed"]["episode_score"].tolist() == [-20, -17, -14]
    for words, read in (
        (["--out", "a.parquet"], pd.read_parquet),
        (["--out", "a.json"], pd.read_json),
        (["--out", "a.txt"], pd.read_csv),
        (["--format", "json", "--output", "b"], pd.read_json),
    ):
        _, output, _ = run_results("table", "pg-sweep", "killed", "--rows", *words)
        assert "(19 rows, " in output
        assert read(words[-1])["episode_score"].tolist() == printed["episode_score"].tolist()
    assert json.loads(run_results("table", "killed", "--format", "json")[1])[0]["config/gamma"] == 0.9
    assert len(run_results("table", "killed", "--windows")[1].splitlines()) == 1, "the header: it has 3,000 steps"


CARTPOLE = {"env_id": "CartPole-v1", "slots": 0, "reset_on_reward": False, "coarse_coding": False}


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        ("pg", {"learning_rate": 0.00123456789, "seed": 4, "optimiser": "rmsprop", "num_workers": 1}),
        ("trpo", CARTPOLE | {"hidden_sizes": "16-8", "timesteps_per_batch": 500, "gamma": 0.99}),
        ("pg", {}),
    ],
)
@pytest.mark.usefixtures("four_cpus")
def test_the_best_configurations_command_trains_it_also_where_the_preset_differs(
    learner, settings, tmp_path, run_results
):
    trials = [(settings, [-20, -10], None), ({"gamma": 0.5}, [-5, -11], None), ({"gamma": 0.6}, [-1], "cut")]
    write_experiment(tmp_path, "sweep", learner, trials[: 3 - bool(settings)])
    name = "sweep" if settings else tmp_path / "sweep"
    _, output, _ = run_results("best", name, "--storage-path", tmp_path)
    python, program, command, *words = shlex.split(output)
    assert (python, command) == ("python", learner)
    assert program.endswith("train.py")
    config_class, best = LEARNERS[learner].config_class, settings or {"gamma": 0.6}
    spec = train.prepare(LEARNERS[learner], words).spec
    assert spec.configs == [config_class.from_dict(best).to_dict()]
    assert spec.iterations == 10
    flags = [word.removeprefix("--").removeprefix("no-") for word in words if word.startswith("--")]
    given = {flag.replace("-", "_") for flag in flags} - {"iterations"}
    preset = config_class.from_dict(LEARNERS[learner].preset("default")).to_dict()
    assert given == {name for name, value in spec.configs[0].items() if value != preset[name]}
    answer = json.loads(run_results("best", name, "--storage-path", tmp_path, "--json")[1])
    assert answer["config"] == config_class.from_dict(best).to_dict()
    assert answer["command"] == output.strip()
    assert answer["score"] == (-10 if settings else -1)


@pytest.mark.usefixtures("four_cpus")
def test_best_of_a_fork_forks_or_says_that_it_trains_from_scratch(tmp_path, monkeypatch, run_results):
    monkeypatch.chdir(tmp_path)
    trials = [({"gamma": 0.9, "learning_rate": 0.01, "seed": 3}, [-20, -10], None)]
    origin = forked_from("org", ({"gamma": 0.8, "learning_rate": 0.01, "seed": 3}, 4)).model_dump()
    for name, command in (
        ("fork", ["train.py", "pg", "--fork", "org"]),
        ("halved", ["sweep_pong.py", "--fork", "org"]),
    ):
        write_experiment(tmp_path / "results", name, "pg", trials, fork_of=origin, command=command)
    _, output, said = run_results("best", "fork")
    assert shlex.split(output)[2:] == ["pg", "--gamma", "0.9", "--iterations", "10", "--fork", "results/org"]
    assert said == "Note: this is forked from org at 4,000 steps.\n"
    _, output, said = run_results("best", "halved")
    assert "--fork" not in output
    assert "forked from org at 4,000 steps. The command trains from scratch, which is another thing" in said
    assert json.loads(run_results("best", "halved", "--json")[1])["from_scratch"] is True


def test_the_list_shows_every_experiments_state_and_how_to_go_on(tmp_path, monkeypatch, run_results):
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "some store"
    one = ({}, [-20, -12.5], None)
    write_experiment(store, "done", "pg", [one, ({"gamma": 0.9}, [-20], None)])
    write_experiment(store, "broken", "trpo", [({}, [-20], None), ({"gamma": 0.9}, [-20], "RuntimeError: no")])
    write_experiment(store, "cut", "pg", [({}, [-20], "cut")])
    write_experiment(store, "early", "pg", [one], planned=3, command=["sweep_pong.py", "--seed", "1"])
    running = write_experiment(store, "goes-on", "pg", [({}, [-20], "running")])
    spec = ExperimentSpec.read(store / "cut")  # begun before the clock was set back
    spec.but(origin=spec.origin.model_copy(update={"started": "2999-01-01T00:00:00+00:00"})).write(store / "cut")
    with exclusive(running):
        status, output, _ = run_results("list", "--storage-path", "some store")
    assert status == 0
    rows = {line.split()[0]: line.split() for line in output.splitlines() if line and not line.startswith("Resume")}
    states = {name: row[1] for name, row in rows.items()}
    del states["experiment"]
    assert states == {
        "done": "finished", "broken": "failed", "cut": "interrupted", "early": "interrupted", "goes-on": "running",
    }  # fmt: skip
    assert rows["done"][2:5] == ["pg", "2/2", "-12.5"]
    assert rows["broken"][2:6] == ["trpo", "1/2,", "1", "failed"]
    assert rows["early"][3] == "1/3"
    assert " ".join(rows["cut"]).endswith("in the future: is the clock right?")
    commands = dict(re.findall(r"Resume (\S+):  (.*)", output))
    assert set(commands) == {"broken", "cut", "early"}
    assert shlex.split(commands["cut"])[2:] == ["pg", "--resume", "some store/cut"]
    assert shlex.split(commands["early"])[2:] == ["--resume", "some store/early"]
    assert run_results("list", "--storage-path", store)[1].count("interrupted") == 3, "the lock was given back"


def test_an_end_by_the_time_budget_is_told_with_the_same_words_everywhere(tmp_path, monkeypatch, run_results, capsys):
    monkeypatch.chdir(tmp_path)
    trials = [({}, [-20], "running"), ({"seed": 1}, [-19], None)]
    ended = {"planned": 3, "ended": "time budget", "time_budget_s": 90.0}
    folder = write_experiment(tmp_path / "results", "short", "pg", trials, **ended)
    said = "Time is up (--time-budget-s 90): 2 trials of 3 have more to play; --resume goes on."
    summarise(read_experiment(folder))
    summary = capsys.readouterr().out
    assert said in " ".join(summary.split())
    assert re.search(r"00000_seed=0 +time is up +1", summary)
    assert re.search(r"00001_seed=1 +stopped +1", summary), "by a scheduler"
    listed = run_results("list")[1]
    assert re.search(r"short +time is up +pg +1/3", listed)
    assert re.search(r"Resume short:  .*sweep_pong.py --resume results/short\n", listed)
    run_results("report", "short")
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert said in report
    assert "--resume results/short" in report
    assert "short,00000_seed=0,0,pg,time is up," in run_results("table", "short")[1]
