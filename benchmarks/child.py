"""One task in a process of its own: python child.py TASK ARGUMENT...

Prints a JSON line with what the task found and the seconds it took after its imports;
whoever started it measures the whole process.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main() -> None:
    """Run the task that the command line names."""
    task = TASKS[sys.argv[1]]()
    start = time.perf_counter()
    answer = task(*map(Path, sys.argv[2:]))
    print(json.dumps({"seconds": round(time.perf_counter() - start, 3), "answer": answer}))


# each imports what it needs and no more


def _import() -> Callable[..., dict[str, Any]]:
    from stepprof.profiler.ingest.importer import Extras, import_run

    def run(trace: Path, out: Path) -> dict[str, Any]:
        import_run(trace, out, Extras(), force=True)
        return {}

    return run


def _account() -> Callable[..., dict[str, Any]]:
    """Steps, labels, roles, partition."""
    import numpy as np

    from stepprof.analyses.attribution import attribute
    from stepprof.analyses.breakdown import breakdown
    from stepprof.profiler.store import open_run

    def run(path: Path) -> dict[str, Any]:
        found = attribute(open_run(path))
        table = breakdown(found)
        inside = found.steps.of_op >= 0
        parts = sum(row.exposed_total_ns for row in (*table.rows, *table.gaps))
        return {
            "kernels": int(np.sum(found.ops.activity == 0)),
            "steps": len(found.steps),
            "step_ops": int(inside.sum()),
            "ops_of_step": found.steps.windows.ops.tolist(),
            "step_work_ns": int(found.ops.duration[inside].sum()),
            "partition_left_ns": int(found.steps.wall[found.steps.usable].sum()) - parts,
            "labelled_share": round(table.labelled_share, 4),
            "unknown_share": round(table.unknown_share, 4),
        }

    return run


def _floor(name: str) -> Callable[[], Callable[..., dict[str, Any]]]:
    def load() -> Callable[..., dict[str, Any]]:
        import floors

        return getattr(floors, name)

    return load


TASKS = {
    "import": _import,
    "account": _account,
    **{name: _floor(name) for name in ("load_floor", "sql_floor", "json_floor")},
}

if __name__ == "__main__":
    main()
