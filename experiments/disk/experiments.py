"""Experiments as they lie on disk, running, killed or finished: only text is read, and nothing is unpickled."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiments.disk import folders, lock
from experiments.disk.decisions import Decision, WinnerGames, dropped, read_decisions, read_winner
from experiments.disk.rows import tune_statuses
from experiments.disk.spec import ExperimentSpec, find
from experiments.disk.standings import Standing, last_compared, standings, together
from experiments.disk.states import ExperimentState, Records, state_of_experiment
from experiments.disk.trial import Trial, read_trial
from experiments.plan.learners import LEARNERS, is_learner
from trainables.checks import ConfigError, unknown


@dataclass(frozen=True)
class Experiment:
    """An experiment's specification, its trials, and what was decided about them."""

    folder: Path
    spec: ExperimentSpec
    trials: list[Trial]
    running: bool  # a program holds its lock
    decisions: Sequence[Decision] = ()  # of halving
    played: WinnerGames | None = None  # what the last games of its ``player`` returned

    @property
    def name(self) -> str:
        """The experiment's name, which is also its folder's."""
        return self.folder.name

    @property
    def learner(self) -> str:
        """The learner's name."""
        return self.spec.learner

    @property
    def all_ended(self) -> bool:
        """Whether all trials that were planned began, and have ended."""
        have_ended = all(trial.has_ended for trial in self.trials)
        planned = len(self.spec.configs)
        return have_ended and planned > 0 and not not_begun(self.trials, planned, self.decisions)

    @cached_property
    def state(self) -> ExperimentState:
        """Its state: the first case of ``state_of_experiment`` that holds for it."""
        states = [trial.state for trial in self.trials]
        return state_of_experiment(states, self.all_ended, self.running, self.spec.ended)

    @property
    def has_ended(self) -> bool:
        """Whether it came to an end, that of its trials or of its time budget, so that its scores can be confirmed."""
        return self.state.has_ended

    @property
    def trials_to_play(self) -> int:
        """How many trials ``--resume`` plays: those that did not begin, and those that go on."""
        return trials_to_play(self.trials, len(self.spec.configs), self.decisions)

    @property
    def joined(self) -> bool:
        """Whether several trials are seeds of one configuration."""
        return len(together(self.trials)) < len(self.trials)

    @cached_property
    def standings(self) -> list[Standing]:
        """Its configurations that have results, the best first, as ``disk/standings.py`` orders them."""
        return standings(self.trials, self.spec, self.decisions)

    @cached_property
    def last_compared(self) -> list[Standing]:
        """The standings where several configurations were last compared, the best first; empty if they never were."""
        if not self.standings:
            return []
        return last_compared(self.standings, self.trials, self.spec, self.decisions)

    def decision_at(self, at: int | None) -> Decision | None:
        """What was decided at a rung; None if nothing was decided there."""
        for decision in self.decisions:
            if decision.at == at:
                return decision
        return None

    @cached_property
    def baseline(self) -> list[int]:
        """The numbers of the trials that have the preset's own values of what is swept; empty without a baseline."""
        return [trial.number for trial in self.trials if trial.is_baseline]

    @cached_property
    def last_beside_baseline(self) -> list[Standing]:
        """The standings where the baseline was last compared with others; empty without one, and if it never was."""
        if not self.baseline or not self.standings:
            return []
        return last_compared(self.standings, self.trials, self.spec, self.decisions, self.baseline)

    @property
    def leader(self) -> Standing | None:
        """The best configuration; None without results."""
        return next(iter(self.standings), None)

    @property
    def leading(self) -> list[Standing]:
        """The configurations that went on at as many rungs as the best one; all of them without halving."""
        return [each for each in self.standings if each.rung == self.standings[0].rung]

    @property
    def best(self) -> Trial | None:
        """The best seed of the best configuration; None without results."""
        if self.leader is None:
            return None
        return self.leader.best

    @property
    def winner(self) -> Trial | None:
        """The best trial of a halved sweep, once one configuration alone is left, or all that are left have ended."""
        if not self.decisions:
            return None
        have_ended = all(each.at is None for each in self.leading)
        if len(self.leading) > 1 and not have_ended:
            return None
        return self.best

    @property
    def player(self) -> Trial | None:
        """The trial that plays games at the end: of a halved sweep its winner, of all else the best trial.

        That one plays if it made as many iterations as lie between two evaluations, and not if it failed or diverged.
        """
        if len(self.spec.rungs or []) > 1:
            return self.winner
        best = self.best
        if not best or best.fell or not 0 < best.config.get("eval_interval", 0) <= best.iterations:
            return None
        return best


def read_experiment(folder: Path, running: bool | None = None) -> Experiment:
    """Read an experiment; ``running`` says whether a program runs it, by its lock if left out.

    Raises ConfigError if one of its own files is damaged, if its learner is none of ours, if a setting is impossible,
    or if there are two folders of one trial; everything else may be half there.
    """
    spec = ExperimentSpec.read(folder)
    if not is_learner(spec.learner):
        raise ConfigError(f"{folder / folders.RECORD}: {unknown('learner', spec.learner, LEARNERS)}")
    if running is None:
        running = lock.is_held(folder)
    statuses = tune_statuses(folder)
    decisions = read_decisions(folder)
    if any(len(decision.scores) != len(spec.configs) for decision in decisions):
        where = folder / folders.DECISIONS
        raise ConfigError(f"{where} is damaged: it has scores of other trials than {folders.RECORD}")
    records = Records(spec, decisions)
    trials = []
    for index, (key, path) in enumerate(folders.trial_folders(folder).items()):
        if spec.is_ours:
            number = int(key)
        else:  # the key is Tune's id of the trial
            number = index
        trials.append(read_trial(path, number, records, statuses.get(key), running))
    return Experiment(folder, spec, trials, running, records.decisions, read_winner(folder))


def not_begun(trials: Sequence[Trial], planned: int, decisions: Sequence[Decision]) -> list[int]:
    """The numbers of trials that were planned and did not begin, where these have.

    One that ``decisions`` stopped has begun, also where somebody has deleted its folder since.
    """
    begun = {trial.number for trial in trials}
    return [number for number in range(planned) if number not in begun and not dropped(decisions, number)]


def trials_to_play(trials: Sequence[Trial], planned: int, decisions: Sequence[Decision]) -> int:
    """How many trials of those ``planned`` have more to play, where these have begun."""
    return len(not_begun(trials, planned, decisions)) + sum(trial.goes_on for trial in trials)


def read_group(storage_path: Path, names: str) -> list[Experiment]:
    """An experiment by name or path, or several joined by commas. Raises ConfigError, listing what there is."""
    try:
        return [read_experiment(find(storage_path, names))]  # a name may have a comma in it
    except ConfigError:
        if "," not in names:
            raise
    return [read_experiment(find(storage_path, name)) for name in names.split(",")]


def read_all(storage_path: Path) -> tuple[list[Experiment], dict[str, str]]:
    """The experiments in a storage folder, and what is wrong with those that cannot be understood, by name."""
    experiments, damaged = [], {}
    for name in folders.existing(storage_path):
        try:
            experiments.append(read_experiment(find(storage_path, name)))
        except ConfigError as error:
            damaged[name] = str(error)
    return experiments, damaged
