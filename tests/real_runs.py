"""Real captures for tests: those that come with the project, and a corpus where there is one.

    found = attributed("h200x2_graph.sqlite")        # skips the test where the file is not at hand

The corpus is the folder named by STEPPROF_TRACE_CORPUS, with its expected.json.
"""

from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.attribution import Attribution, Question, attribute
from stepprof.profiler.demo import DATA, EDGES
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, open_run

TEST_DATA = Path(__file__).with_name("data")
CORPUS = Path(os.environ["STEPPROF_TRACE_CORPUS"]) if "STEPPROF_TRACE_CORPUS" in os.environ else None
NSYS_FILES = (
    "h200x2_graph.sqlite",
    "h200x2_eager.sqlite",
    "h200x2_overlap.sqlite",
    "h200_hf_deepseek_compile.sqlite",
    "h200_hf_deepseek_eager.sqlite",
)

_folder = tempfile.TemporaryDirectory(prefix="stepprof-tests-")


def find(name: str) -> Path:
    """The capture of this name (as in expected.json), gzip or not; skips where there is none."""
    folders = [folder for folder in (DATA, TEST_DATA, CORPUS) if folder is not None]
    for folder in folders:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    pytest.skip(f"{name} is not at hand; name its folder in STEPPROF_TRACE_CORPUS")


def run_of(name: str, edges: bool = False) -> Store:
    """The capture, imported once a test session."""
    return _run_of(name, edges)


def attributed(name: str, edges: bool = False, question: Question | None = None) -> Attribution:
    """The capture, accounted for once a test session."""
    return _attributed(name, edges, question)


@cache
def _run_of(name: str, edges: bool) -> Store:
    out = Path(_folder.name) / f"{name.replace('/', '-')}{'-edges' if edges else ''}.duckdb"
    import_run(find(name), out, Extras(edges=EDGES if edges else None))
    return open_run(out)


@cache
def _attributed(name: str, edges: bool, question: Question | None) -> Attribution:
    return attribute(run_of(name, edges), question)


def expected(name: str) -> dict[str, Any]:
    """What an independent count found in a file of the corpus."""
    if CORPUS is None:
        pytest.skip("STEPPROF_TRACE_CORPUS names no corpus")
    return json.loads((CORPUS / "expected.json").read_text())["files"][name]
