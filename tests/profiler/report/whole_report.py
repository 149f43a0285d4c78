"""A report with every section: the demo capture with proposals, a bench file, scores and another capture to compare."""

from __future__ import annotations

import json
from pathlib import Path

from stepprof.analyses.attribution import Question
from stepprof.analyses.sidecar.answer import SidecarQuestion
from stepprof.analyses.sidecar.floor import Quoted
from stepprof.profiler.commands.report_beside import Files, answered
from stepprof.profiler.report.html.beside import Beside
from tests.real_runs import attributed, run_of
from tests.repository import ROOT
from tests.trace_builder import TraceBuilder

MS = 1_000_000

TRACE, OTHER = "h200x2_overlap.sqlite", "h200x2_graph.sqlite"
FLOOR = SidecarQuestion(quoted=Quoted(12_582_912, 4000))
PROPOSALS = ROOT / "docs/examples/proposals.toml"
P50 = {"call": {1: 82.9, 2: 99.4, 4: 133.4}, "persistent": {1: 80.5, 2: 100.4, 4: 131.1}}  # saves 2.4, −1.0, 2.3
SCORE = {
    "proposal": "norms", "trace": "t", "predicted_step_ms": 10.9, "measured_step_ms": 10.95, "predicted_saving_ms": 0.1,
    "interval_ms": [0.05, 0.15], "measured_saving_ms": 0.06, "noise_floor_ms": 0.02, "null_sum_of_work_ms": 0.2,
    "human_estimate_ms": None, "date": "2026-11-29", "gpu": "NVIDIA H200", "command": "stepprof whatif",
}  # fmt: skip


def bench_document(bar_us: float = 20.0) -> dict[str, object]:
    """Two modes at three numbers of rows."""
    results = [
        {"name": "sidecar call", "rows": rows, "mode": mode, "p50_us": {"value": us, "kind": "quoted"}}
        for mode, cells in P50.items()
        for rows, us in cells.items()
    ]
    return {"bench": "sidecar", "bar_us": {"value": bar_us, "kind": "quoted"}, "results": results}


def whole_beside(folder: Path) -> Beside:
    """Every answer; the comparison has one launch an arm and is refused."""
    (folder / "bench.json").write_text(json.dumps(bench_document()))
    (folder / "scores.json").write_text(json.dumps([SCORE]))
    store, other = run_of(TRACE, edges=True), run_of(OTHER)
    files = Files(
        bench=folder / "bench.json", proposals=PROPOSALS, scores=folder / "scores.json", kept=5.27, vs=(other.path,)
    )
    return answered(files, Question(), FLOOR, store.path, store, attributed(TRACE, edges=True), None)


def with_facts() -> TraceBuilder:
    """Four steps of 10 ms that keep 3, 3 and 6 tokens; the last has no period."""
    made = TraceBuilder()
    for n, kept in enumerate((3, 3, 6, 1)):
        at = 10 * MS * n
        made.range(f"step/{n}", at, at + 10 * MS - 1).kernel("a", at + 3, at + 5, call=(at + 1, at + 2))
        made.step_fact(n, drafted=5, kept=kept, batch=1)
    return made
