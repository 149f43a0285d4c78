"""Whether two recordings of one program agree: our collector against nsys, op by op; one JSON line comes out.

    python benchmarks/capture_agreement.py OURS.duckdb NSYS.duckdb [--edges EDGES.tsv.gz]

Both runs must be of the same command. Ops are matched by step and by the graph node made at capture, whose
ids are the same from launch to launch; durations are trimmed means over the replays. Two runs of one tool tell
how far launches differ by themselves. `edges` compares the recorded edges of OURS with a file of them (the ids
of the same program). Exit code 3 where a bar is missed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution, attribute
from stepprof.analyses.statistics.series import trimmed_mean
from stepprof.profiler.ingest.cache import cached_run
from stepprof.profiler.ingest.importer import Extras
from stepprof.profiler.store import Store, open_run

SHORTEST_NS = 2000  # below, durations are not compared
CLOSE = 0.01
TICK_NS = 32  # the step of an H200's clock: durations are multiples of it, give or take 1 (share in `on_tick`)
Nodes = dict[int, tuple[str, int, float]]  # origin node -> name, device, mean ns without the outer tenths


@dataclass(frozen=True)
class Run:
    """A run and what its analyses found."""

    store: Store
    found: Attribution


def plain_name(name: str) -> str:
    """A kernel's qualified name without arguments: demanglers differ in what they print of these."""
    name = name.replace("(anonymous namespace)", "<unnamed>").replace("<unnamed>", "@")
    name = re.split(r"[<(]", name, maxsplit=1)[0].strip()
    return name.rpartition(" ")[2]


def step_ops(run: Run) -> list[Counter[str]]:
    """How often each name runs, a step."""
    found = run.found
    rows = dict(run.store.rows("SELECT op_id, text FROM op JOIN name USING (name_id)"))
    counts: list[Counter[str]] = [Counter() for _ in range(len(found.steps))]
    for op, step in zip(found.ops.op_id.tolist(), found.steps.of_op.tolist(), strict=True):
        if step >= 0:
            counts[step][plain_name(rows[op])] += 1
    return [counts[i] for i in found.steps.usable]


def nodes(store: Store) -> Nodes:
    """Ops of graph replays by the node made at capture."""
    rows = store.rows("""
        SELECT origin_node, any_value(text), any_value(device), list(end_ns - start_ns)
        FROM op JOIN name USING (name_id) WHERE graph_node IS NOT NULL GROUP BY origin_node""")
    return {node: (plain_name(text), device, trimmed_mean(np.array(ns))) for node, text, device, ns in rows}


def on_tick(store: Store) -> float:
    """Share of durations that are a multiple of the clock's step, give or take 1 ns."""
    share = f"avg(((end_ns - start_ns + 1) % {TICK_NS} <= 2)::INT)"
    return float(store.value(f"SELECT {share} FROM op WHERE graph_node IS NOT NULL"))


def close(ns: float, other_ns: float, least_ns: float = 0) -> bool:
    """Within 1 %, or within `least_ns`."""
    return abs(ns - other_ns) <= max(CLOSE * other_ns, least_ns)


def compared(ours: Run, theirs: Run) -> dict[str, Any]:
    """Figures on which the two recordings should agree."""
    a, b = nodes(ours.store), nodes(theirs.store)
    both = a.keys() & b.keys()
    long = [node for node in both if min(a[node][2], b[node][2]) > SHORTEST_NS]
    pairs = [(a[node][2], b[node][2]) for node in long]
    ratios = [ns / other_ns for ns, other_ns in pairs]
    mine, other = step_ops(ours), step_ops(theirs)
    typical = Counter(json.dumps(sorted(step.items())) for step in other).most_common(1)
    same = sum(json.dumps(sorted(step.items())) == typical[0][0] for step in mine) if typical else 0
    return {
        "steps": [len(mine), len(other)],
        "ops_a_step": [median(sum(s.values()) for s in found) if found else 0 for found in (mine, other)],
        "steps_equal_to_theirs": same,
        "nodes": [len(a), len(b), len(both)],
        "names_differ": sorted({(a[n][0], b[n][0]) for n in both if a[n][:2] != b[n][:2]})[:10],
        "durations_compared": len(ratios),
        "durations_close": mean(close(*pair) for pair in pairs) if pairs else None,
        "durations_close_or_one_tick": mean(close(*pair, TICK_NS) for pair in pairs) if pairs else None,
        "work_ratio": sum(ns for ns, _ in pairs) / sum(ns for _, ns in pairs) if pairs else None,
        "on_tick": on_tick(ours.store),
        "duration_ratio_p50": median(ratios) if ratios else None,
        "worst": by_name(a, b, long),
        "labelled": labelled_share(ours.found),
        "dropped": ours.store.value("SELECT value FROM manifest WHERE key = 'dropped_records'"),
        "tracing_inflation": ours.found.tracing_inflation,
    }


def by_name(a: Nodes, b: Nodes, chosen: list[int]) -> dict[str, float]:
    """The names whose durations differ most, with their ratio."""
    ratios: defaultdict[str, list[float]] = defaultdict(list)
    for node in chosen:
        ratios[a[node][0]].append(a[node][2] / b[node][2])
    middle = {name: median(found) for name, found in ratios.items()}
    return dict(sorted(middle.items(), key=lambda item: -abs(item[1] - 1))[:5])


def labelled_share(found: Attribution) -> float:
    """Share of graph ops that carry a range of the program."""
    inside = (found.ops.node >= 0) & (found.steps.of_op >= 0)
    return float((found.labels.of_op[inside] >= 0).mean()) if inside.any() else 0.0


def edges_compared(ours: Store, path: Path) -> dict[str, int]:
    """Recorded edges of ours against those of a file (lines `E callback from to`)."""
    mine = {(a, b) for a, b in ours.rows("SELECT DISTINCT from_node, to_node FROM graph_edge")}
    lines = [line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    theirs = {(int(words[2]), int(words[3])) for words in lines if words[0] == "E"}
    return {"ours": len(mine), "theirs": len(theirs), "both": len(mine & theirs)}


def opened(path: Path) -> Run:
    """A run file or a trace, accounted for."""
    store = open_run(cached_run(path, Extras()))
    return Run(store, attribute(store))


def main() -> None:
    """Print the figures; leave with 3 where the recordings disagree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ours", type=Path)
    parser.add_argument("theirs", type=Path)
    parser.add_argument("--edges", type=Path)
    given = parser.parse_args()
    ours, theirs = opened(given.ours), opened(given.theirs)
    found = compared(ours, theirs)
    if given.edges:
        found["edges"] = edges_compared(ours.store, given.edges)
    edges = found.get("edges", {"ours": 0, "theirs": 0, "both": 0})
    good = (
        found["steps_equal_to_theirs"] == found["steps"][0]
        and found["nodes"][0] == found["nodes"][2] == found["nodes"][1]
        and not found["names_differ"]
        and found["labelled"] == 1
        and abs((found["duration_ratio_p50"] or 1) - 1) <= CLOSE
        and len(set(edges.values())) == 1
    )
    print(json.dumps({"agree": good, **found}))
    sys.exit(0 if good else 3)


if __name__ == "__main__":
    main()
