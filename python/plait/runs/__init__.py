"""Running scenarios: one, several, or a plan (`experiment`); looking up decisions of a run."""
