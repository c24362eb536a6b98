"""Sweeps made by chance, against a slow and obvious definition: plain loops over what the files say.

There are twins (trials that drew equal settings), seeds, forks of trials that stood apart, extensions, trials that
diverged or failed, and time budgets that left configurations out at a rung, or ended the sweep anywhere.
``FUZZ_MINUTES=10 pytest`` with this file makes new ones for ten minutes.
"""

import dataclasses
import json
import shutil

import pytest

from experiments.analysis.comparison import compare
from experiments.analysis.configurations import best_configurations, by_configuration
from experiments.analysis.contradictions import contradictions
from experiments.analysis.luck import confirmations, lead
from experiments.analysis.next_command import best_command
from experiments.ask.flags import RunFlags
from experiments.disk.experiments import read_experiment
from experiments.plan.identity import decisive
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.run.confirmation import fresh_seeds
from experiments.show.tables import configuration_table
from tests.helpers.made import FUZZ_MINUTES, generators
from tests.helpers.made_sweeps import NEVER, mean, write_sweep
from tests.helpers.written_experiments import rows, write_experiment
from trainables.checks import ConfigError

SPEED_ONLY = ("num_workers", "cpus_per_worker", "placement", "game_timeout_s")
"""Settings that change no result."""


# What there is to say of it, by plain loops over its files


@dataclasses.dataclass
class Run:
    """What a trial's files say. Two with the same key are seeds of one configuration."""

    key: str
    seed: int
    start: int | None
    """The steps of its origin, if it is a fork."""
    iterations: int
    score: float | None
    dropped_at: float
    failed: bool


def runs_in(folder):
    spec = json.loads((folder / "experiment.json").read_text())
    decisions = []
    if (folder / "rungs.json").exists():
        decisions = json.loads((folder / "rungs.json").read_text())
    for number, path in enumerate(sorted(folder.glob("0*"))):
        config = json.loads((path / "params.json").read_text())
        played = rows(path)
        run = Run(key_of(spec, number, config), config["seed"], None, 0, None, NEVER, (path / "error.txt").exists())
        if spec["fork_of"]:
            run.start = spec["fork_of"]["starts"][number]["steps"]
        if played:
            run.iterations, run.score = played[-1]["training_iteration"], played[-1]["episode_score"]
        for decision in reversed(decisions):
            if number not in decision["kept"]:
                run.dropped_at = decision["at"]
        yield run


def key_of(spec, number, config):
    """A configuration: the settings that change results, and where its trials were forked."""
    settings = {}
    for name, value in config.items():
        if name != "seed" and name not in SPEED_ONLY:
            settings[name] = value
    starts = set()
    if spec["fork_of"]:
        of = spec["configuration_of"] or range(len(spec["configs"]))
        for other, start in enumerate(spec["fork_of"]["starts"]):
            if of[other] == of[number]:
                starts.add(start["steps"])
    return str((sorted(settings.items()), sorted(starts)))


def obvious(folders):
    """Of each configuration that has results: what is said of it."""
    configurations = {}
    for folder in folders:
        for run in runs_in(folder):
            seeds = configurations.setdefault(run.key, {})
            other = seeds.get((run.seed, run.start))
            if other is None or run.iterations > other.iterations:
                seeds[run.seed, run.start] = run
    found = []
    for seeds in configurations.values():
        said = said_of([*seeds.values()])
        if said:
            found.append(said)
    return sorted(found)


def said_of(runs):
    """The score, the seeds that it is of, the seeds that were stopped before; where the first and the last one ended.

    A configuration is judged by the runs that halving kept longest; by failed ones where no others have results.
    """
    furthest = max(run.dropped_at for run in runs)
    judged_by, failed, stopped = [], [], []
    for run in runs:
        if run.dropped_at != furthest and not run.failed:
            stopped.append(run)
        elif run.score is not None:
            (failed if run.failed else judged_by).append(run)
    judged_by = judged_by or failed
    if not judged_by:
        return None
    score = round(mean([run.score for run in judged_by]), 9)
    ends = sorted(1000 * run.iterations for run in judged_by)
    return score, seeds_of(judged_by), seeds_of(stopped), ends[0], ends[-1]


def seeds_of(trials):
    return sorted(trial.seed for trial in trials)


# Ours says the same


def check(rng, storage):
    folders = [write_sweep(rng, storage, f"sweep{index}") for index in range(rng.randint(1, 3))]
    experiments = [read_experiment(folder) for folder in folders]
    for each in experiments:
        assert contradictions(each) == []
    sweep = experiments[0]
    check_configurations([sweep])
    check_configurations(experiments)
    check_lead(sweep)
    best = best_configurations(sweep, 9)
    if best:
        check_best(sweep, best)
        check_confirmation(rng, sweep, best, storage)
        check_comparison(experiments)


