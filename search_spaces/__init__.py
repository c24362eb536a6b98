"""Presets and the search spaces around them: pages of data, each number with its reason."""
