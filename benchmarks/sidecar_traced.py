"""What traces of sidecar calls say, mode by mode, as one JSON document.

    PROGRAM="python -m stepprof.runtime run --preset mini --prompts code --steps 60"
    stepprof capture -o call_c.duckdb -- $PROGRAM --sidecar-mode call --facts F.jsonl   # persistent: --resident R.jsonl
    stepprof import call_c.duckdb --facts F.jsonl -o call.duckdb
    python benchmarks/sidecar_traced.py call=call.duckdb graph=graph.duckdb

The receipt is benchmarks/receipts/sidecar_traced_h200x2.json. `left_us` is the mean call less the sum of its phases.
GPU, driver and versions are those that the runs tell.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stepprof.analyses.attribution import attribute
from stepprof.analyses.outside_steps import outside_steps
from stepprof.analyses.sidecar.answer import sidecar
from stepprof.profiler.store import Store, open_run

MACHINE = {"driver": "driver_version", "python": "python_version", "torch": "torch_version", "cuda": "cuda_of_driver"}


def row(mode: str, store: Store) -> dict[str, Any]:
    """The figures of one run."""
    found = attribute(store)
    answer = sidecar(store, found)
    call = answer.all
    (processes,) = store.rows("SELECT count(DISTINCT process) FROM op")[0]
    return {
        "mode": mode,
        "steps": answer.steps,
        "calls": answer.calls,
        "processes": processes,
        "found_by": answer.source,
        "rows_from": answer.rows_from,
        "dropped_records": store.value("SELECT sum(value::BIGINT)::BIGINT FROM manifest WHERE key = 'dropped_records'"),
        "mean_us": call.mean_us,
        "p50_us": call.p50_us,
        "p95_us": call.p95_us,
        "phases_mean_us": call.phases_mean_us,
        "left_us": round(call.mean_us - sum(call.phases_mean_us.values()), 6),
        "kinds_mean_us": call.kinds_mean_us,
        "join_wait_us_per_step": answer.join_wait_us_per_step,
        "held_us_per_step": answer.held_us_per_step,
        "away_us_per_step": answer.away_us_per_step,
        "clock_offset_bound_ns": answer.clock_offset_bound_ns,
        "tracing_inflation": None if answer.inflation is None else answer.inflation.ratio,
        "tracing_inflation_interval": None if answer.inflation is None else answer.inflation.interval,
        "outside_steps": [warning["text"] for warning in outside_steps(found, found.steps.usable)],
    }


def machine(store: Store) -> dict[str, Any]:
    """GPUs by name, and what the manifest tells."""
    cards = [name for (name,) in store.rows("SELECT name FROM device ORDER BY device")]
    told = {key: store.value("SELECT value FROM manifest WHERE key = ?", entry) for key, entry in MACHINE.items()}
    return {"gpu": ", ".join(cards)} | {key: value for key, value in told.items() if value is not None}


def main() -> None:
    """Print the document."""
    named = [word.partition("=") for word in sys.argv[1:]]
    if not named or not all(path for _, _, path in named):
        sys.exit("usage: python benchmarks/sidecar_traced.py MODE=RUN.duckdb [MODE=RUN.duckdb ...]")
    head: dict[str, Any] = {"date": datetime.now(UTC).strftime("%Y-%m-%d")}
    rows: list[dict[str, Any]] = []
    for mode, _, path in named:
        store = open_run(Path(path))
        head = head | machine(store)
        rows.append(row(mode, store))
        store.close()
    print(
        json.dumps(
            {**head, "command": f"python benchmarks/sidecar_traced.py {' '.join(sys.argv[1:])}", "rows": rows}, indent=1
        )
    )


if __name__ == "__main__":
    main()
