"""What an experiment found, in words: for the end of a program and for its report."""

import math
import sys
from collections.abc import Callable, Sequence

from experiments.analysis.configurations import best_configurations, varied
from experiments.analysis.luck import Lead, best_by_fresh_seeds, confirmations, lead, lead_over_baseline
from experiments.analysis.next_command import plan_command, watch_command, with_other_seeds
from experiments.analysis.rank_correlation import shown_order_says
from experiments.ask.budget import duration
from experiments.ask.command_line import installed, neighbour
from experiments.disk import saved_policies
from experiments.disk.decisions import RULE, Decision
from experiments.disk.experiments import Experiment, read_experiment
from experiments.disk.folders import WINNER_FILM, display
from experiments.disk.states import ExperimentState
from experiments.disk.trial import Trial
from experiments.plan.identity import SPEED_ONLY
from experiments.plan.trial_names import in_words, short
from experiments.show.durations import took, trained
from experiments.show.endings import ending, how_it_plays, last_games, seeds_in_words
from experiments.show.tables import (
    at_rung,
    configuration_table,
    confirmation_table,
    named,
    rung_table,
    trial_table,
)
from experiments.show.text import line, number, print_table, say, without
from trainables.checks import ConfigError
from trainables.texts import counted, printable


def winner_lines(experiment: Experiment, mark: Callable[[str], str] = str) -> list[str]:
    """Who won, how it plays, how sure that is, and whom time left out: a paragraph each. Empty before the first rung.

    ``mark`` makes of a text from a file what is shown of it.
    """
    best = experiment.best
    if best is None or not experiment.decisions:
        return []
    lines = [_who_leads(experiment, best, mark), how_it_plays(experiment, mark)]
    found = lead(experiment)
    worth = _worth(found, experiment, mark)
    if worth:
        lines.append(worth)
    if found:
        lines.append(_certainty(found, experiment, mark))
    for decision in experiment.decisions:
        if decision.left_out:
            lines.append(_left_out(decision, experiment))
    return lines


def _worth(found: Lead | None, experiment: Experiment, mark: Callable[[str], str]) -> str:
    """What the best is worth beside the baseline.

    Empty without one, where the two never met, and where the lead that was ``found`` is over the baseline itself.
    """
    if not experiment.leader or not experiment.baseline:
        return ""
    if {*experiment.baseline} & {*experiment.leader.numbers}:
        text = "Worth: it is the baseline."
        if found and found.points >= 0:  # Else nothing was compared with it, or what was ahead of it failed later.
            so_far = "" if experiment.winner else " so far"
            text += f" Nothing else that was tried is better than the preset's own settings{so_far}."
        return text
    over = lead_over_baseline(experiment)
    if not over or over == found:
        return ""
    text = f"Worth: {_where(over, experiment, mark)}"
    if over.points > 0:
        text += _luck(over)
    return text


def _who_leads(experiment: Experiment, best: Trial, mark: Callable[[str], str]) -> str:
    """The winner by its settings, or the leader and what is left to play."""
    who = best.name
    hidden = {*SPEED_ONLY}
    if experiment.joined:
        who = named(experiment.standings[0].numbers, experiment)
        hidden.add("seed")
    settings = []
    for name in experiment.spec.swept:
        if name in best.config and name not in hidden:
            settings.append(f"{name}={short(best.config[name])}")
    text = mark(who)
    if settings:
        text += f" with {mark(', '.join(settings))}"
    if experiment.winner:
        return f"Winner: {text}."
    if experiment.state == ExperimentState.TIME_IS_UP:
        return f"Leader: {text}."
    more = 0
    for standing in experiment.leading:
        for trial in standing.trials:
            more += not trial.played_out
    have = "trial has" if more == 1 else "trials have"
    return f"Leader: {text}. The sweep is not finished: {more} {have} more to play."


def _left_out(decision: Decision, experiment: Experiment) -> str:
    """Which trials time was too short for at a rung."""
    return f"For lack of time {in_words(decision.left_out)} did not go on at {at_rung(decision.at, experiment)}."


