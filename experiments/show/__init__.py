"""What does an experiment look like? Figures, tables, pages and films."""
