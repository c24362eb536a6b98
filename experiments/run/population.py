"""Population based training: at each interval the worst trials go on with the weights of the best.

Tune's own class copies the donor's whole configuration, decides by who was first, and asks the program's global
generator. Here a trial keeps its seed, its architecture and its workers, and an exchange depends on nothing but the
experiment's seed and the trials' results.
"""

import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ray.tune.experiment import Trial

from experiments.plan.exchanges import EXCHANGE_RULE, drawn, groups, losers, mutations
from experiments.plan.learners import Learner
from experiments.read.restored import RestoredTrial
from experiments.read.rows import read_rows
from experiments.read.trial_checkpoints import copy_checkpoint
from experiments.record.decisions import Copy, Exchange, read_exchanges, write_exchanges
from experiments.record.folders import RESULTS
from experiments.record.mirror import Remote
from experiments.record.spec import ExperimentSpec
from experiments.run.ray_internals import give_back
from experiments.run.rounds import Rounds
from experiments.run.tune_trials import trial_folder
from trainables import checkpoints
from trainables.files import replace_text
from trainables.metrics import METRIC


class Population(Rounds):
    """Exchanges among trials of equal architecture, which are compared when all of them have come as far."""

    def __init__(
        self, learner: Learner, folder: Path, spec: ExperimentSpec, restored: Mapping[str, RestoredTrial]
    ) -> None:
        super().__init__(learner, folder, spec, restored)
        self._groups, self._mutations = groups(learner, spec.configs), mutations(learner, spec.swept, spec.space)
        self._exchanges = read_exchanges(folder)

    def round_end(self, trial: Trial) -> float:
        """The next multiple of the interval; none if nobody can copy anybody."""
        if all(len(group) == 1 for group in self._groups):
            return math.inf
        before = self._exchanges[-1].at if self._exchanges else 0
        return (before // self.spec.interval + 1) * self.spec.interval

    def begin(self, trials: Mapping[int, Trial]) -> None:
        """Make those copies of the latest exchange that a kill prevented; nobody has played on meanwhile."""
        if self._exchanges:
            self._exchange(trials)

    def decide(self, tune_controller: object, waiting: Mapping[int, Trial]) -> None:
        """Decide who copies whom, write it down, and copy."""
        results = {index: self.result_of(trial) for index, trial in waiting.items()}
        scores = [results[index][METRIC] if index in results else None for index in range(len(self.spec.configs))]
        copies = [self._planned(waiting, index, best) for index, best in losers(scores, self._groups)]
        least = min(result[self.time_attr] for result in results.values())
        self._exchanges.append(Exchange(at=least, scores=scores, copies=copies, rule=EXCHANGE_RULE))
        self._exchange(waiting)

    def _planned(self, trials: Mapping[int, Trial], index: int, best: Sequence[int]) -> Copy:
        """Draw a donor, and the settings to go on with."""
        configs = {donor: trials[donor].config for donor in best}
        donor, settings = drawn(self.spec.seeds[0], len(self._exchanges), index, configs, self._mutations)
        return Copy(
            trial=index,
            donor=donor,
            source=_newest(trials[donor]),
            target=_newest(trials[index]) + 1,
            before={name: trials[index].config[name] for name in settings},
            settings=settings,
        )

    def _exchange(self, trials: Mapping[int, Trial]) -> None:
        """Write the exchanges down, and make what is missing of the latest one's copies."""
        self.write_down(write_exchanges, self._exchanges)
        for copy in self._exchanges[-1].copies:
            trial, donor = trials[copy.trial], trials[copy.donor]
            if not trial.is_finished() and _newest(trial) < copy.target:
                try:
                    self._copy(trial, donor, copy)
                except checkpoints.CheckpointError as error:  # somebody or something has damaged files meanwhile
                    print(f"{trial} goes on without its copy of {donor}: {error}", file=sys.stderr, flush=True)

    def _copy(self, trial: Trial, donor: Trial, copy: Copy) -> None:
        """Let a trial go on from the donor's checkpoint, and with its rows: these are always those of its weights.

        The checkpoint comes last: with it, the copy is made, at home too.
        """
        source = trial_folder(self.folder, donor) / checkpoints.folder_name(copy.source)
        target = trial_folder(self.folder, trial) / checkpoints.folder_name(copy.target)
        if _newest(donor) != copy.source:
            raise checkpoints.CheckpointError("it has another newest checkpoint by now")
        arrays, state = checkpoints.load(source, self.spec.learner)
        config = trial.config | copy.settings
        rows = [row for row in read_rows(source.with_name(RESULTS)) if row["training_iteration"] <= state.iteration]
        replace_text(target.with_name(RESULTS), "".join(json.dumps(row) + "\n" for row in rows))
        made = target.with_name(f".{target.name}")
        for old in (made, target):
            shutil.rmtree(old, ignore_errors=True)
        copy_checkpoint(source, made)
        checkpoints.save(made, arrays, state.model_copy(update={"config": config}))
        if home := Remote.of(self.folder):
            home.push_folder(made, target)
        made.rename(target)
        trial.set_config(config)
        result = self.result_of(donor)
        give_back(trial, [(target, result)], copy.target, result)


def _newest(trial: Trial) -> int:
    """The number of the trial's newest checkpoint; -1 without one."""
    return checkpoints.number(trial.checkpoint.path) if trial.checkpoint else -1
