"""What a scheduler is told of trials that ran before; and one more of them is a class and an entry of the table."""

from collections import defaultdict

import pytest
from ray import tune
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from experiments.ask.schedulers import SCHEDULERS, Scheduler
from experiments.disk.restored import restore
from experiments.plan.learners import TRPO
from experiments.run import sweep_program
from experiments.run.session import Session
from experiments.run.tune_trials import trial_number
from experiments.run.tuner import make_tuner
from tests.helpers.small_experiments import InterruptAt, iterations, small_spec, trial_folders
from tests.helpers.trials import CARTPOLE
from trainables.config import TRPOConfig


class OnlyTheFirst(FIFOScheduler):
    """Stops all trials but the first at its interval."""

    told: list = []  # noqa: RUF012

    def __init__(self, learner, folder, spec, restored):
        super().__init__()
        self.interval = spec.interval
        self.told.append({number: trial.iteration for number, trial in restored.items()})

    def on_trial_result(self, tune_controller, trial, result):
        stop = trial_number(trial) != "00000" and result["training_iteration"] >= self.interval
        return TrialScheduler.STOP if stop else TrialScheduler.CONTINUE


@pytest.mark.slow
def test_another_scheduler_is_a_class_and_an_entry_of_the_table(ray_cluster, tmp_path, monkeypatch, capsys):
    entry = Scheduler("stops all trials but the first", f"{__name__}:{OnlyTheFirst.__name__}", first_decision=2)
    monkeypatch.setitem(SCHEDULERS, "only-the-first", entry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["sweep_trpo.py"])
    settings = ["--preset", "cartpole", "--set", "hidden_sizes=8", "--num-workers", "1", "--num-samples", "2"]
    begin = ["--scheduler", "only-the-first", *settings, "--iterations", "4", "--name", "s"]
    for words in (begin, ["--extend", "s", "--iterations", "6"]):
        with pytest.raises(SystemExit) as stop:
            sweep_program.main(TRPO, "", [*words, "--address", "auto"])
        assert stop.value.code == 0, capsys.readouterr()
    assert OnlyTheFirst.told == [{}, {"00000": 4, "00001": 2}]
    assert [iterations(trial)[-1] for trial in trial_folders(tmp_path / "results" / "s")] == [6, 2]


class Capture(tune.Callback):
    """Notes ASHA's rungs of each trial when Tune has just added it, before it reports anything new.

    Tune adds a trial when the one before it has begun, at no certain step.
    """

    def __init__(self):
        self.seen = {}

    def on_step_end(self, iteration, trials, **info):
        known = rungs(self.tuner)
        for number in map(trial_number, trials):
            self.seen.setdefault(number, known.get(number))


def rungs(tuner):
    """Each trial's scores at the milestones that it came by, by its number."""
    (bracket,) = tuner._local_tuner._tune_config.scheduler._brackets
    scores = defaultdict(dict)
    for milestone, known in bracket._rungs:
        for trial, score in known.items():
            scores[trial.rpartition("_")[2]][milestone] = score
    return scores


@pytest.mark.slow
def test_ashas_rungs_are_after_a_resume_what_they_were_before(ray_cluster, tmp_path):
    configs = [TRPOConfig(**CARTPOLE | {"seed": seed, "cpus_per_worker": 2.0}) for seed in range(5)]
    spec = small_spec("trpo", configs, scheduler="asha", iterations=None, timesteps=2700, interval=300)
    folder = tmp_path / "asha"
    folder.mkdir()
    spec.write(folder)
    tuner = make_tuner(Session(TRPO, folder, spec, callbacks=[InterruptAt(5)]), {})
    tuner.fit()
    before = rungs(tuner)
    # Of the trial that came to 5 iterations; how far the other came, its speed decides.
    assert max(map(len, before.values())) >= 2
    capture = Capture()
    capture.tuner = make_tuner(Session(TRPO, folder, spec, callbacks=[capture]), restore(folder, spec))
    capture.tuner.fit()
    assert {number: seen for number, seen in capture.seen.items() if seen} == before
