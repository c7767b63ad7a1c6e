"""Results of runs: metrics and tables, the folders that hold them, and their form for people."""
