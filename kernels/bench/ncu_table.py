"""The table that `ncu --csv --page raw` prints: bytes by op, summed over the kernels of each.

A kernel belongs to the op whose NVTX range was around it. That range is the kernel's name here
(--print-nvtx-rename kernel), and stands in further columns as well, which differ between versions:
it is looked for in the whole row.
"""

from __future__ import annotations

import csv
import re

READ, WRITTEN = METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")
RANGE = re.compile(r"dram:(\d+):([\w.]+)")
SCALE = {"byte": 1, "kbyte": 10**3, "mbyte": 10**6, "gbyte": 10**9}


def range_of(rows: int, op: str) -> str:
    """The NVTX range around the kernels of an op."""
    return f"dram:{rows}:{op}"


def bytes_of_table(text: str) -> dict[tuple[int, str], tuple[int, int]]:
    """(read, written) by rows and op; empty where the text holds no such table.

    Rows that name no op, or whose counters were not read (n/a), count for nothing.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    start = next((i for i, line in enumerate(lines) if '"Kernel Name"' in line and READ in line), None)
    if start is None:
        return {}
    found: dict[tuple[int, str], tuple[int, int]] = {}
    units = dict.fromkeys(METRICS, "byte")
    for row in csv.DictReader(lines[start:]):
        if not row["Kernel Name"]:  # the line of units under the heads
            units = {metric: row.get(metric) or "byte" for metric in METRICS}
            continue
        met = RANGE.search(" ".join(str(cell) for cell in row.values()))
        sizes = [size_of(row.get(metric) or "", units[metric]) for metric in METRICS]
        if met is None or None in sizes:
            continue
        key = (int(met[1]), met[2])
        read, written = found.get(key, (0, 0))
        found[key] = (read + (sizes[0] or 0), written + (sizes[1] or 0))
    return found


def size_of(text: str, unit: str) -> int | None:
    """Bytes of a cell such as 10,240,000; None where it is no number or its unit is no size."""
    try:
        return round(float(text.replace(",", "")) * SCALE[unit.lower()])
    except (ValueError, KeyError, OverflowError):
        return None
