"""`--edges FILE`: recorded CUDA graph edges -> table graph_edge.

Lines, separated by blanks or tabs, plain or gzip:

    N <callback> <node> <origin>        a node was made (origin 0) or cloned
    E <callback> <from> <to> [full|programmatic]

Ends are stored as the nodes made at capture, so that they hold for every replay.
Not covered: edges of child graphs as seen from outside.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.side_file import side_bytes
from stepprof.profiler.store import Store

KINDS = ("full", "programmatic")


def load_edges(path: Path, store: Store) -> None:
    """Add the edges of a file; InputError where it names no node of this run's ops."""
    origins, edges = _parse(path)
    if not edges:
        raise InputError(f"{path} holds no edge line (E callback from to): record the graph's edges again.")
    rows = sorted({(_origin(a, origins), _origin(b, origins), kind) for a, b, kind in edges})
    store.con.register(
        "edges", pa.table(dict(zip(("a", "b", "kind"), map(list, zip(*rows, strict=True)), strict=True)))
    )
    store.con.execute((Path(__file__).with_name("edges.sql")).read_text())
    store.con.unregister("edges")
    nodes = "SELECT from_node FROM graph_edge UNION SELECT to_node FROM graph_edge"
    matched = store.value(f"SELECT count(DISTINCT origin_node) FROM op WHERE origin_node IN ({nodes})")
    if not matched:
        raise InputError(f"{path} names no graph node of this trace: give edges recorded from the same program.")


def _parse(path: Path) -> tuple[dict[int, int], list[tuple[int, int, str]]]:
    origins: dict[int, int] = {}
    edges: list[tuple[int, int, str]] = []
    for number, line in enumerate(_lines(path), 1):
        try:
            _parse_line(line.split(), origins, edges)
        except (ValueError, IndexError):
            raise InputError(
                f"{path} line {number} is not 'N callback node origin' or 'E callback from to [kind]': "
                "record the edges again."
            ) from None
    return origins, edges


def _parse_line(words: list[str], origins: dict[int, int], edges: list[tuple[int, int, str]]) -> None:
    if not words or words[0].startswith("#"):
        return
    if words[0] == "N":
        node, origin = _node(words[2]), _node(words[3])
        if origin and origin != node:
            origins[node] = origin
    elif words[0] == "E":
        kind = words[4] if len(words) > 4 else "full"
        edges.append((_node(words[2]), _node(words[3]), KINDS[KINDS.index(kind)]))
    else:
        raise ValueError(words[0])


def _node(word: str) -> int:
    number = int(word)
    if not -(2**63) <= number < 2**63:
        raise ValueError(word)
    return number


def _origin(node: int, origins: dict[int, int]) -> int:
    for _ in range(8):
        if node not in origins:
            break
        node = origins[node]
    return node


def _lines(path: Path) -> list[str]:
    try:
        return side_bytes(path).decode().splitlines()
    except UnicodeDecodeError as fault:
        raise InputError(f"{path} cannot be read as an edge file ({fault}): check the path.") from None
