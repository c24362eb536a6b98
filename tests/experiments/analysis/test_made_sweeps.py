"""Sweeps made by chance, against a slow and obvious definition: plain loops over what the files say.

There are twins (trials that drew equal settings), seeds, forks of trials that stood apart, extensions, trials that
diverged or failed, and time budgets that left configurations out at a rung, or ended the sweep anywhere.
``FUZZ_MINUTES=10 pytest`` with this file makes new ones for ten minutes.
"""

import json
import math
import shutil
from collections import Counter

import pytest

from experiments.analysis.comparison import compare
from experiments.analysis.configurations import best_configurations, by_configuration
from experiments.analysis.contradictions import contradictions
from experiments.analysis.luck import confirmations, lead
from experiments.analysis.next_command import best_command
from experiments.ask.flags import RunFlags
from experiments.disk.experiments import read_experiment
from experiments.plan.learners import PG
from experiments.plan.resources import ClusterResources
from experiments.run.confirmation import fresh_seeds
from experiments.show.tables import configuration_table
from tests.helpers.made import FUZZ_MINUTES, generators
from tests.helpers.written_experiments import forked_from, write_checkpoint, write_experiment
from trainables.checks import ConfigError

SPEED_ONLY = ("num_workers", "cpus_per_worker", "placement", "game_timeout_s")


