"""Reports, lists and best configurations: each figure equals the one computed here by hand from ``result.json``."""

import json
import pickle
import re
import shlex
import statistics
import sys

import numpy as np
import pytest

from experiments import results, train
from experiments.common.flags import parse
from experiments.common.learners import LEARNERS
from experiments.common.lock import exclusive
from experiments.report.effects import marginal_means
from experiments.report.figures import mean_curve
from tests.experiments.written import row, write_checkpoint, write_experiment

FAST, SLOW = {"learning_rate": 3e-3, "num_workers": 2}, {"learning_rate": 1e-3, "num_workers": 1}
WIDE, NARROW = {"hidden_sizes": "64-64", "num_workers": 2}, {"hidden_sizes": "32-32", "num_workers": 2}


class Bomb:
    """Leaves a trace if anybody unpickles it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def seeds(settings, *curves):
    return [({**settings, "seed": seed}, returns, None) for seed, returns in enumerate(curves)]


@pytest.fixture
def storage(tmp_path, monkeypatch):
    """Two learners, two configurations of three seeds each, a failed trial, a diverged one and a killed run."""
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "results"
    sweep = seeds(FAST, [-21, -15, -9], [-20, -12, -3], [-20, -16, -12]) + seeds(SLOW, [-21, -20.5], [-21, -20], [-20])
    sweep.append(({"learning_rate": 0.5, "seed": 9}, [-20, -20.5], "RuntimeError: a `rollout` worker | died <4> times"))
    pg = write_experiment(store, "pg-sweep", "pg", sweep)
    trpo = seeds(WIDE, [-20, -18], [-20, -17], [-20, -16]) + seeds(NARROW, [-20, -19], [-20, -19.5], [-20, -20])
    write_experiment(store, "trpo-sweep", "trpo", trpo)
    killed = write_experiment(store, "killed", "pg", [({"seed": 5, "gamma": 0.9}, [-20.0, -19.0, -18.0], "cut")])
    # After a restore from iteration 1: the iterations 2 and 3 stand there twice, the later rows count.
    result = next(killed.glob("*/result.json"))
    rows = [json.dumps(row(i, value, {"num_workers": 2})) for i, value in ((2, -17.0), (3, -14.0))]
    lines = result.read_text().splitlines()
    result.write_text("\n".join([*lines[:3], *rows, lines[3]]))
    (next(pg.glob("00000*")) / "params.pkl").write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    (pg / "tuner.pkl").write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    return store


@pytest.fixture
def run(monkeypatch, capsys):
    """Call the program; return its exit status, output and complaint."""

    def call(*argv):
        monkeypatch.setattr(sys, "argv", ["results.py", *map(str, argv)])
        try:
            results.main()
            status = 0
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call


def table(markdown, first):
    """The rows of the table whose first column is called ``first``, as dicts; numbers as numbers."""
    lines = markdown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    header = cells(lines[start])
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append(dict(zip(header, cells(line), strict=True)))
    return found


def cells(line):
    return [cell.strip().strip("`").replace("\N{MINUS SIGN}", "-").replace(",", "") for cell in line.split("|")[1:-1]]


def test_the_report_says_what_the_result_files_say(storage, run, tmp_path):
    status, output, _ = run("report", "pg-sweep", "trpo-sweep", "killed", "--out", "all.html")
    assert status == 0
    assert "all.html" in output
    markdown = (tmp_path / "all.md").read_text()
    trials = table(markdown, "trial")
    assert len(trials) == 7 + 6 + 1
    for shown in trials:
        lines = (storage / shown["experiment"] / shown["trial"] / "result.json").read_text().splitlines()
        rows = {}
        for line in lines:
            if line.endswith("}"):
                rows[json.loads(line)["training_iteration"]] = json.loads(line)
        returns = [rows[i]["episode_reward_mean"] for i in sorted(rows)]
        steps = [rows[i]["timesteps_total"] for i in sorted(rows)]
        area = sum((steps[i + 1] - steps[i]) * (returns[i + 1] + returns[i]) / 2 for i in range(len(steps) - 1)) / max(
            1, steps[-1] - steps[0]
        )
        assert float(shown["best"]) == pytest.approx(max(returns), abs=0.051)
        assert float(shown["last"]) == pytest.approx(returns[-1], abs=0.051)
        assert float(shown["area"]) == pytest.approx(area if len(steps) > 1 else returns[0], abs=0.051)
        assert int(shown["steps"]) == steps[-1]
        assert int(shown["iterations"]) == max(rows)
    assert [float(shown["last"]) for shown in trials] == sorted((float(t["last"]) for t in trials), reverse=True)
    killed = next(shown for shown in trials if shown["experiment"] == "killed")
    assert (killed["state"], killed["last"], killed["iterations"]) == ("interrupted", "-14.0", "3")
    failed = [shown["trial"] for shown in trials if shown["state"] == "failed"]
    assert failed == ["00006_seed=9"]


def test_the_report_groups_seeds_and_says_how_sure_their_mean_is(storage, run, tmp_path):
    run("report", "pg-sweep", "trpo-sweep", "--out", "groups.html")
    markdown = (tmp_path / "groups.md").read_text()
    groups = table(markdown, "configuration")
    assert [group["learner"] for group in groups] == ["pg", "trpo", "trpo", "pg"]
    expected = [[-9, -3, -12], [-18, -17, -16], [-19, -19.5, -20], [-20.5, -20, -20]]
    for group, last in zip(groups, expected, strict=True):
        assert group["seeds"] == "0 1 2"
        assert float(group["mean of last"]) == pytest.approx(statistics.mean(last), abs=0.051)
        low, high = map(float, group["95% interval"].split(" to "))
        assert min(last) - 0.051 <= low <= statistics.mean(last) <= high <= max(last) + 0.051
    # By hand: the workers' steps per second are 1000 times the square root of their number.
    speed = table(markdown, "workers")
    assert [int(s["workers"]) for s in speed] == [1, 2]
    assert [float(s["speed-up"]) for s in speed] == [1.0, 1.41]
    assert [s["efficiency"] for s in speed] == ["100%", "71%"]


def test_the_html_stands_alone_and_shows_all_figures_failures_and_the_best_game(storage, run, tmp_path):
    best = storage / "pg-sweep" / "00001_seed=1"
    gif = b"GIF89a, of the best checkpoint"
    (write_checkpoint(best, 2) / "evaluation.gif").write_bytes(b"of a worse checkpoint")
    (write_checkpoint(best, 3) / "evaluation.gif").write_bytes(gif)
    with (storage / "trpo-sweep" / "00000_seed=0" / "result.json").open("a") as file:
        file.write(json.dumps(row(3, -21.0, WIDE) | {"diverged": 1.0, "done": True}) + "\n")
    run("report", "pg-sweep", "trpo-sweep", "killed", "--out", "all.html")
    html = (tmp_path / "all.html").read_text()
    assert len(html) < 10e6
    sources = re.findall(r'src="([^"]{0,40})', html)
    assert sources
    assert all(source.startswith("data:image/") for source in sources)
    assert not re.search(r'(href|src)="(?!data:)', html)
    titles = set(re.findall(r'alt="([^"]*)"', html))
    both = {f"{learner} {what}" for learner in ("pg", "trpo") for what in ("over steps", "over time", "effects")}
    assert both | {"learners over steps", "learners over time", "pg speed"} <= titles
    markdown = (tmp_path / "all.md").read_text()
    for picture in re.findall(r"\]\((all_figures/[^)]*)\)", markdown):
        assert (tmp_path / picture).stat().st_size > 0
    assert (tmp_path / "all_figures" / "evaluation.gif").read_bytes() == gif
    assert "after iteration 3" in html
    assert "RuntimeError: a `rollout` worker | died &lt;4&gt; times" in html
    assert "<code>00000_seed=0</code> diverged at iteration 3" in html
    assert "python experiments/sweep_pong.py --name pg-sweep" in html
    assert "frame skip 4, sticky actions 0.25" in html
    assert json.loads((storage / "killed" / "experiment.json").read_text())["versions"]["numpy"] in html


def test_nothing_is_unpickled(storage, run, tmp_path):
    for argv in (["report", "pg-sweep"], ["best", "pg-sweep"], ["list"]):
        assert run(*argv)[0] == 0
    assert not (tmp_path / "exploded").exists()
    pickle.loads((storage / "pg-sweep" / "tuner.pkl").read_bytes()).close()
    assert (tmp_path / "exploded").exists(), "the bomb is a real one"


def test_a_report_of_experiments_without_results_says_so(tmp_path, run):
    write_experiment(tmp_path, "empty", "pg", [({}, [], "running")])
    (next(tmp_path.glob("empty/0*")) / "params.json").unlink()  # half-written
    status, _, complaint = run("report", tmp_path / "empty")
    assert (status, complaint) == (0, "")
    assert "no results yet" in (tmp_path / "empty" / "report.md").read_text()
    assert run("best", tmp_path / "empty")[::2] == (2, "results.py: error: empty has no results yet\n")


@pytest.mark.parametrize("where", ["pg-sweep", "results/pg-sweep", "{root}/results/pg-sweep", "../elsewhere"])
def test_an_experiment_is_found_by_name_and_by_any_path(where, storage, tmp_path, monkeypatch, run):
    if where == "../elsewhere":
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        where = "../results/pg-sweep"
    assert run("best", where.format(root=tmp_path))[0] == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("best pg-swep", "unknown experiment 'pg-swep'; did you mean 'pg-sweep'? Known: killed, pg-sweep, trpo-sweep"),
        (
            "report pg-sweep {root}/results/kiled",
            "did you mean 'killed'? Known: killed, pg-sweep, trpo-sweep (in {root}",
        ),
        ("report {root}/results", "Known: killed, pg-sweep, trpo-sweep (in {root}/results)"),
        ("best", "Known: killed, pg-sweep, trpo-sweep"),
        ("report", "Known: killed, pg-sweep, trpo-sweep"),
        ("best pg-sweep --storage-path nowhere", "Known: none (in nowhere)"),
        ("list --storage-path nowhere", "no experiments in nowhere"),
        ("repot pg-sweep", "unknown command 'repot'; did you mean 'report'?"),
        ("best pg-sweep --jsn", "did you mean --json?"),
        ("report pg-sweep --out nowhere/all.html", "--out nowhere/all.html cannot be written"),
    ],
)
def test_a_wrong_call_is_answered_in_one_line_that_says_what_there_is(argv, message, storage, tmp_path, run):
    status, output, complaint = run(*argv.format(root=tmp_path).split())
    assert (status, output) == (2, "")
    assert message.format(root=tmp_path) in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        ("pg", {"learning_rate": 0.00123456789, "seed": 4, "optimiser": "adam", "num_workers": 1}),
        ("trpo", {"hidden_sizes": "16-8", "reset_on_reward": False, "env_id": "CartPole-v1", "gamma": 0.99}),
        ("pg", {}),
    ],
)
def test_the_best_configurations_command_trains_that_configuration(learner, settings, tmp_path, run):
    trials = [(settings, [-20, -10], None), ({"gamma": 0.5}, [-5, -11], None), ({"gamma": 0.6}, [-1], "cut")]
    write_experiment(tmp_path, "sweep", learner, trials[: 3 - bool(settings)])
    name = "sweep" if settings else tmp_path / "sweep"
    _, output, _ = run("best", name, "--storage-path", tmp_path)
    python, program, command, *words = shlex.split(output)
    assert (python, command) == ("python", learner)
    assert program.endswith("train.py")
    config_class = LEARNERS[learner].config_class
    arguments = parse(train.Arguments[config_class], "", prog="", args=words, default=train.Arguments(config_class()))
    best = settings or {"gamma": 0.6}
    assert arguments.config == config_class.from_dict(best)
    assert arguments.run.iterations == 10
    assert len([word for word in words if word.startswith("--")]) == len(best) + 1, "defaults are left out"
    answer = json.loads(run("best", name, "--storage-path", tmp_path, "--json")[1])
    assert answer["config"] == config_class.from_dict(best).to_dict()
    assert answer["command"] == output.strip()
    assert answer["score"] == (-10 if settings else -1)


def test_the_list_shows_every_experiments_state_and_how_to_go_on(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "some store"
    one = ({}, [-20, -12.5], None)
    write_experiment(store, "done", "pg", [one, ({"gamma": 0.9}, [-20], None)])
    write_experiment(store, "broken", "trpo", [({}, [-20], None), ({"gamma": 0.9}, [-20], "RuntimeError: no")])
    write_experiment(store, "cut", "pg", [({}, [-20], "cut")])
    write_experiment(store, "early", "pg", [one], planned=3, command=["sweep_pong.py", "--seed", "1"])
    running = write_experiment(store, "goes-on", "pg", [({}, [-20], "running")])
    with exclusive(running):
        status, output, _ = run("list", "--storage-path", "some store")
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
    commands = dict(re.findall(r"Resume (\S+):  (.*)", output))
    assert set(commands) == {"broken", "cut", "early"}
    assert shlex.split(commands["cut"])[2:] == ["pg", "--resume", "some store/cut"]
    assert shlex.split(commands["early"])[2:] == ["--resume", "some store/early"]
    assert run("list", "--storage-path", store)[1].count("interrupted") == 3, "the lock was given back"


def test_marginal_means_are_means_over_ranges_and_equal_values_stay_together():
    values, scores = [1, 1, 1, 1, 2, 3, 4, 5], [-20, -10, -20, -10, -1, -2, -3, -6]
    assert marginal_means(values, scores) == [(1, 1, -15, 4), (2, 5, -3, 4)]
    assert marginal_means([1, 2, 3, 4, 5], [0] * 5) == [], "too few for two ranges"
    random = np.random.default_rng(0)
    values, scores = random.uniform(size=50), random.normal(size=50)
    means = marginal_means(values, scores)
    assert sum(mean.trials for mean in means) == 50
    assert sum(mean.score * mean.trials for mean in means) == pytest.approx(sum(scores))


def test_the_mean_curve_is_the_mean_where_all_seeds_have_results():
    short, long = (np.array([0.0, 10]), np.array([-20.0, -10])), (np.array([5.0, 20]), np.array([-20.0, -5]))
    grid, mean, low, high = mean_curve([short, long])
    assert (grid[0], grid[-1]) == (5, 10)
    np.testing.assert_allclose(mean, [(-20 + x + -25 + x) / 2 for x in grid])
    assert all((low <= mean) & (mean <= high))
    assert mean_curve([short, (np.array([11.0, 12]), np.array([0.0, 0]))]) is None


def test_tunes_own_book_tells_trials_that_a_time_budget_ended_from_interrupted_ones(tmp_path, run):
    once_failed = ({"seed": 1}, [-20], "RuntimeError: before it was resumed")
    folder = write_experiment(tmp_path, "budget", "pg", [({}, [-20, -19], "running"), once_failed])
    states = []
    for statuses in (["TERMINATED", "TERMINATED"], ["TERMINATED", "RUNNING"], ["TERMINATED", "ERROR"], None):
        trials = [[json.dumps({"trial_id": f"a_{i:05d}", "status": s}), ""] for i, s in enumerate(statuses or [])]
        book = json.dumps({"trial_data": trials}) if statuses else '{"trial_data": [["{'
        (folder / "experiment_state-1.json").write_text(book)
        _, output, _ = run("list", "--storage-path", tmp_path)
        states += re.findall(r"^budget +(\w+)", output, re.MULTILINE)
    assert states == ["finished", "interrupted", "failed", "interrupted"]


def test_names_and_errors_from_files_are_shown_as_they_stand_and_never_obeyed(tmp_path, run):
    name = "`<script>`_[red]"
    write_experiment(tmp_path, name, "pg", [({}, [-20], None), ({"seed": 1}, [-20], "``` <script> [x](y)")])
    assert run("report", name, "--storage-path", tmp_path, "--out", tmp_path / "page.html")[0] == 0
    html = (tmp_path / "page.html").read_text()
    assert "<script" not in html
    assert "'&lt;script&gt;'_[red]" in html
    assert "''' &lt;script&gt; [x](y)" in html
    assert "<script>`_[red]" in run("list", "--storage-path", tmp_path)[1]
