"""Ray Tune Trainables for Pong: thin shells around ``sampling`` (experience) and ``learning`` (maths)."""

from trainables.processor import choose_kernels
from trainables.surroundings import choose_caches

choose_kernels()  # before anything imports NumPy
choose_caches()
