"""An edge file becomes edges between the nodes made at capture."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.edges import load_edges
from stepprof.profiler.store import Store
from tests.trace_builder import NsysExport

Import = Callable[..., Store]  # fixture of conftest.py
EDGES = "SELECT from_node, to_node, kind FROM graph_edge ORDER BY ALL"


def graph() -> NsysExport:
    """Nodes 1 to 3 made at capture, 11 to 13 their clones, which run."""
    export = NsysExport().api("cudaGraphLaunch", 80, 85)
    for node in (1, 2, 3):
        export.node(node, 10).node(10 + node, 20, node).kernel(
            "gemm", 100 * node, 100 * node + 50, graphNodeId=10 + node
        )
    return export


@pytest.fixture
def edges(imported: Import, tmp_path: Path):
    """The edges stored for the lines of an edge file."""

    def load(*lines: str) -> list[tuple[int, int, str]]:
        (tmp_path / "edges.tsv").write_text("\n".join(lines) + "\n")
        return [(a, b, kind) for a, b, kind in imported(graph(), edges=tmp_path / "edges.tsv").rows(EDGES)]

    return load


def test_an_edge_between_captured_nodes(edges: Callable[..., object]):
    assert edges("E 1 1 2", "E\t1\t2\t3\tprogrammatic") == [(1, 2, "full"), (2, 3, "programmatic")]


def test_clones_lead_back_to_capture_by_the_trace(edges: Callable[..., object]):
    assert edges("E 1 11 12") == [(1, 2, "full")]


def test_clones_lead_back_to_capture_by_the_file(edges: Callable[..., object]):
    assert edges("N 1 1 0", "N 1 91 1", "N 1 191 91", "N 1 192 2", "E 1 191 192") == [(1, 2, "full")]


def test_an_edge_of_each_instantiation_is_one_edge(edges: Callable[..., object]):
    assert edges("E 1 1 2", "E 2 11 12", "E 2 1 2") == [(1, 2, "full")]


def test_comments_and_empty_lines_are_skipped(edges: Callable[..., object]):
    assert edges("# a comment", "", "  ", "E 1 1 2") == [(1, 2, "full")]


def test_nodes_without_an_op_are_kept(edges: Callable[..., object]):
    assert edges("E 1 1 50", "E 1 50 2") == [(1, 50, "full"), (50, 2, "full")]


def test_a_cycle_of_clones_in_the_file_ends(edges: Callable[..., list[tuple[int, int, str]]]):
    ((start, end, kind),) = edges("N 1 70 71", "N 1 71 70", "E 1 70 2")
    assert start in (70, 71) and (end, kind) == (2, "full")


def test_recorded_edges_are_certain(imported: Import, tmp_path: Path):
    (tmp_path / "edges.tsv.gz").write_bytes(gzip.compress(b"E 1 1 2\n"))

    store = imported(graph(), edges=tmp_path / "edges.tsv.gz")

    assert store.rows("SELECT process, source, confidence FROM graph_edge") == [(None, "recorded", 1.0)]


@pytest.mark.parametrize(
    "line",
    ["E 1 2", "E 1 a 2", "E 1 1 2 weak", "N 1 2", "X 1 1 2", "E", f"E 1 1 {2**63}", f"N 1 {-(2**64)} 1"],
    ids=["no end", "no number", "kind", "no origin", "letter", "bare", "huge", "huge node"],
)
def test_a_bad_line_is_named(line: str, imported: Import, tmp_path: Path):
    (tmp_path / "edges.tsv").write_text(f"E 1 1 2\n{line}\n")
    with pytest.raises(InputError, match=r"edges\.tsv line 2 is not 'N callback node origin' or"):
        imported(graph(), edges=tmp_path / "edges.tsv")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no edge line"),
        (b"N 1 1 0\n", "holds no edge line"),
        (b"E 1 77 78\n", "names no graph node of this trace"),
        (b"\xff\xfe", "cannot be read as an edge file"),
        (gzip.compress(b"E 1 1 2\n")[:-4], "is a damaged gzip file"),
    ],
    ids=["empty", "no edges", "another program", "no text", "cut gzip"],
)
def test_a_file_of_no_use(content: bytes, said: str, imported: Import, tmp_path: Path):
    (tmp_path / "edges").write_bytes(content)
    with pytest.raises(InputError, match=f"edges {said}"):
        imported(graph(), edges=tmp_path / "edges")


def test_an_absent_file(imported: Import, tmp_path: Path):
    with pytest.raises(InputError, match="absent cannot be read"):
        load_edges(tmp_path / "absent", imported(graph()))
