"""Search spaces of ``PongPG`` around its presets: the numbers that decide how fast a policy gradient learns Pong."""

from ray import tune

PRESETS = {
    # What learns best here. The sweep in docs/sweep_pg.md found 4 games an update, and after a million steps they are
    # ahead of 8 by 5 points. After 5 million they are not, and with 8 seeds differ less. Step size and entropy bonus
    # fall, since from +14 on they cost more than they bring.
    "default": {
        "method": "ppo",
        "optimiser": "adam",
        "learning_rate": 1e-3,
        "half_life": 3_000_000,
        "gamma": 0.99,
        "batch_size": 8,
    },
    # The seeds' own settings (document 002): gamma and learning rate as in Karpathy's script. Far slower; with
    # --learning-rate 2e-3 --gamma 0.98 it came to -5 in six to eight minutes.
    "karpathy": {
        "method": "reinforce",
        "optimiser": "rmsprop",
        "learning_rate": 1e-4,
        "gamma": 0.99,
        "hidden_size": 200,
        "batch_size": 10,
        "rmsprop_decay": 0.99,
    },
    # Everything runs once for real, and nothing is learned: two games an update, a small network.
    "smoke": {
        "method": "ppo",
        "optimiser": "adam",
        "hidden_size": 50,
        "batch_size": 2,
        "eval_games": 2,
        "num_workers": 1,
    },
}

# The seeds' 200 and smaller: a frame shows two paddles and a ball, and 50 units can already rally.
HIDDEN_SIZE = tune.choice([50, 100, 200])

# Even steps of log(1 - gamma): horizons of 25, 50, 100 and 200 agent steps. The ball crosses the court in about 40.
GAMMA = tune.choice([0.96, 0.98, 0.99, 0.995])

# Small updates come often, large ones are sure. At 4 games an update is of 4,000 steps at first and 20,000 at parity.
BATCH_SIZE = tune.choice([2, 4, 8, 16])

# Parallelism changes speed only, never results. Choices beyond the cluster are cut when the sweep is planned.
NUM_WORKERS = tune.choice([1, 2, 4, 8])

SPACES = {
    "default": {
        # Around 1e-3, which climbs on every seed tried.
        "learning_rate": tune.loguniform(3e-4, 3e-3),
        "hidden_size": HIDDEN_SIZE,
        "gamma": GAMMA,
        "batch_size": BATCH_SIZE,
        "num_workers": NUM_WORKERS,
    },
    "karpathy": {
        # Around 2e-3, which climbs on every seed tried. With the seeds' 1e-4 the same climb takes days.
        "learning_rate": tune.loguniform(5e-4, 5e-3),
        "hidden_size": HIDDEN_SIZE,
        "gamma": GAMMA,
        "num_workers": NUM_WORKERS,
    },
    "smoke": {"learning_rate": tune.loguniform(5e-4, 5e-3), "gamma": tune.choice([0.98, 0.99])},
}

MUTATIONS = {
    # What population based training may change in a running trial: not the network's size, nor its actors.
    "learning_rate": tune.loguniform(3e-4, 5e-3),
    "gamma": [0.96, 0.98, 0.99, 0.995],
}
