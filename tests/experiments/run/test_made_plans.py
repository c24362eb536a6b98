"""Plans made by chance, against plain loops: what was drawn, on any machine, and where trials will wait.

``FUZZ_MINUTES=10 pytest`` with this file makes new ones for ten minutes.
"""

import itertools
import math
import shlex

import pytest

from experiments.analysis.next_command import plan_command
from experiments.ask.command_line import parse
from experiments.plan.capacity import Capacity, rungs
from experiments.plan.identity import decisive
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.run import sweep_program
from tests.helpers.made import FUZZ_MINUTES, generators
from tests.helpers.small_experiments import trial_folders
from tests.helpers.written_experiments import write_experiment, write_policies


def planned(words, cpus, monkeypatch):
    monkeypatch.setattr(sweep_program, "resources_for", lambda run: ClusterResources((cpus,)))
    monkeypatch.setattr("sys.argv", ["experiments/sweep_pong.py", *words])
    return sweep_program.prepare(PG, *parse(sweep_program.FLAGS, args=words), words)


def trials_of(spec):
    return [(decisive(config), config["seed"]) for config in spec.configs]


def flags(rng):
    """Of a halved sweep whose limits are given, and its trials or the time for them."""
    count = ["--num-samples", str(rng.randint(1, 30))]
    words = ["--preset", "smoke", "--seed", str(rng.randint(0, 5))]
    words += rng.choice([count, count, ["--time-budget-s", str(rng.randint(60, 600))]])
    words += ["--seeds", str(rng.choice([1, 1, 2, 3])), "--sweep", "gamma=0.98,0.99,0.995"]
    words += rng.choice([[], ["--sweep", "num_workers=1,2,4,64"]]) + rng.choice([[], ["--sweep", "slots=1..16"]])
    words += rng.choice([["--timesteps", str(rng.randint(1, 60_000))], ["--iterations", str(rng.randint(1, 40))]])
    if "--timesteps" in words and rng.random() < 0.3:
        words += ["--iterations", str(rng.randint(1, 9))]
    return words


def steps_of_an_iteration(config):
    return config["slots"] * config["segment_length"] * config["updates_per_iteration"]


def waits(spec, config, rung, steps=0, iterations=0):
    """The iterations that a trial has as it waits at a rung, by playing them one by one."""
    while steps < (spec.timesteps or math.inf) and iterations < (spec.iterations or math.inf):
        if (steps if spec.timesteps else iterations) >= rung:
            break
        steps += steps_of_an_iteration(config)
        iterations += 1
    return iterations


def all_wait(spec, rung):
    return [waits(spec, config, rung) for config in spec.configs]


def check(rng, monkeypatch):
    words, (cpus, other_cpus) = flags(rng), rng.sample([1, 2, 3, 8, 64], 2)
    draft, elsewhere = planned(words, cpus, monkeypatch), planned(words, other_cpus, monkeypatch)
    if "--num-samples" in words:
        assert trials_of(draft.spec) == trials_of(elsewhere.spec), "cores decide no trial"
    assert len({*trials_of(draft.spec)}) == len(draft.spec.configs)
    again = planned(shlex.split(plan_command(draft.spec))[2:], other_cpus, monkeypatch).spec
    assert trials_of(again) == trials_of(draft.spec)
    assert (again.rungs, again.budget) == (draft.spec.rungs, draft.spec.budget)
    check_rungs(draft.spec)
    check_rounds(draft)


def check_rungs(spec):
    """At each rung somebody waits with more to play; one that is left out is where all wait as at the next one."""
    for rung, following in itertools.pairwise(spec.rungs):
        assert all_wait(spec, rung) != all_wait(spec, following)
    asked = rungs(len(spec.configurations), spec.budget.limits[spec.budget.time_attr])
    for rung in {*asked} - {*spec.rungs}:
        following = min(kept for kept in spec.rungs if kept > rung)
        assert all_wait(spec, rung) == all_wait(spec, following)


def check_rounds(draft):
    """Each ends at its rung, and the last one where the last trial has played to its end."""
    spec = draft.spec
    played = []
    for config in spec.configs:
        iterations = waits(spec, config, spec.rungs[-1])
        played.append(iterations * steps_of_an_iteration(config) if spec.timesteps else iterations)
    assert [each.end for each in draft.rounds] == [*spec.rungs[:-1], min(spec.rungs[-1], max(played))]
    assert draft.rounds[0].trials == len(spec.configs)


def check_fork(rng, monkeypatch, storage):
    """Trials start where their own checkpoint stands, and the time of a round is that of what they play in it."""
    count, cpus = rng.randint(2, 9), rng.choice([1, 2, 8])
    settings = {"slots": 1, "segment_length": 100, "num_workers": 1, "hidden_size": 5}
    trials = [(settings | {"seed": seed}, [-20] * 9, None) for seed in range(count)]
    for trial in trial_folders(write_experiment(storage, "org", "pg", trials)):
        write_policies(trial, "pg", {rng.randint(1, 9): -20})
    words = ["--fork", "org", "--storage-path", str(storage), "--timesteps", str(rng.randint(10, 60) * 1000)]
    draft = planned(words, cpus, monkeypatch)
    spec = draft.spec
    starts = [trial.checkpoints.best.steps for trial in draft.origin]
    capacity = Capacity.of(PG, draft.configs[0], ClusterResources((cpus,)))
    before = 0
    for each in draft.rounds:
        iterations = 0
        for config, start in zip(spec.configs, starts, strict=True):
            iterations += waits(spec, config, each.end, start) - waits(spec, config, before, start)
        (alone,) = capacity.rounds(each.trials, [0, steps_of_an_iteration(spec.configs[0]) * iterations / count])
        assert each.seconds == pytest.approx(alone.seconds)
        assert each.end > max(starts), "nobody waits at once"
        before = each.end


@pytest.mark.usefixtures("four_cpus", "one_parser")
@pytest.mark.timeout(60 * FUZZ_MINUTES + 300)
def test_a_plan_is_the_same_on_any_machine_and_its_rungs_are_those_where_somebody_waits(monkeypatch, tmp_path):
    for seed, rng in generators(40):
        try:
            check(rng, monkeypatch)
            if seed % 4 == 0:
                check_fork(rng, monkeypatch, tmp_path / str(seed))
        except BaseException as error:
            error.add_note(f"case {seed}")
            raise
