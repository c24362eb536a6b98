"""Iterations of an experiment played again: are they, bit for bit, what was recorded?"""

import random
import time
from collections.abc import Sequence

from experiments.ask.words import duration
from experiments.plan.learners import learner_named
from experiments.read.experiments import Experiment
from experiments.read.policies import load
from experiments.read.recomputed import compare_arrays, compare_rows, compare_states
from experiments.read.stretches import Stretch, kept
from experiments.record.provenance import changes_since
from experiments.run.recomputing import Player, player, require_workers
from experiments.show.text import line
from trainables.checks import ConfigError


def verify(experiment: Experiment, iterations: int, seed: int, num_workers: int) -> bool:
    """Play ``iterations`` random ones again (0: all that can be), and print what was found; True if all is the same.

    Raises ConfigError if there is nothing to play again, or nobody to play it.
    """
    require_workers(num_workers)
    found = [kept(experiment, trial) for trial in experiment.trials]
    wrong = [f"{each.trial.name}: {text}" for each in found for text in each.wrong]
    for text in (f"{each.trial.name}: {text}" for each in found for text in each.notes):
        line(f"Not verified: {text}")
    changes = changes_since(experiment.spec.origin.model_dump())
    if changes:
        line(f"Made by something else than runs here: {', '.join(changes)}")
    for text in wrong:
        line(f"Different: {text}")
    if wrong:
        return False
    everything = [stretch for each in found for stretch in each.stretches]
    chosen = draw(everything, iterations, seed)
    if not chosen:
        raise ConfigError(f"{experiment.name} has no iteration that can be played again")
    count, whole = (sum(len(stretch.rows) for stretch in some) for some in (chosen, everything))
    line(
        f"Playing {count} of {whole} iterations again with {num_workers} workers: about"
        f" {duration(seconds(chosen, num_workers))}, by what they took (--seed {seed} draws the same ones)"
    )
    with player(learner_named(experiment.learner), num_workers) as again:
        for number, stretch in enumerate(chosen, 1):
            if difference := _play(again, stretch, f"[{number}/{len(chosen)}]"):
                line(f"Different: {stretch.trial.name}, {difference}")
                line(f"Possible reason: {', '.join(changes)}" if changes else "Code and libraries are the same ones.")
                return False
    arrays = sum(bool(stretch.end) for stretch in chosen)
    line(f"The same, bit for bit: {count} rows, and the arrays of {arrays} checkpoints at which they end")
    return True


def draw(stretches: Sequence[Stretch], iterations: int, seed: int) -> list[Stretch]:
    """Stretches of so many iterations in all (0: all), drawn at random, in the order of trials and iterations.

    The last one that is drawn may be cut off: then it does not come to its end's arrays.
    """
    order, left = list(range(len(stretches))), iterations or sum(len(stretch.rows) for stretch in stretches)
    random.Random(seed).shuffle(order)
    chosen = {}
    for index in order:
        if left > 0:
            chosen[index] = stretches[index].first(left)
            left -= len(chosen[index].rows)
    return [chosen[index] for index in sorted(chosen)]


def seconds(stretches: Sequence[Stretch], num_workers: int) -> float:
    """What these stretches will take, by what they took with the workers that they had."""
    rows = [row for stretch in stretches for row in stretch.rows]
    return sum(row.get("time_this_iter_s", 0.0) * row.get("perf/workers", 1.0) for row in rows) / num_workers


def _play(again: Player, stretch: Stretch, number: str) -> str | None:
    """Play a stretch; print that it is the same, or return the first difference."""
    began, trial = time.monotonic(), again.begin(stretch.start)
    recorded = {row["training_iteration"]: row for row in stretch.rows}
    last = stretch.end.iteration if stretch.end else max(recorded)
    for iteration in range(stretch.start.iteration + 1, last + 1):
        row = trial.train()
        if iteration in recorded and (difference := compare_rows(trial.learner, recorded[iteration], row)):
            return f"iteration {iteration}, {difference}  (from {stretch.start})"
    if stretch.end and stretch.end.folder:
        arrays, state = load(stretch.end.folder, trial.settings, trial.learner)
        now = {
            "iteration": trial.iterations,
            "episodes": trial.episodes.model_dump(),
            "evaluation": trial.last_evaluation,
        }
        difference = compare_arrays(arrays, trial.checkpoint_arrays) or compare_states(state.model_dump(), now)
        if difference:
            return f"iteration {last}, {stretch.end}, {difference}  (from {stretch.start})"
    what = f"rows, and the arrays of {stretch.end}" if stretch.end else "rows"
    first = stretch.start.iteration + 1
    which = f"iteration {last}" if first == last else f"iterations {first} to {last}"
    taken = duration(time.monotonic() - began)
    line(f"{number} {stretch.trial.name}, {which} from {stretch.start}: the same {what} ({taken})")
    return None
