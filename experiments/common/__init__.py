"""What the programs share: flags, learners, plans, launching and the console."""
