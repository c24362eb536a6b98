"""What Tune's trials are called."""

from ray.tune.experiment import Trial

from experiments.run.tune_trials import TrialName


def test_a_trials_name_can_be_read():
    config = {"learning_rate": 2e-3, "hidden_size": 200, "gamma": 0.99, "num_workers": 2, "seed": 3}
    trial = Trial("stub", config=config, trial_id="abc_00003", stub=True)
    assert TrialName([*config][:4], {})(trial) == "00003_lr=2e-3_h=200_g=0.99_w=2"
    assert TrialName([*config][:4], {"00003": "as it was"})(trial) == "as it was", "whatever became of its settings"
