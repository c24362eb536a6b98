"""What does the disk say of an experiment? Trials, what to restore, policies, configurations, statistics."""
