"""Reports: what the programs left on disk as one page of figures and tables."""
