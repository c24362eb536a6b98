"""Search spaces of ``PongPG`` around its presets: the numbers that decide how fast a policy gradient learns Pong."""

PRESETS: dict[str, dict] = {
    # What learns best here: the configuration's own defaults (docs/algorithms.md has reasons).
    "default": {},
    # Ray's Pong example, with gamma and learning rate as in Karpathy's program. Far slower: it is at -18.8 after 5
    # million agent steps (docs/reports/originals.md). With --learning-rate 2e-3 --gamma 0.98 it is at -5 after 1.3 to
    # 2.7 million (docs/experiment_log.md).
    "karpathy": {
        "method": "reinforce",
        "slots": 0,
        "optimiser": "rmsprop",
        "learning_rate": 1e-4,
        "half_life": 0,
        "gamma": 0.99,
        "hidden_size": 200,
        "games_per_update": 10,
        "rmsprop_decay": 0.99,
    },
    # Everything runs once for real, and nothing is learned: two slots, a small network.
    "smoke": {
        "hidden_size": 50,
        "half_life": 0,
        "slots": 2,
        "segment_length": 500,
        "updates_per_iteration": 2,
        "eval_games": 2,
        "num_workers": 1,
    },
}

# Karpathy's 200 and half of it: a frame shows two paddles and a ball. 50 units can rally, but have the lowest mean at
# the first comparison of a sweep (docs/default_sweeps.md).
HIDDEN_SIZE = [100, 200]

# Even steps of log(1 - gamma). Horizons, 1 / (1 - gamma), are 50, 100 and 200 agent steps.
# The ball crosses the court in about 40.
GAMMA = [0.98, 0.99, 0.995]

# Small updates come often, and large ones are less noisy. With 16 slots an update has 4,096 or 8,192 steps. Trials with
# segments of 1,024 steps are 2 points behind at the first comparison (docs/default_sweeps.md).
SEGMENT_LENGTH = [256, 512]

# Parallelism changes speed only, never results. A plan leaves out the choices that the machine has no room for.
NUM_WORKERS = [1, 2, 4, 8]

SPACES = {
    "default": {
        # Around the default, which climbs with every random seed tried. What was left out of a wider space learned far
        # slower: docs/experiment_log.md, "What the default space left out".
        "learning_rate": "1e-3..5e-3:log",
        "hidden_size": HIDDEN_SIZE,
        "gamma": GAMMA,
        "segment_length": SEGMENT_LENGTH,
        "num_workers": NUM_WORKERS,
    },
    "karpathy": {
        # Around 2e-3, which climbs with every random seed tried; with Karpathy's 1e-4 the climb is far slower.
        "learning_rate": "5e-4..5e-3:log",
        "hidden_size": HIDDEN_SIZE,
        "gamma": GAMMA,
        "num_workers": NUM_WORKERS,
    },
    "smoke": {"learning_rate": "5e-4..5e-3:log", "gamma": [0.98, 0.99]},
}
