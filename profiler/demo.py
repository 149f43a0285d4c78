"""The capture that comes with stepprof: a graph over two H200s, both busy at once.

Source: our own nsys capture of 2026-11-29 (driver 580, CUDA 13.0, torch 2.11), machine
details removed; its graph edges were recorded through CUPTI in another run of the program.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from stepprof.profiler.ingest.importer import Extras, import_run

DATA = Path(__file__).with_name("demo_data")
TRACE = DATA / "h200x2_overlap.sqlite.gz"
EDGES = DATA / "h200x2_overlap.edges.tsv.gz"
PROPOSALS = DATA / "proposals.toml"  # what people have proposed for such a step


@contextmanager
def demo_run() -> Generator[Path]:
    """The demo capture as a run file that lives as long as the block."""
    with tempfile.TemporaryDirectory(prefix="stepprof-demo-") as folder:
        run = Path(folder) / "demo.duckdb"
        import_run(TRACE, run, Extras(edges=EDGES))
        yield run
