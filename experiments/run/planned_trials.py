"""Trials as Tune gets them: exactly the planned configurations, each with its past, if it has one."""

from collections.abc import Mapping, Sequence
from typing import Any

from ray.train._internal.session import _TrainingResult
from ray.tune import Checkpoint
from ray.tune.experiment import Trial
from ray.tune.search import BasicVariantGenerator

from experiments.plan.trial_names import trial_number
from experiments.read.restored import RestoredTrial


class PlannedTrials(BasicVariantGenerator):
    """Makes one trial of each configuration, in order, and gives those that ran before their checkpoints back."""

    def __init__(
        self, configs: Sequence[dict[str, Any]], past: Mapping[str, RestoredTrial], max_concurrent: int | None
    ) -> None:
        super().__init__(points_to_evaluate=list(configs), max_concurrent=max_concurrent or 0)
        self._past = past

    def next_trial(self) -> Trial | None:
        """The next trial, or None if there is none left or no room for it now."""
        trial = super().next_trial()
        if trial and (past := self._past.get(trial_number(trial))):
            _give_back(trial, past)
            if past.over:
                self.on_trial_complete(trial.trial_id)  # takes no place among those that run at once
        return trial


def _give_back(trial: Trial, past: RestoredTrial) -> None:
    """Let a trial that is new to Tune go on where it stood, in its own folder."""
    trial.init_local_path()
    manager, storage = trial.run_metadata.checkpoint_manager, trial.storage
    assert manager
    assert storage
    for path, row in past.checkpoints:
        checkpoint = Checkpoint(f"{storage.trial_fs_path}/{path.name}", storage.storage_filesystem)
        manager.register_checkpoint(_TrainingResult(checkpoint, dict(row)))
    storage.current_checkpoint_index = past.newest_index
    if past.over:
        trial.set_status(Trial.TERMINATED)
        trial.run_metadata.last_result = dict(past.rows[-1])
    elif past.checkpoints:
        trial.run_metadata.last_result = dict(past.checkpoints[-1][1])
