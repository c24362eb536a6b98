"""What a program prints when its experiment has ended."""

import shlex
import sys
from pathlib import Path

from experiments.ask.command_line import neighbour
from experiments.read import policies
from experiments.read.configurations import best_configurations, varied
from experiments.read.experiments import Experiment, read_experiment
from experiments.read.next_command import watch_command
from experiments.record.folders import WINNER_FILM, display
from experiments.show.halving import rung_table, seeds_in_words, winner_lines
from experiments.show.table import print_table, without
from experiments.show.tables import configuration_table, trial_table
from experiments.show.text import line, say
from trainables.texts import printable


def summarise(folder: Path) -> int:
    """Print the table of trials, the best one, and the commands that look at them.

    All of it is read from the experiment's folder, where nothing is unpickled. Returns the program's exit status: 1 if
    a trial failed, else 0.
    """
    experiment = read_experiment(folder, running=False)  # this program holds the lock, but runs it no longer
    print_table(without(trial_table(experiment.trials), "experiment", "steps/s", "best", "area"))
    line()
    found = winner_lines(experiment)
    if experiment.spec.configuration_of:
        _show_seeds(experiment, compared=bool(found))
    if found:
        print_table(rung_table(experiment))
        line()
        for text in found:
            say(text)
    if best := experiment.best:
        if not found:
            if len(experiment.spec.rungs or []) > 1:
                line("Not all trials came to the first rung, so they are not compared at equal steps yet.")
            line(f"Best trial: {best.name}, mean return of its last 100 games {best.last:.1f}")
        if checkpoints := policies.of_trial(best.folder):
            line(f"Checkpoint: {display(checkpoints[-1].folder)}")
    failed = [trial for trial in experiment.trials if trial.state == "failed"]
    for trial in failed:
        print(printable(f"Failed: {trial.name}: {trial.error}"), file=sys.stderr)
    where = shlex.quote(display(folder))
    line()
    line(f"Look:    tensorboard --logdir {where}")
    line(f"Report:  {neighbour('results.py')} report {where}")
    line(f"Play:    {watch_command(folder, experiment.learner)}")
    if (folder / WINNER_FILM).is_file():
        line(f"Film:    {display(folder / WINNER_FILM)}")
    return 1 if failed else 0


def _show_seeds(experiment: Experiment, compared: bool) -> None:
    """Print each configuration's mean over its seeds; and the best one, unless they were ``compared`` at rungs."""
    found = best_configurations(experiment, len(experiment.trials))
    labels = [configuration.label(varied(found)) for configuration in found]
    print_table(without(configuration_table(found, labels), "learner"))
    line()
    if found and not compared:
        if len(found) > 1:
            line(f"Best configuration, by the mean of its seeds: {labels[0]}")
        say(seeds_in_words(found[0].trials))
