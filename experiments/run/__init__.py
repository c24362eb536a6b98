"""How does a plan become results? Tune, Ray, schedulers, callbacks, resume, extend, fork and confirm."""

import os

# Tune reads these as it runs. They are for our programs: who has a Tuner of their own beside ``experiments.read`` keeps
# Tune's own files and output.
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")  # the newer console output cannot be silenced
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")  # loggers.py writes rows and TensorBoard's files
