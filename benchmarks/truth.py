"""A trace of the built-in model against its truth file, as one JSON document.

    stepprof run --preset mini --steps 12 --truth truth.json            # under nsys, node mode
    python benchmarks/truth.py mini.sqlite truth.json --edges edges.tsv

`--edges` writes the truth's graph edges in the form that `stepprof import --edges` takes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from stepprof.analyses.attribution import attribute
from stepprof.analyses.truth import compare, edge_lines, match
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import open_run


def main() -> None:
    """Import, match, print one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--edges", type=Path, help="write the truth's edges here, for stepprof import --edges")
    given = parser.parse_args()
    truth = json.loads(given.truth.read_text())
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.duckdb"
        import_run(given.trace, run, Extras())
        matched = match(attribute(open_run(run)), truth)
        print(json.dumps(compare(matched, truth)))
        if given.edges:
            given.edges.write_text("\n".join(edge_lines(matched, truth)) + "\n")


if __name__ == "__main__":
    main()
