"""A trace of the built-in model against its truth file, as one JSON document.

    stepprof run --preset mini --steps 12 --truth truth.json            # under nsys, node mode
    python benchmarks/truth.py mini.sqlite truth.json --edges edges.tsv
    python benchmarks/truth.py captured.duckdb truth.json               # with the edges that capture recorded

`--edges` writes the truth's graph edges in the form that `stepprof import --edges` takes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from stepprof.analyses.attribution import attribute
from stepprof.analyses.truth import compare, compare_edges, edge_lines, match
from stepprof.profiler.ingest.cache import cached_run
from stepprof.profiler.ingest.importer import Extras
from stepprof.profiler.store import open_run


def main() -> None:
    """Import, match, print one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--edges", type=Path, help="write the truth's edges here, for stepprof import --edges")
    given = parser.parse_args()
    truth = json.loads(given.truth.read_text())
    store = open_run(cached_run(given.trace, Extras()))
    matched = match(attribute(store), truth)
    print(json.dumps({**compare(matched, truth), "edges": compare_edges(store, matched, truth)}))
    if given.edges:
        given.edges.write_text("\n".join(edge_lines(matched, truth)) + "\n")


if __name__ == "__main__":
    main()
