"""Ray Tune Trainables for Pong: thin shells around ``sampling`` (experience) and ``learning`` (maths)."""
