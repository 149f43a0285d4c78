"""Gaps between the nodes of chains as a tracer shows them, put into a document of `stepprof bench nodes`.

    stepprof bench nodes -o nodes.json
    python benchmarks/nodes_traced.py nodes.json -o nodes_traced.json

A tracer counts a part of start-up and drain into durations that the stamps of `bench nodes` leave outside: what-if,
which works on traces, needs the gap of a trace. Rows of one branch get `visible_gap_us` and `ramp_us` anew (cost stays
the untraced one), and keep what the stamps said as `stamped_gap_us`. Needs a GPU and CUPTI.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from overhead_modes import launch

from stepprof.analyses.ops import Ints, load_ops
from stepprof.kernels.intervals import interval
from stepprof.profiler.store import Store, open_run

WORKLOAD = Path(__file__).with_name("workloads") / "nodes.py"
RANGES = "SELECT text, start_ns, end_ns FROM range JOIN name USING (name_id) WHERE text LIKE 'step/%' ORDER BY start_ns"


def step_gaps(store: Store) -> dict[str, float]:
    """Step -> µs from a node's end to the next one's start; the first node, the chain's root, counts as none."""
    ops = load_ops(store)
    node = np.array([name.split("(")[0].endswith("_node") for name in ops.names], dtype=bool)
    chosen = np.flatnonzero(node[ops.name])
    found: dict[str, float] = {}
    for label, start, end in store.rows(RANGES):
        # by time, since the workload waits inside each step and launches through the driver, past what is recorded
        mine = chosen[(ops.start[chosen] >= start) & (ops.end[chosen] <= end)][1:]
        if len(mine) > 1:
            found[label] = _middle(ops.start[mine][1:] - ops.end[mine][:-1]) / 1e3
    return found


def _middle(gaps: Ints) -> float:
    """Mean of the middle nine tenths: times come in ticks of 32 ns, and a chain may be run twice in a step."""
    cut = len(gaps) // 20
    return float(np.mean(np.sort(gaps)[cut : len(gaps) - cut]))


def merged(document: dict[str, Any], parts: list[dict[str, Any]], gaps: dict[str, float]) -> dict[str, Any]:
    """The document with traced gaps in the rows of one branch; ramp is the untraced cost less them."""
    traced = {part["name"]: _values(part, gaps) for part in parts}
    rows = [_row(row, traced.get(f"{row['kernel']} {row['mode']}", [])) for row in document["rows"]]
    text = "from an op's end to the next op's start in a trace of the collector, where one branch is measured"
    return document | {"rows": rows, "definitions": document["definitions"] | {"visible_gap_us": text}}


def _values(part: dict[str, Any], gaps: dict[str, float]) -> list[float]:
    labels = (f"step/{n}" for n in range(part["first"], part["first"] + part["steps"]))
    return [gaps[label] for label in labels if label in gaps]


def _row(row: dict[str, Any], values: list[float]) -> dict[str, Any]:
    if row["branches"] != 1 or len(values) < 2:
        return row
    cost, gap = row["node_cost_us"], interval(values)
    half = float(np.hypot(cost["high"] - cost["value"], gap["high"] - gap["value"]))
    ramp = cost["value"] - gap["value"]
    new = {"value": ramp, "low": ramp - half, "high": ramp + half, "kind": "measured"}
    return row | {"visible_gap_us": gap, "ramp_us": new, "stamped_gap_us": row["visible_gap_us"]}


def main() -> None:
    """Record the chains, write the document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("nodes", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    document = json.loads(given.nodes.read_text())
    with tempfile.TemporaryDirectory(prefix="stepprof-nodes-") as name:
        launched = launch("collector", [sys.executable, str(WORKLOAD), "--steps", "20"], Path(name), 300)
        if launched.fault or launched.trace is None:
            sys.exit(f"the chains could not be recorded: {launched.fault}")
        store = open_run(launched.trace)
        gaps = step_gaps(store)
        store.close()
    text = json.dumps(merged(document, launched.parts, gaps), indent=1)
    given.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
