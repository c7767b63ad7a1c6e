"""Scenarios: definition, changes and templates, units and schedulers; formulas of paths."""
