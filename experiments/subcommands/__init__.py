"""The subcommands of results.py: each a dataclass of its flags with a method that does it."""
