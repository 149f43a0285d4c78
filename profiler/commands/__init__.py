"""The commands of stepprof: one module a group, each with its own Typer app that cli.py joins."""
