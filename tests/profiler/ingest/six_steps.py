"""An nsys export whose account is known: hostile tests change one thing of it and see what becomes of that.

    six_steps().write(path); altered(path, "DROP TABLE StringIds")

Step s of six: a range from 10,000 s for 9,000 ns with four launches, a synchronizing call and
four kernels of 900 ns, 100 ns apart.
"""

import sqlite3
from pathlib import Path

from tests.trace_builder import NsysExport

WALL, EXPOSED = 6 * 9_000, 6 * 4 * 900


def six_steps(steps: int = 6) -> NsysExport:
    """Steps of four kernels; kernel k of step s has the correlation 4 s + k + 1."""
    export = NsysExport()
    for step in range(steps):
        at = 10_000 * step
        export.range(f"step/{step}", at, at + 9_000)
        for k in range(4):
            correlation, start = 4 * step + k + 1, at + 1_000 * (k + 1)
            export.api("cudaLaunchKernel_v7000", at + 100 * k + 10, at + 100 * k + 20, correlation=correlation)
            export.kernel(f"gemm_{k}", start, start + 900, correlation=correlation)
        export.api("cudaStreamSynchronize_v3020", at + 500, at + 8_000, correlation=1_000_000 + step)
    return export


def altered(path: Path, sql: str) -> Path:
    """The file after some statements."""
    con = sqlite3.connect(path, isolation_level=None)
    con.executescript(sql)
    con.close()
    return path
