"""Where experience comes from: the console emulator, what the learner sees of it, rollouts, workers and their pool.

Only ``actor.py`` and ``pool.py`` know Ray.
"""
