"""Predictions of what the built-in model's switches change, put on record before they run and scored after.

    stepprof capture --backend cupti -o control.duckdb -- stepprof run --preset mini --prompts code --steps 60
    python benchmarks/whatif_mini.py predict control.duckdb --before benchmarks/receipts/switches_mini.json
    git commit benchmarks/receipts/whatif_scores.json
    python benchmarks/switches.py --preset mini --rounds 4 --receipt benchmarks/receipts/switches_mini.json
    python benchmarks/whatif_mini.py score control.duckdb benchmarks/receipts/switches_mini.json

Proposals (whatif_mini.toml; whatif_flash.toml with --proposals) carry the names of switches.py's variants.
`--before` is a receipt whose control launches say what an untraced step takes today; without it the capture's
own untraced control says so. Each batch is scored against its own controls. Needs no GPU itself.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stepprof.analyses.attribution import attribute
from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.whatif.answer import evaluate
from stepprof.analyses.whatif.proposals import read_proposals
from stepprof.analyses.whatif.score import measured, prediction
from stepprof.analyses.whatif.scores import Score, append, fill, read_scores
from stepprof.analyses.whatif.settings import Figures, settings_of
from stepprof.analyses.whatif.track_record import track_record
from stepprof.profiler.commands.whatif_score import HASH, untraced_step
from stepprof.profiler.ingest.importer import content_hash
from stepprof.profiler.store import open_run

HERE = Path(__file__).parent
SCORES = HERE / "receipts" / "whatif_scores.json"
FEWEST = 2  # launches of a variant


def trace_id(trace: Path) -> str:
    """As stepprof whatif names a trace."""
    return f"{trace.name} {content_hash(trace)[:HASH]}"


def launches(receipt: dict[str, Any]) -> dict[str, list[float]]:
    """Step of each launch by variant, ms."""
    return {row["variant"]: row["launches_ms"] for row in receipt["rows"]}


def predicted(
    trace: Path, proposals: Path, before: dict[str, Any] | None, nodes: Path | None, names: Sequence[str] = ()
) -> list[Score]:
    """One entry a proposal, or one for each of `names`, from the control's trace alone."""
    store = open_run(trace)
    try:
        found = attribute(store)
        graph = build_graph(found, store)
        answer = evaluate(graph, read_proposals(proposals), settings_of(store, found, graph, Figures(nodes=nodes)))
        step = statistics.median(launches(before)["control"]) if before else untraced_step(store)
    finally:
        store.close()
    if step is None:
        raise SystemExit(f"{trace} has no untraced control: give --before RECEIPT.")
    today, command = datetime.now(UTC).strftime("%Y-%m-%d"), f"python benchmarks/whatif_mini.py predict {trace.name}"
    names = names or [one.name for one in answer.proposals]
    return [prediction(answer, name, trace_id(trace), step, today, command) for name in names]


def scored(trace: Path, receipt: dict[str, Any], scores: Path) -> list[str]:
    """Fill every waiting entry of the trace that the receipt has launches of; a sentence on each."""
    found, said = launches(receipt), list[str]()
    for entry in [score for score in read_scores(scores) if score.pending and score.trace == trace_id(trace)]:
        control, candidate = found["control"], found.get(entry.proposal, [])
        if min(len(control), len(candidate)) < FEWEST:
            said.append(f"{entry.proposal}: {len(candidate)} launches, still waits")
            continue
        if receipt.get("gpu") and receipt["gpu"] != entry.gpu:
            raise SystemExit(f"predicted for {entry.gpu}, measured on {receipt['gpu']}: run the switches there.")
        done = fill(scores, measured(entry, control, candidate))
        said.append(
            f"{done.proposal}: {done.predicted_saving_ms:+.4f} predicted, {done.measured_saving_ms:+.4f} measured"
        )
    return said


def main() -> None:
    """predict or score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--scores", type=Path, default=SCORES)
    tasks = parser.add_subparsers(dest="task", required=True)
    predict = tasks.add_parser("predict", help="put predictions on record")
    predict.add_argument("trace", type=Path)
    predict.add_argument("--proposals", type=Path, default=HERE / "whatif_mini.toml")
    predict.add_argument("--names", type=lambda text: text.split(","), default=[], help="some of them, with commas")
    predict.add_argument("--before", type=Path, help="receipt of switches.py with control launches")
    predict.add_argument("--nodes", type=Path, help="answer of stepprof bench nodes --json")
    score = tasks.add_parser("score", help="write what was measured beside them")
    score.add_argument("trace", type=Path)
    score.add_argument("receipt", type=Path, help="receipt of switches.py")
    given = parser.parse_args()
    if given.task == "predict":
        before = json.loads(given.before.read_text()) if given.before else None
        made = predicted(given.trace, given.proposals, before, given.nodes, given.names)
        append(given.scores, *made)
        print("\n".join(f"{entry.proposal}: {entry.predicted_saving_ms:+.4f} ms" for entry in made))
    else:
        print("\n".join(scored(given.trace, json.loads(given.receipt.read_text()), given.scores)))
    print(track_record(given.scores))


if __name__ == "__main__":
    main()
