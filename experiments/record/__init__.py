"""What does an experiment leave on disk? Its specification, folders, lock, provenance, and the mirror of a bucket."""
