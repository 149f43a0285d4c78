"""The program whose kernels an analyser watches: every op once, inside a range that names it (started by dram.py).

Under ncu it only makes its calls. With --nsight FILE it lets nsight-python start ncu and writes what that read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels.bench.case import Bench, Call
from stepprof.kernels.bench.cases import add_case_switches, chosen_cases
from stepprof.kernels.bench.ncu_table import METRICS, READ, WRITTEN, range_of, size_of
from stepprof.kernels.shapes import shapes_of


@dataclass(frozen=True)
class Named:
    """An op of so many rows, with its inputs still to be made."""

    rows: int
    op: str
    make: Callable[[int], Call]

    def ready(self) -> Call:
        """A call whose kernels are compiled and whose inputs no call has touched."""
        self.make(0)()
        call = self.make(1)
        _synchronize()
        return call


def named(preset: str, rows: Sequence[int], ops: Sequence[str]) -> list[Named]:
    """The chosen ops on the current GPU."""
    device = torch.device("cuda", torch.cuda.current_device())
    shapes = shapes_of(preset)
    return [
        Named(count, case.op, case.make) for count in rows for case in chosen_cases(Bench(shapes, count, device), ops)
    ]


def under_ncu(todo: Callable[[], list[Named]]) -> None:
    """Make the calls with the profiler on around each."""
    with torch.no_grad():
        for one in todo():
            call = one.ready()
            torch.cuda.nvtx.range_push(range_of(one.rows, one.op))
            torch.cuda.profiler.start()
            call()
            _synchronize()
            torch.cuda.profiler.stop()
            torch.cuda.nvtx.range_pop()


def by_nsight(nsight: Any, todo: Callable[[], list[Named]]) -> list[dict[str, Any]]:
    """One line an op: rows, op, read, written. `nsight` is the module, imported before CUDA began."""

    def add(first: Any, second: Any) -> Any:
        return first + second

    # an op may have any number of kernels; annotations of one run are told apart, so one run holds them all
    @nsight.analyze.kernel(
        configs=[(0,)],
        runs=1,
        metrics=list(METRICS),
        combine_kernel_metrics=add,
        clock_control="none",
        cache_control="all",
        thermal_mode="off",
    )
    def every_op(_turn: int) -> None:
        with torch.no_grad():
            for one in todo():
                call = one.ready()
                with nsight.annotate(range_of(one.rows, one.op)):
                    call()
                    _synchronize()

    return _lines(every_op().to_dataframe())


def _lines(table: Any) -> list[dict[str, Any]]:
    """The frame of nsight-python: one row an annotation and metric."""
    found: dict[str, dict[str, int | None]] = {}
    for row in table.to_dict("records"):
        size = size_of(str(row["AvgValue"]), str(row["Unit"]))
        found.setdefault(row["Annotation"], {})[row["Metric"]] = size
    lines: list[dict[str, Any]] = []
    for name, sizes in found.items():
        _, rows, op = name.split(":", 2)
        read, written = sizes.get(READ), sizes.get(WRITTEN)
        if read is not None and written is not None:
            lines.append({"rows": int(rows), "op": op, "read": read, "written": written})
    return lines


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> int:
    """Parse, call."""
    parser = argparse.ArgumentParser(prog="python -m stepprof.kernels.bench.dram_calls")
    add_case_switches(parser)
    parser.add_argument("--nsight", type=Path, help="let nsight-python measure, and write what it read here")
    given = parser.parse_args()

    def todo() -> list[Named]:
        return named(given.preset, given.rows, given.ops)

    if given.nsight is None:
        under_ncu(todo)
        return 0
    import nsight  # pyright: ignore[reportMissingImports]  # loads ncu's library, which must be there before CUDA

    given.nsight.write_text(json.dumps(by_nsight(nsight, todo)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
