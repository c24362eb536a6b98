"""What ``benchmark.py`` measures: one module a question."""
