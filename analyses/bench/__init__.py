"""Bench files: their results, what modes save, and whether calls come out the same twice."""
