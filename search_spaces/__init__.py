"""What varies: search spaces as pages of data, every number with its reason."""
