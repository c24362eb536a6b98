"""How does a plan become results? Tune, Ray, schedulers, callbacks, resume, extend, fork and confirm."""