def check_configurations(experiments):
    """The table shows what the definition says, with the mean and a note of those that were stopped earlier."""
    found = [each for each in by_configuration(experiments) if len(each.scores)]
    shown = configuration_table(found, [each.label([]) for each in found])
    said = []
    for each, row in zip(found, shown, strict=True):
        ends = [int(end.replace(",", "")) for end in row["steps"].split(" to ")]
        said.append((round(each.score, 9), seeds_of(each.judged_by), seeds_of(each.stopped), ends[0], ends[-1]))
        assert row["mean of last"].replace("\N{MINUS SIGN}", "-") == f"{each.score:,.1f}"
        assert row["random seeds"].count("stopped earlier") == bool(each.stopped)
    assert sorted(said) == obvious([each.folder for each in experiments])


def check_lead(sweep):
    """Where a rung compared the best last, every score there is that of what halving treated as one."""
    found = lead(sweep)
    decision = None
    for each in sweep.decisions:
        if found and each.at == found.best.at:
            decision = each
    if not decision:
        return
    ours, others = [], []
    for trials in sweep.spec.configurations:
        scores = [decision.scores[trial] for trial in trials if decision.scores[trial] is not None]
        if scores:
            (ours if {*trials} & {*sweep.leader.numbers} else others).append(mean(scores))
    among = len(ours) + len(others)
    assert (found.best.among, found.best.score, found.next.score) == (among, max(ours), max(others))


def check_best(sweep, best):
    """Of those that went furthest the best mean is best, and its best seed is the one to go on with."""
    if sweep.leader.at is None:
        furthest = [each for each in best if any(trial.rung == sweep.leader.rung for trial in each.trials)]
        alive = [each for each in furthest if any(trial.state != "failed" for trial in each.judged_by)]
        assert best[0].score == max(each.score for each in alive or furthest)
    command = best_command(sweep)[1]
    best_seeds = {trial.seed for trial in best[0].judged_by if trial.last == max(best[0].scores)}
    assert command["config"]["seed"] in best_seeds
    assert (command["score"], sorted(command["seeds"])) == (best[0].score, sorted(best[0].seeds))


def check_confirmation(rng, sweep, best, storage):
    """The two best configurations play with seeds that the sweep had not, and are compared with it."""
    again = fresh_seeds(PG, RunFlags(), sweep, 2, 2, ClusterResources((8,))).spec
    settings = {decisive(each.config): each.config["learning_rate"] for each in best[:2]}
    rates = [rate for rate in settings.values() for _ in range(2)]
    assert [config["learning_rate"] for config in again.configs] == rates
    assert not {config["seed"] for config in again.configs} & {*seeds_of(sweep.trials)}
    trials, returned = [], {}
    for config in again.configs:
        returns = [float(rng.randint(-21, 21)) for _ in range(6)]
        trials.append((config, returns, None))
        returned.setdefault(config["learning_rate"], []).append(returns)
    record = {"iterations": 6, "confirms": sweep.name, "configuration_of": again.configuration_of}
    confirm = write_experiment(storage, f"{sweep.name}-confirm", "pg", trials, **record)
    for found in confirmations(sweep, read_experiment(confirm)):
        check_confirmed(found)
        fresh = returned[found.chosen.config["learning_rate"]]
        assert {*found.fresh} <= {returns[found.end - 1] for returns in fresh}


def check_confirmed(found):
    """Where the first of the chosen trials ended that did not diverge, never where a twin was stopped."""
    whole, diverged, scores = [], [], []
    for trial in found.chosen.judged_by:
        played = rows(trial.folder)
        ends = diverged if "diverged" in played[-1] else whole
        ends.append(played[-1]["training_iteration"])
        until_then = [row["episode_score"] for row in played if row["training_iteration"] <= found.end]
        scores.append(until_then[-1])
    if whole:
        assert found.end == min(whole)
    else:
        assert found.end == max(diverged)
    assert found.sweep == pytest.approx(mean(scores))


def check_comparison(experiments):
    """Of each side's best configuration, every seed's return where they are compared."""
    try:
        found = compare([[each] for each in experiments], window=1000, best=1)
    except ConfigError:  # too few, or nothing in common
        return
    for side, each in zip(found.sides, experiments, strict=True):
        there = {}
        for trial in by_configuration([each])[0].trials:
            value = return_at(trial.folder, found.steps)
            if value is not None:
                there[trial.seed] = value
        assert side.at(found.steps) == there


def return_at(trial, steps):
    """Of windows that are iterations: the mean return of the games there, or what it counts since it diverged."""
    played = rows(trial)
    if played and played[-1].get("diverged") and played[-1]["timesteps_total"] < steps:
        return -21.0
    for row in played:
        if row["timesteps_total"] == steps:
            return row["episode_reward_batch_mean"]
    return None


@pytest.mark.timeout(60 * FUZZ_MINUTES + 300)
def test_every_mean_is_of_the_trials_of_one_configuration_that_went_furthest(tmp_path):
    for seed, rng in generators(60):
        storage = tmp_path / str(seed)
        try:
            check(rng, storage)
        except Exception as error:
            error.add_note(f"case {seed} in {storage}")
            raise
        shutil.rmtree(storage)
