"""The statistics of gates and comparisons, without scipy."""
