"""Search spaces of ``PongTRPO`` around its presets: the trust region, the baseline, and what both learners share."""

PRESETS: dict[str, dict] = {
    # What learns best here: the configuration's own defaults (docs/algorithms.md has reasons).
    "default": {},
    # modular_rl's own settings: whole games, gamma 0.99. Slower than the defaults: seed 0 is at -11.8 after a
    # million agent steps (docs/reports/originals.md).
    "modular_rl": {
        "coarse_coding": False,
        "gamma": 0.99,
        "gae_lambda": 0.97,
        "max_kl": 0.01,
        "half_life": 0,
        "hidden_sizes": "64-64",
        "slots": 0,
        "timesteps_per_batch": 10_000,
        "min_games": 1,
        "reset_on_reward": False,
        "cg_damping": 1e-3,
        "fisher_every": 1,
        "baseline_every": 1,
        "baseline_iterations": 25,
        "baseline_mix": 0.1,
    },
    # A check of the algorithm on a problem that takes a minute: 475 of 500 counts as solved.
    "cartpole": {
        "env_id": "CartPole-v1",
        "slots": 0,
        "timesteps_per_batch": 2000,
        "coarse_coding": False,
        "reset_on_reward": False,
        "half_life": 0,
    },
    # Everything runs once for real, and nothing is learned: two slots, small networks.
    "smoke": {
        "hidden_sizes": "16-16",
        "slots": 2,
        "segment_length": 1000,
        "updates_per_iteration": 1,
        "eval_games": 2,
        "num_workers": 1,
    },
}

# modular_rl's 64-64 and its neighbours: the memory holds positions in single bytes, so there is little to compute.
# 32-32 has the lowest mean at the first comparison of a sweep (docs/default_sweeps.md).
HIDDEN_SIZES = ["64-64", "128-128"]

# Horizons, 1 / (1 - gamma), of 50 and 100 agent steps. The ball crosses the court in about 40. With 0.96, a horizon of
# 25, trials have the highest mean at the first comparison and the lowest at 2 million steps (docs/default_sweeps.md).
GAMMA = [0.98, 0.99]

# Small updates come often, and large ones are less noisy. With 16 slots an update has 4,096 or 8,192 steps. Segments of
# 128 steps have the highest mean at the first comparison, and not at the end; those of 1,024 are behind at both
# (docs/default_sweeps.md).
SEGMENT_LENGTH = [256, 512]

# Parallelism changes speed only, never results. A plan leaves out the choices that the machine has no room for.
NUM_WORKERS = [1, 2, 4, 8]

SPACES = {
    "default": {
        # It is to TRPO what a learning rate is elsewhere: around the 0.05 that climbs here. Trials with 0.02 to 0.06
        # have the highest mean at 2 million steps (docs/default_sweeps.md).
        "max_kl": "2e-2..8e-2:log",
        "hidden_sizes": HIDDEN_SIZES,
        "gamma": GAMMA,
        "segment_length": SEGMENT_LENGTH,
        "num_workers": NUM_WORKERS,
    },
    "modular_rl": {
        # Around modular_rl's 0.01.
        "max_kl": "5e-3..2e-2:log",
        "hidden_sizes": HIDDEN_SIZES,
        "gamma": GAMMA,
        "num_workers": NUM_WORKERS,
    },
    "cartpole": {
        "max_kl": "5e-3..5e-2:log",
        "hidden_sizes": ["32-32", *HIDDEN_SIZES],
        "timesteps_per_batch": [1000, 2000, 4000],
        "num_workers": NUM_WORKERS,
    },
    "smoke": {"max_kl": "1e-2..6e-2:log", "gamma": [0.98, 0.99]},
}
