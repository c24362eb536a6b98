"""The search space of ``PongPG``: the four numbers that decide how fast REINFORCE learns Pong from pixels."""

from ray import tune

SPACE = {
    # Around 2e-3, which climbs on every seed tried. With the seeds' 1e-4 the same climb takes days.
    "learning_rate": tune.loguniform(5e-4, 5e-3),
    # The seeds' 200 and smaller: a difference frame shows two paddles and a ball, and 50 units can already rally.
    "hidden_size": tune.choice([50, 100, 200]),
    # Even steps of log(1 - gamma): horizons of 25, 50, 100 and 200 agent steps. The ball crosses the court in about 40.
    "gamma": tune.choice([0.96, 0.98, 0.99, 0.995]),
    # Parallelism changes speed only, never results. Choices beyond the cluster are cut when the sweep is planned.
    "num_workers": tune.choice([1, 2, 4, 8]),
}

MUTATIONS = {
    # What population based training may change in a running trial: not the network's size, nor its actors.
    "learning_rate": tune.loguniform(5e-4, 5e-3),
    "gamma": [0.96, 0.98, 0.99, 0.995],
}

SMOKE = {
    # Everything runs once for real, and nothing is learned: two games an update, the smallest network.
    "learning_rate": tune.loguniform(5e-4, 5e-3),
    "hidden_size": tune.choice([50]),
    "gamma": tune.choice([0.98, 0.99]),
    "num_workers": tune.choice([1]),
    "batch_size": tune.choice([2]),
    "eval_games": tune.choice([2]),
}

PRESETS = {
    # The seeds' own settings (document 002): gamma and learning rate as in Karpathy's script. Far slower.
    "karpathy": {"learning_rate": 1e-4, "gamma": 0.99, "hidden_size": 200, "batch_size": 10, "rmsprop_decay": 0.99},
}
