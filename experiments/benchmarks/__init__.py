"""What ``benchmark.py`` measures, by how much of the work it is: a core, whole iterations, whole programs, a model."""
