"""What will run? From flags to configurations that fit: learners, samples of a space, resources, trial names."""
