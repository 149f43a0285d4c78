"""Readers of trace files: each ends in the same rows (../schema.sql)."""
