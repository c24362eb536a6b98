"""What ASHA knows of trials that ran before."""

import json
from collections import defaultdict

import pytest
from ray import tune

from experiments.plan.learners import TRPO
from experiments.plan.trial_names import number_in_id
from experiments.read.restored import restore
from experiments.run.tune_trials import trial_number
from experiments.run.tuner import make_tuner
from tests.helpers.small_experiments import InterruptAt, small_spec
from tests.helpers.trials import CARTPOLE
from trainables.config import TRPOConfig

pytestmark = [pytest.mark.slow, pytest.mark.ray]


class Capture(tune.Callback):
    """Notes what a scheduler knows of each trial when Tune has just added it, before it reports anything new.

    Tune adds a trial when the one before it has begun, at no certain step.
    """

    def __init__(self, look):
        self.look, self.seen = look, {}

    def on_step_end(self, iteration, trials, **info):
        known = self.look(self.tuner._local_tuner._tune_config.scheduler)
        for number in map(trial_number, trials):
            self.seen.setdefault(number, known.get(number))


def captured_on_resume(folder, spec, look):
    capture = Capture(look)
    capture.tuner = make_tuner(TRPO, folder, spec, restore(folder, spec), [capture])
    capture.tuner.fit()
    return {number: seen for number, seen in capture.seen.items() if seen}


def rungs(asha):
    """Each trial's scores at the milestones that it came by, by its number."""
    (bracket,) = asha._brackets
    scores = defaultdict(dict)
    for milestone, known in bracket._rungs:
        for trial, score in known.items():
            scores[number_in_id(trial)][milestone] = score
    return scores


@pytest.mark.parametrize("budget", [{"iterations": 9, "interval": 1}, {"timesteps": 2700, "interval": 300}])
def test_ashas_rungs_are_after_a_resume_what_they_were_before(ray_cluster, tmp_path, budget):
    """Tune forgets them: trials that lagged would be carried on."""
    configs = [TRPOConfig(**CARTPOLE | {"seed": seed, "cpus_per_worker": 2.0}) for seed in range(5)]
    spec = small_spec("trpo", configs, scheduler="asha", **{"iterations": None} | budget)
    folder = tmp_path / "asha"
    folder.mkdir()
    (folder / "experiment.json").write_text(json.dumps(spec.to_dict()))
    tuner = make_tuner(TRPO, folder, spec, {}, [InterruptAt(5)])
    tuner.fit()
    before = rungs(tuner._local_tuner._tune_config.scheduler)
    # Of the trial that came to 5 iterations; how far the other came, its speed decides.
    assert max(map(len, before.values())) >= 2
    assert captured_on_resume(folder, spec, rungs) == before
