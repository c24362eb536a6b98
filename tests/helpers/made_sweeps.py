"""Sweeps made by chance and played by the rules, as the files of an experiment."""

import dataclasses
import json
import math

from tests.helpers.written_experiments import forked_from, rows, write_checkpoint, write_experiment, write_rows

ITERATIONS = 6
"""Of a trial that plays to its end."""
NEVER = math.inf


@dataclasses.dataclass
class Trial:
    """What is drawn of a trial, and how far it has come."""

    number: int
    config: dict
    returns: list = dataclasses.field(default_factory=list)
    start: int = 0
    """Iterations that it has of its origin, if it is a fork."""
    diverges: float = NEVER
    fails: float = NEVER
    """At which iteration."""
    played: int = 0
    plays: bool = True
    dropped: bool = False
    """Whether a decision left it behind."""
    failed: bool = False

    def play_to(self, end):
        """Play, if it still does, to an iteration, or to the one where it diverges or fails."""
        if not self.plays:
            return
        self.played = end
        if self.diverges <= end:
            self.played = self.diverges
            self.plays = False
        if self.fails <= end:
            self.played = self.fails - 1
            self.plays = False
            self.failed = True


class Sweep:
    """Up to 9 configurations and 3 seeds of each, halved or not, played by the rules for 6 iterations."""

    def __init__(self, rng):
        self.halved = rng.random() < 0.8
        self.seeds = rng.choice([1, 1, 2, 3])
        self.configurations = self.drawn(rng)
        """The trials of each configuration, as the sweep knows them: without seeds each trial is one."""
        self.trials = [trial for trials in self.configurations for trial in trials]
        self.forked = False
        self.draw_fates(rng)
        self.rungs = [ITERATIONS]
        if self.halved:
            self.rungs = [*rng.choice([[], [4], [3, 5]] if self.forked else [[], [2], [1, 3]]), ITERATIONS]
        self.decisions = []
        self.early = self.halved and rng.random() < 0.1
        """Whether time is up before the end."""
        self.play(rng)

    def drawn(self, rng):
        """The trials of each configuration: with seeds no two have equal settings, without they may be twins."""
        settings = []
        for _ in range(9):
            rate, workers = rng.choice([1e-3, 2e-3, 3e-3]), rng.choice([1, 2])
            settings.append({"learning_rate": rate, "num_workers": workers})
        settings = settings[: rng.randint(1, 9)]
        if self.seeds > 1:
            by_rate = {}
            for each in settings:
                by_rate[each["learning_rate"]] = each
            settings = [*by_rate.values()]
        configurations = []
        for index, each in enumerate(settings):
            trials = []
            for seed in range(self.seeds):
                config = each | {"seed": seed if self.seeds > 1 else index}
                trials.append(Trial(index * self.seeds + seed, config))
            configurations.append(trials)
        return configurations

    def draw_fates(self, rng):
        """What each trial returns, where it starts, and whether something befalls it."""
        for trial in self.trials:
            for _ in range(ITERATIONS):
                trial.returns.append(float(rng.randint(-21, 21)))
        self.forked = rng.random() < 0.3
        if self.forked:
            for trial in self.trials:
                trial.start = trial.played = rng.choice([1, 2])
        for trial in self.trials:
            if rng.random() < 0.2:
                when = rng.randint(trial.start + 1, ITERATIONS)
                setattr(trial, rng.choice(["diverges", "fails"]), when)

    def play(self, rng):
        for index, rung in enumerate(self.rungs[:-1]):
            time_for = rng.choice([9, 9, 2, 1])
            best = max(1, len(self.configurations) // 3 ** (index + 1))
            if self.early or not self.decide(rung, best, time_for):
                break
            self.early = rng.random() < 0.3
        if self.early:
            self.play_until_time_is_up(rng)
        else:
            self.play_to(ITERATIONS)

    def play_to(self, end):
        for trial in self.trials:
            trial.play_to(end)

    def play_until_time_is_up(self, rng):
        """Each trial comes somewhere in the round that is on; where they play at once, all can come to its end."""
        rung = self.decisions[-1]["at"] if self.decisions else 0
        end = min(later for later in self.rungs if later > rung)
        for trial in self.trials:
            if trial.plays:
                trial.play_to(rng.randint(max(rung, trial.start), end))

    def decide(self, rung, count, time_for):
        """Let all play to a rung, and the best go on that there is time for; whether somebody could be compared."""
        self.play_to(rung)
        scores = self.scores_at(rung)
        ranked = []
        for index, trials in enumerate(self.configurations):
            compared = [trial.number for trial in trials if scores[trial.number] is not None]
            if compared:
                ranked.append((-mean([scores[number] for number in compared]), index, compared))
        if not ranked:
            return False
        kept, left_out = [], []
        for place, (_, _, compared) in enumerate(sorted(ranked)[:count]):
            if place < time_for:
                kept += compared
            else:
                left_out += compared
        self.decisions.append({"at": rung, "scores": scores, "kept": kept, "left_out": left_out, "rule": "mean"})
        for trial in self.trials:
            if trial.number not in kept:
                trial.dropped = True
                trial.plays = False
        return True

    def scores_at(self, rung):
        """What each trial counts there; one that diverged is the worst beside a seed that plays, and else nothing."""
        scores = [None] * len(self.trials)
        for trials in self.configurations:
            if not any(trial.plays for trial in trials):
                continue
            for trial in trials:
                if trial.plays:
                    scores[trial.number] = trial.returns[rung - 1]
                elif trial.diverges <= rung and not trial.dropped:
                    scores[trial.number] = -21.0
        return scores


def mean(values):
    return math.fsum(values) / len(values)


def write_sweep(rng, storage, name):
    """The folder of a sweep; some are forks, or were extended."""
    sweep = Sweep(rng)
    trials = []
    for trial in sweep.trials:
        ending = "RuntimeError: no luck" if trial.failed else "running"
        trials.append((trial.config, trial.returns[: trial.played], ending))
    folder = write_experiment(storage, name, "pg", trials, iterations=ITERATIONS, **record_of(sweep, rng))
    if sweep.decisions:
        (folder / "rungs.json").write_text(json.dumps(sweep.decisions))
    for trial, path in zip(sweep.trials, sorted(folder.glob("0*")), strict=True):
        played = rows(path)[trial.start :]
        if trial.played == trial.diverges:
            played[-1] |= {"episode_score": -21.0, "diverged": 1.0, "done": True}
        elif trial.played == ITERATIONS:
            played[-1]["done"] = True
        if trial.played == ITERATIONS:
            write_checkpoint(path, "pg", ITERATIONS, 0.0, 1)
        write_rows(path, played)
    return folder


def record_of(sweep, rng):
    """What ``experiment.json`` says of a sweep."""
    record = {"scheduler": "fifo", "ended": "time budget" if sweep.early else "all done"}
    if sweep.halved:
        record |= {"scheduler": "halving", "rungs": sweep.rungs}
    if sweep.seeds > 1:
        record["configuration_of"] = [trial.number // sweep.seeds for trial in sweep.trials]
    if sweep.forked:
        starts = [({"learning_rate": 9e-3}, trial.start) for trial in sweep.trials]
        record["fork_of"] = forked_from("org", *starts)
    if rng.random() < 0.2:
        record["extended"] = [{"iterations": 3}]
    return record
