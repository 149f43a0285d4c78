"""The dependency graph of a step: built from a run, edited, replayed over all steps at once."""
