"""What lies in an experiment's folder, written and read: specification, decisions, trials, checkpoints, policies."""
