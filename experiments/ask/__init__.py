"""What may a user say? Flags, budgets, storage paths, and numbers put into words."""