def time_is_up(experiment: Experiment) -> str:
    """What the end of the time budget has left out; empty unless it ended the experiment."""
    if experiment.state != ExperimentState.TIME_IS_UP:
        return ""
    spec = experiment.spec
    left = experiment.trials_to_play
    have = "has" if left == 1 else "have"
    text = f"Time is up (--time-budget-s {spec.time_budget_s:g}):"
    text += f" {counted(left, 'trial')} of {len(spec.configs)} {have} more to play"
    if len(spec.rungs or []) > 1 and not experiment.winner:
        text += ", and the winner's games are left out"
    return f"{text}; --resume goes on."


def play_command(experiment: Experiment) -> str:
    """The command that has the best policy play; empty where the best trial has no whole checkpoint."""
    if not saved_policies.of_experiment(experiment).newest:
        return ""
    return watch_command(experiment.folder, experiment.learner)


def whose_policy(experiment: Experiment, mark: Callable[[str], str] = str) -> str:
    """Says of a fork's best policy that it is still the origin's; empty if it is the fork's own, or there is none."""
    policy = saved_policies.of_experiment(experiment).best
    if policy is None:
        return ""
    for trial in experiment.trials:
        if policy.folder.parent == trial.folder and trial.began_with(policy):
            return (
                f"Its best policy is the one with which {mark(trial.name)} was forked, of iteration"
                f" {policy.iteration}: it has saved no better one of its own."
            )
    return ""


def plan_line(experiment: Experiment, mark: Callable[[str], str] = str) -> str:
    """The command that makes a halved sweep's plan again; empty if there is none."""
    if not experiment.decisions:
        return ""
    command = plan_command(experiment.spec)
    if not command:
        return ""
    return f"The same plan on any machine: {mark(command)}"


def _certainty(found: Lead, experiment: Experiment, mark: Callable[[str], str]) -> str:
    """By how much the best led where it was last compared, and how much of that can be luck."""
    text = f"How sure: {_where(found, experiment, mark)}"
    if found.points < 0:  # Those that were ahead of it failed later.
        return text
    text += _luck(found)
    if _several(found, experiment):
        text += " It was chosen for the luck of these seeds, too"
    else:
        text += " Each had one random seed, and its luck is larger still"
    if not experiment.has_ended:
        return f"{text}."
    what, command = with_other_seeds(experiment)
    return f"{text}; {what}: {mark(command)}"


def _several(found: Lead, experiment: Experiment) -> bool:
    """Whether configurations of several seeds were compared."""
    most = max(len(found.best.trials), len(found.next.trials))
    return most > 1 or experiment.spec.configuration_of is not None


def _where(found: Lead, experiment: Experiment, mark: Callable[[str], str]) -> str:
    """Where the best was compared with another one, and by how much it led."""
    what, other = "trials", found.next.best.name
    if _several(found, experiment):
        what, other = "configurations", named(found.next.numbers, experiment)
    at = found.best.at or 0
    compared = f"when {found.best.among} {what} were last compared, at {at_rung(at, experiment)}, it"
    decision = experiment.decision_at(at)
    if decision and not decision.ended_games(found.next.numbers):
        if decision.ended_games(found.best.numbers):
            return f"{compared} led {mark(other)}, of which no game had ended."
        return f"{compared} had ended no game, nor had {mark(other)}."
    if found.points < 0:
        behind = f"{-found.points:.{found.digits}f} points behind"
        return f"{compared} was {behind} {mark(other)}, which failed later."
    return f"{compared} led {mark(other)} by {found.points:.{found.digits}f} points."


def _luck(found: Lead) -> str:
    """How much of a lead can be luck; empty where nothing says so."""
    if found.seeds:
        told = "which is more than the luck of seeds" if found.seeds.low > 0 else "so the two cannot be told apart"
        return (
            f" The means over their seeds differ by {found.seeds.low:.1f} to {found.seeds.high:.1f} with 95%, {told}."
        )
    luck = number(found.games, found.digits)
    if luck:
        than = "more" if found.points > found.games else "no more"
        return f" That is {than} than the luck of the games alone, up to {luck} with 95%."
    return ""


