"""The built-in model on two H200s, recorded by nsys, against the truth it wrote about itself.

Preset `mini`, one graph over both cards, 12 steps; scrubbed. The truth file names every op's role,
kind and graph nodes, and the graph's edges.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.truth import compare, compare_edges, edge_lines, match
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import open_run
from tests.real_runs import attributed, find

NAME = "mini_h200x2.sqlite"
DECODE = range(2, 14)  # after the two warm-up steps, in which the graph is captured


@pytest.fixture(scope="module")
def truth():
    return json.loads(gzip.decompress((Path(__file__).parent.parent / "data/mini_h200x2.truth.json.gz").read_bytes()))


def test_every_op_has_its_label_role_and_kind(truth):
    found = compare(match(attributed(NAME), truth), truth)
    assert (found["nodes"], found["truth_ops"]) == (450, 402)
    assert found["labelled_share"] == found["role_share"] == found["role_and_kind_share"] == 1


def test_the_truths_edges_make_the_path_recorded(truth, tmp_path):
    lines = edge_lines(match(attributed(NAME), truth), truth)
    assert len(lines) == 545
    (tmp_path / "edges.tsv").write_text("\n".join(lines))
    import_run(find(NAME), tmp_path / "run.duckdb", Extras(edges=tmp_path / "edges.tsv"))
    store = open_run(tmp_path / "run.duckdb")
    sure, blind = attribute(store), attribute(store, use_edges=False)
    assert compare_edges(store, match(sure, truth), truth) == {"truth": 545, "recorded": 545, "equal": 545}
    less = {**truth, "edges": truth["edges"][1:]}
    assert compare_edges(store, match(sure, less), less) == {"truth": 544, "recorded": 545, "equal": 544}
    store.close()
    assert breakdown(sure, chosen=DECODE).path["recorded"] >= 0.99
    mine = np.isin(sure.steps.of_op, list(DECODE))
    same = np.minimum(sure.exposed(), blind.exposed())[mine].sum() / sure.exposed()[mine].sum()
    print(f"agreement of the inferred with the recorded walk on six branches: {same:.4f}")
    assert same >= 0.75


def test_a_step_whose_end_the_host_polls_for_is_not_all_host():
    """The engine asks an event 600 times a step; the graph's time is the graph's, not the host's."""
    result = breakdown(attributed(NAME), chosen=DECODE)
    host = sum(gap.share for gap in result.gaps if gap.class_ == "host")
    assert host < 0.15
    assert result.totals["exposed_ns"] > 0.5 * result.totals["wall_ns"]
