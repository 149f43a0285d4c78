"""Record a run, keep it in one DuckDB file, show it."""