def summarise(experiment: Experiment) -> None:
    """Print the table of trials, the best one, how long all took, and the commands that look at them."""
    left_out = ["experiment", "workers", "steps/s", "best"]
    if experiment.spec.timesteps:
        left_out.append("iterations")
    print_table(without(trial_table(experiment.trials), *left_out))
    line()
    ended = time_is_up(experiment)
    if ended:
        say(ended)
    found = winner_lines(experiment)
    if experiment.joined:
        _show_seeds(experiment, compared=bool(found))
    if found:
        print_table(rung_table(experiment))
        line()
        for text in filter(None, [*found, plan_line(experiment)]):
            say(text)
    if experiment.best:
        _show_best(experiment.best, experiment, already_named=bool(found))
    order = shown_order_says([experiment])
    if order:
        say(order)
    for trial in experiment.trials:
        if trial.failed:
            print(printable(f"Failed: {trial.name}: {trial.error}"), file=sys.stderr)
    _show_commands(experiment)


def _show_best(best: Trial, experiment: Experiment, already_named: bool) -> None:
    """Print the best trial, unless it was ``already_named`` as the winner or leader, and its newest checkpoint."""
    if not already_named:
        if len(experiment.spec.rungs or []) > 1:
            say("Not all trials came to the first rung, so they are not compared at equal steps yet.")
        say(f"Best trial: {best.name}; {ending(best)}")
        if games := last_games(experiment, "it"):
            say(games)
    newest = best.checkpoints.newest
    if newest:
        later = ""
        if newest.iteration < best.iterations:
            later = f", of iteration {newest.iteration}; later ones are on none"
        line(f"Checkpoint: {display(newest.folder)}{later}")


def _show_commands(experiment: Experiment) -> None:
    """Print how long an experiment took, the commands that look at it, and where its film is."""
    where = display(experiment.folder)
    line()
    seconds = took(experiment)
    if math.isfinite(seconds):
        line(f"Took:    {_took_in_words(seconds, experiment.trials)}")
    if any(trial.rows for trial in experiment.trials):  # Without, TensorBoard has nothing to show.
        line(f"Look:    {installed('tensorboard', '--logdir', where)}")
    if any(trial.rows or trial.failed for trial in experiment.trials):
        line(f"Report:  {neighbour('results.py', 'report', where)}")
    command = play_command(experiment)
    if command:
        line(f"Play:    {command}")
    text = whose_policy(experiment)
    if text:
        say(text)
    film = experiment.folder / WINNER_FILM
    if film.is_file():
        line(f"Film:    {display(film)}")


def _took_in_words(seconds: float, trials: Sequence[Trial]) -> str:
    """The ``seconds`` that an experiment took by the clock, and of several trials the sum of their training."""
    if len(trials) < 2:
        return duration(seconds)
    return f"{duration(seconds)}; training, summed over the trials: {duration(trained(trials))}"


def _show_seeds(experiment: Experiment, compared: bool) -> None:
    """Print each configuration's score over its seeds; and the best one, unless they were ``compared`` at rungs."""
    found = best_configurations(experiment, len(experiment.trials))
    labels = [configuration.label(varied(found)) for configuration in found]
    print_table(without(configuration_table(found, labels), "learner"))
    line()
    if found and not compared:
        if len(found) > 1:
            say(f"Best configuration, by the {RULE} of its seeds: {labels[0]}")
        say(seeds_in_words(found[0].trials))


def show_confirmation(confirm: Experiment, sweep_name: str) -> None:
    """Print the scores of a confirmation beside those of its sweep, and what they say, if the sweep can be read."""
    try:
        sweep = read_experiment(confirm.folder.with_name(sweep_name))
    except ConfigError as error:
        say(f"Its scores stand alone: {error}")
        return
    found = confirmations(sweep, confirm)
    line()
    say("Scores, mean returns of the latest games: the sweep's, and fresh seeds' there and at their end")
    print_table(confirmation_table(found))
    origin = sweep.spec.fork_of
    if origin:
        say(f"The sweep was forked from {origin.name}; fresh seeds train from scratch, which is another thing.")
    text = best_by_fresh_seeds(found)
    if text:
        say(text)
    line(f"Report:  {neighbour('results.py', 'report', display(sweep.folder), display(confirm.folder))}")
