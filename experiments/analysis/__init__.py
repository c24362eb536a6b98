"""What do results say? Configurations beside each other, windows, intervals, luck, frames, and the next command."""
