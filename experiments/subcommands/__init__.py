"""The subcommands of results.py: one a file, each a dataclass of its flags with a method that does it."""
