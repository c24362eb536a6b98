"""Experiments on disk, the program that looks at them, and a cluster to run them on."""

import functools
import json
from pathlib import Path

import pytest
from tyro._parsers import ParserSpecification

from experiments import train
from experiments.ask import command_line
from experiments.plan.learners import Learner, Pace
from experiments.plan.resources import ClusterResources
from experiments.run import sweep_program
from experiments.run.draft import Draft
from tests.helpers.programs import begin, call
from tests.helpers.surroundings import Nodes
from tests.helpers.written_experiments import row, write_experiment

FAST, SLOW = {"learning_rate": 3e-3, "num_workers": 2}, {"learning_rate": 1e-3, "num_workers": 1}
WIDE, NARROW = {"hidden_sizes": "64-64", "num_workers": 2}, {"hidden_sizes": "32-32", "num_workers": 2}


def seeds(settings, *curves):
    return [({**settings, "seed": seed}, returns, None) for seed, returns in enumerate(curves)]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Two learners, two configurations of three seeds each, a failed trial, a diverged one and a killed run."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results"
    sweep = seeds(FAST, [-21, -15, -9], [-20, -12, -3], [-20, -16, -12]) + seeds(SLOW, [-21, -20.5], [-21, -20], [-20])
    sweep.append(({"learning_rate": 0.5, "seed": 9}, [-20, -20.5], "RuntimeError: a `rollout` worker | died <4> times"))
    write_experiment(folder, "pg-sweep", "pg", sweep)
    trpo = seeds(WIDE, [-20, -18], [-20, -17], [-20, -16]) + seeds(NARROW, [-20, -19], [-20, -19.5], [-20, -20])
    write_experiment(folder, "trpo-sweep", "trpo", trpo)
    killed = write_experiment(folder, "killed", "pg", [({"seed": 5, "gamma": 0.9}, [-20.0, -19.0, -18.0], "cut")])
    # After a restore from iteration 1: the iterations 2 and 3 stand there twice, the later rows count.
    result = next(killed.glob("*/result.json"))
    rows = [json.dumps(row(i, value, {"num_workers": 2})) for i, value in ((2, -17.0), (3, -14.0))]
    lines = result.read_text(encoding="utf-8").splitlines()
    result.write_text("\n".join([*lines[:3], *rows, lines[3]]))
    return folder


@pytest.fixture
def four_cpus(tmp_path, monkeypatch):
    """Programs plan for four CPUs, in an empty folder, without playing games or building networks to measure them."""
    monkeypatch.chdir(tmp_path)
    for program in (sweep_program, train):
        monkeypatch.setattr(program, "resources_for", lambda run: ClusterResources((4,)))
    monkeypatch.setattr(Draft, "checkpoint_bytes", 0)
    monkeypatch.setattr(Learner, "pace", lambda *of: Pace(2e-4))


@pytest.fixture
def one_parser(monkeypatch):
    """tyro builds a parser for each command line, which takes longer than all else here: of equal ones one will do."""
    build, built = ParserSpecification.from_callable_or_type, {}
    group, grouped = command_line.in_groups, {}

    def once(*of, **options):
        key = repr((of, options))
        if options["intern_prefix"]:  # a group, whose name is not its alone
            return build(*of, **options)
        if key not in built:
            built[key] = build(*of, **options)
        return built[key]

    def named(parts):
        if (key := repr(parts)) not in grouped:
            grouped[key] = group(parts)
            grouped[key].__qualname__ = f"Flags{len(grouped)}"
        return grouped[key]

    monkeypatch.setattr(ParserSpecification, "from_callable_or_type", once)
    monkeypatch.setattr(command_line, "in_groups", named)


@pytest.fixture
def run_results():
    """Call ``results.py``; return its exit status, output and complaint."""
    return functools.partial(call, "results.py")


@pytest.fixture(scope="module")
def cluster():
    """A head without CPUs, as on Kubernetes, and three nodes of two CPUs each."""
    with pytest.MonkeyPatch.context() as patch:
        if Path("~/.ray/auth_token").expanduser().is_file():
            patch.setenv("RAY_AUTH_MODE", "token")
        cluster = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(3):
            cluster.add_node(num_cpus=2)
        yield cluster
        cluster.shutdown()


@pytest.fixture
def start(tmp_path):
    """Starts programs in the background, as ``begin`` does, which end with the test."""
    programs = []

    def start(program, *flags, log="log"):
        programs.append(begin(program, *flags, cwd=tmp_path, log=log))
        return programs[-1]

    yield start
    for program in programs:
        program.kill()
        program.wait()
