"""Measures one part of the built-in model alone: `python -m stepprof.runtime bench sidecar|determinism …`."""

from stepprof.runtime.bench.command import add_bench_commands

__all__ = ["add_bench_commands"]
