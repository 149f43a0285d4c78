"""Kernels alone: time, bytes, and the share of the bandwidth that a copy of the same bytes reaches in the same run.

python -m stepprof.kernels.bench --preset flash --rows 1,6 --json
"""

from stepprof.kernels.bench.run import NoGpu, add_switches, bench_kernels, show

__all__ = ["NoGpu", "add_switches", "bench_kernels", "show"]
