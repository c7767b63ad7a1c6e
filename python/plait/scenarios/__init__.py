"""What is to be run: scenarios, how they are changed and filled in, their units and schedulers; formulas of paths."""