class Sweep:
    """Up to 9 configurations and 3 seeds of each, halved or not, played by the rules for 6 iterations."""

    def __init__(self, rng):
        self.halved, seeds = rng.random() < 0.8, rng.choice([1, 1, 2, 3])
        settings = [
            {"learning_rate": rng.choice([1e-3, 2e-3, 3e-3]), "num_workers": rng.choice([1, 2])} for _ in range(9)
        ]
        settings = settings[: rng.randint(1, 9)]
        if seeds > 1:
            settings = [*{each["learning_rate"]: each for each in settings}.values()]
        of = [(each, seed + (0 if seeds > 1 else i)) for i, each in enumerate(settings) for seed in range(seeds)]
        self.configs = [each | {"seed": seed} for each, seed in of]
        self.units = [[*range(seeds * i, seeds * (i + 1))] for i in range(len(settings))]
        self.configuration_of = [i for i, unit in enumerate(self.units) for _ in unit] if seeds > 1 else None
        count = len(self.configs)
        self.returns = [[float(rng.randint(-21, 21)) for _ in range(6)] for _ in range(count)]
        self.forked = rng.random() < 0.3
        self.start = [rng.choice([1, 2]) if self.forked else 0 for _ in range(count)]  # iterations of its origin
        self.diverges, self.fails = {}, {}  # at which iteration
        for trial in range(count):
            if rng.random() < 0.2:
                rng.choice([self.diverges, self.fails])[trial] = rng.randint(self.start[trial] + 1, 6)
        between = [[], [4], [3, 5]] if self.forked else [[], [2], [1, 3]]
        self.rungs = [*rng.choice(between), 6] if self.halved else [6]
        self.played, self.alive, self.dropped, self.decisions = [*self.start], {*range(count)}, set(), []
        self.early, self.failed = self.halved and rng.random() < 0.1, set()
        for index, rung in enumerate(self.rungs[:-1]):
            time_for = rng.choice([9, 9, 2, 1])
            if self.early or not self.decide(rung, max(1, len(self.units) // 3 ** (index + 1)), time_for):
                break
            self.early = rng.random() < 0.3
        if self.early:
            self.play_on_until_time_is_up(rng)
        else:
            self.play_to(6)

    def play_on_until_time_is_up(self, rng):
        """Each trial comes somewhere in the round that is on; where they play at once, all can come to its end."""
        rung = self.decisions[-1]["at"] if self.decisions else 0
        end = min(later for later in self.rungs if later > rung)
        for trial in sorted(self.alive):
            self.play_to(rng.randint(max(rung, self.start[trial]), end), {trial})

    def play_to(self, end, some=None):
        for trial in sorted(self.alive if some is None else some):
            last = self.diverges.get(trial, self.fails.get(trial, math.inf))
            self.played[trial] = end if last > end else last - (trial in self.fails)
            if last <= end:
                self.alive.remove(trial)
                self.failed |= {trial} & self.fails.keys()

    def decide(self, rung, count, time_for):
        """Let all play to a rung, and the best go on that there is time for; whether somebody could be compared."""
        self.play_to(rung)
        scores = [None] * len(self.configs)
        for unit in self.units:
            for trial in {*unit} & self.alive:
                scores[trial] = self.returns[trial][rung - 1]
            if any(scores[trial] is not None for trial in unit):
                for trial in {*unit} - self.dropped:
                    if self.diverges.get(trial, math.inf) <= rung:
                        scores[trial] = -21.0
        means = []
        for i, unit in enumerate(self.units):
            if found := [scores[trial] for trial in unit if scores[trial] is not None]:
                means.append((-math.fsum(found) / len(found), i))
        if not means:
            return False
        kept, left_out = [], []
        for place, (_, i) in enumerate(sorted(means)[:count]):
            (kept if place < time_for else left_out).extend(t for t in self.units[i] if scores[t] is not None)
        decision = {"at": rung, "scores": scores, "kept": kept, "left_out": left_out, "rule": "mean"}
        self.decisions.append(decision)
        self.dropped = {*range(len(self.configs))} - {*kept}
        self.alive &= {*kept}
        return True


def write_sweep(rng, storage, name):
    """The folder of a sweep; some are forks, or were extended."""
    sweep = Sweep(rng)
    record = {"configuration_of": sweep.configuration_of, "ended": "time budget" if sweep.early else "all done"}
    record |= {"scheduler": "halving", "rungs": sweep.rungs} if sweep.halved else {"scheduler": "fifo"}
    if sweep.forked:
        record["fork_of"] = forked_from("org", *[({"learning_rate": 9e-3}, start) for start in sweep.start])
    if rng.random() < 0.2:
        record["extended"] = [{"iterations": 3}]
    trials = []
    for trial, config in enumerate(sweep.configs):
        ending = "RuntimeError: no luck" if trial in sweep.failed else "running"
        trials.append((config, sweep.returns[trial][: sweep.played[trial]], ending))
    folder = write_experiment(storage, name, "pg", trials, iterations=6, **record)
    if sweep.decisions:
        (folder / "rungs.json").write_text(json.dumps(sweep.decisions))
    for trial, path in enumerate(sorted(folder.glob("0*"))):
        rows = rows_of(path)[sweep.start[trial] :]
        if sweep.diverges.get(trial) == sweep.played[trial]:
            rows[-1] |= {"episode_score": -21.0, "diverged": 1.0, "done": True}
        elif sweep.played[trial] == 6:
            rows[-1] |= {"done": True}
        if sweep.played[trial] == 6:
            write_checkpoint(path, "pg", 6, 0.0, 1)
        (path / "result.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def rows_of(trial):
    return [json.loads(line) for line in (trial / "result.json").read_text().splitlines()]


def return_at(trial, steps):
    """Of windows that are iterations: the mean return of the games there, or what it counts since it diverged."""
    rows = rows_of(trial)
    if rows[-1].get("diverged") and rows[-1]["timesteps_total"] < steps:
        return -21.0
    return next((row["episode_reward_batch_mean"] for row in rows if row["timesteps_total"] == steps), None)


def obvious(folders):
    """By configuration: the score, the seeds that it is of, and the seeds that were stopped before these.

    Of the former also where the first and the last one ended.
    """
    groups = {}
    for folder in folders:
        spec = json.loads((folder / "experiment.json").read_text())
        decisions = json.loads((folder / "rungs.json").read_text()) if (folder / "rungs.json").exists() else []
        for number, path in enumerate(sorted(folder.glob("0*"))):
            config = json.loads((path / "params.json").read_text())
            rows = rows_of(path)
            key = str(sorted((k, v) for k, v in config.items() if k not in ("seed", *SPEED_ONLY)))
            starts = [start["steps"] for start in spec["fork_of"]["starts"]] if spec["fork_of"] else []
            of = spec["configuration_of"] or range(len(spec["configs"]))
            key += str(sorted({start for start, other in zip(starts, of, strict=False) if other == of[number]}))
            seed = config["seed"], *starts[number : number + 1]
            iterations = rows[-1]["training_iteration"] if rows else 0
            end = next((each["at"] for each in decisions if number not in each["kept"]), math.inf)
            failed = (path / "error.txt").exists()
            score = rows[-1]["episode_score"] if rows else None
            run = groups.setdefault(key, {})
            if seed not in run or iterations > run[seed][0]:
                run[seed] = iterations, end, failed, score
    found = []
    for run in groups.values():
        furthest = max(end for _, end, _, _ in run.values())
        there = {seed: each for seed, each in run.items() if each[1] == furthest or each[2]}
        stopped = sorted(seed for seed, *_ in run.keys() - there.keys())
        scored = {seed: score for seed, (_, _, failed, score) in there.items() if score is not None and not failed}
        if not scored:  # only failed ones have results
            scored = {seed: score for seed, (_, _, _, score) in there.items() if score is not None}
        if scored:
            ends = [1000 * there[seed][0] for seed in scored]
            mean = round(math.fsum(scored.values()) / len(scored), 9)
            found.append((mean, sorted(seed for seed, *_ in scored), stopped, min(ends), max(ends)))
    return Counter(map(str, found))


def check(rng, storage):
    folders = [write_sweep(rng, storage, f"sweep{i}") for i in range(rng.randint(1, 3))]
    experiments = [read_experiment(folder) for folder in folders]
    assert [contradictions(each) for each in experiments] == [[]] * len(experiments)
    for several in ([experiments[0]], experiments):
        found = [c for c in by_configuration(several) if len(c.scores)]
        shown = configuration_table(found, [c.label([]) for c in found])
        ends = [[int(end.replace(",", "")) for end in row["steps"].split(" to ")] for row in shown]
        have = [
            (round(c.score, 9), sorted(t.seed for t in c.judged_by), sorted(t.seed for t in c.stopped), end[0], end[-1])
            for c, end in zip(found, ends, strict=True)
        ]
        assert Counter(map(str, have)) == obvious([each.folder for each in several])
        counts = [(row["mean of last"], row["random seeds"].count("stopped earlier")) for row in shown]
        means = [f"{c.score:,.1f}".replace("-", "\N{MINUS SIGN}") for c in found]
        assert [mean for mean, _ in counts] in (means, [mean.replace("\N{MINUS SIGN}", "-") for mean in means])
        assert [count for _, count in counts] == [bool(c.stopped) for c in found]
    sweep = experiments[0]
    check_lead(sweep)
    if not (best := best_configurations(sweep, 9)):
        return
    there = [c for c in best if any(trial.rung == sweep.leader.rung for trial in c.trials)]
    if sweep.leader.at is None:
        alive = [c for c in there if any(trial.state != "failed" for trial in c.judged_by)] or there
        assert best[0].score == max(c.score for c in alive), "of those that went furthest the best mean is best"
    command = best_command(sweep)[1]
    assert command["config"]["seed"] in {t.seed for t in best[0].judged_by if t.last == max(best[0].scores)}
    assert (command["score"], sorted(command["seeds"])) == (best[0].score, sorted(best[0].seeds))
    again = fresh_seeds(PG, RunFlags(), sweep, 2, 2, ClusterResources((8,))).spec
    assert not {config["seed"] for config in again.configs} & {trial.seed for trial in sweep.trials}
    assert [c["learning_rate"] for c in again.configs] == [
        c.config["learning_rate"] for c in best[:2] for _ in range(2)
    ]
    check_confirmation(rng, sweep, again, storage)
    check_comparison(experiments)


def check_confirmation(rng, sweep, again, storage):
    """Where the first of the chosen trials ended that did not diverge, never where a twin was stopped."""
    trials = [(config, [float(rng.randint(-21, 21)) for _ in range(6)], None) for config in again.configs]
    record = {"iterations": 6, "confirms": sweep.name, "configuration_of": again.configuration_of}
    confirm = write_experiment(storage, f"{sweep.name}-confirm", "pg", trials, **record)
    for found in confirmations(sweep, read_experiment(confirm)):
        rows = [rows_of(trial.folder) for trial in found.chosen.judged_by]
        lasts = [each[-1]["training_iteration"] for each in rows if "diverged" not in each[-1]]
        assert found.end == min(lasts, default=max(each[-1]["training_iteration"] for each in rows))
        before = [[row for row in each if row["training_iteration"] <= found.end] for each in rows]
        scores = [each[-1]["episode_score"] for each in before]
        assert found.sweep == pytest.approx(sum(scores) / len(scores))
        rate = found.chosen.config["learning_rate"]
        assert {*found.fresh} <= {returns[found.end - 1] for c, returns, _ in trials if c["learning_rate"] == rate}


def check_lead(sweep):
    """Where a rung compared the best last, every score there is that of what halving treated as one."""
    found = lead(sweep)
    decision = next((each for each in sweep.decisions if found and each.at == found.best.at), None)
    if not decision:
        return
    means = {}
    for index, unit in enumerate(sweep.spec.configurations):
        scores = [decision.scores[trial] for trial in unit if decision.scores[trial] is not None]
        if scores:
            means[index] = math.fsum(scores) / len(scores)
    ours = [index for index, unit in enumerate(sweep.spec.configurations) if {*unit} & {*sweep.leader.numbers}]
    best = max(mean for index, mean in means.items() if index in ours)
    second = max(mean for index, mean in means.items() if index not in ours)
    assert (found.best.among, found.best.score, found.next.score) == (len(means), best, second)


def check_comparison(experiments):
    try:
        found = compare([[each] for each in experiments], window=1000, best=1)
    except ConfigError:  # too few, or nothing in common
        return
    for side, each in zip(found.sides, experiments, strict=True):
        trials = [trial for trial in by_configuration([each])[0].trials if trial.rows]
        there = {trial.seed: return_at(trial.folder, found.steps) for trial in trials}
        assert side.at(found.steps) == {seed: value for seed, value in there.items() if value is not None}


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
