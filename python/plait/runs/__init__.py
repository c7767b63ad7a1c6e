"""Running scenarios, and looking up the decisions of a run."""
