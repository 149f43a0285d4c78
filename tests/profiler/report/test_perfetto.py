"""The Perfetto file, read back: every op once, on tracks where nothing overlaps, with path, gaps and arrows."""

import gzip
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.profiler.report.perfetto import write_perfetto
from tests.profiler.report.two_branches import FORMULA, HOSTILE, two_branches
from tests.real_runs import attributed, run_of
from tests.trace_builder import TraceBuilder


def written(trace: TraceBuilder, folder: Path, chosen: list[int]) -> list[dict[str, Any]]:
    store = trace.store()
    write_perfetto(folder / "trace.json", store, attribute(store), chosen)
    return json.loads((folder / "trace.json").read_text())["traceEvents"]


def slices(events: list[dict[str, Any]], track: str) -> list[tuple[str, float, float]]:
    """(name, start, length) on the track of this name, in ns from the first step."""
    at = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    groups = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    return [
        (e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000))
        for e in events
        if e["ph"] == "X" and f"{groups[e['pid']]}/{at[e['pid'], e['tid']]}" == track
    ]


def test_a_step_lies_on_its_tracks(tmp_path: Path):
    events = written(two_branches(), tmp_path, [1])
    assert slices(events, "steps/steps") == [("step/1", 0, 100)]
    assert slices(events, "card 0: Test GPU 0/branch 0") == [("a", 10, 20), (HOSTILE, 30, 20), ("e", 74, 16)]
    assert slices(events, "card 0: Test GPU 0/branch 1") == [(FORMULA, 30, 30)]
    assert slices(events, "card 1: Test GPU 1/branch 0") == [("d", 62, 8)]
    assert sorted(slices(events, "critical path/exposed ops"), key=lambda s: s[1]) == [
        ("a", 10, 20),
        (FORMULA, 30, 30),
        ("d", 62, 8),
        ("e", 74, 16),
    ]
    assert [s[0] for s in slices(events, "critical path/gaps")] == [
        "host",
        "launch",
        "sidecar_wait",
        "sidecar_wait",
        "sync",
    ]
    assert slices(events, "host process 0/thread 0") == [("cudaGraphLaunch", 2, 4), ("step/1", 0, 100)]


def test_arrows_leave_and_reach_the_right_slices(tmp_path: Path):
    events = written(two_branches(), tmp_path, [0])
    arrows: dict[int, list[Any]] = defaultdict(list)
    for event in events:
        if event["ph"] in "sf":
            arrows[event["id"]].append((event["cat"], round(event["ts"] * 1000)))
    assert sorted(arrows.values()) == [
        [("edge", 29), ("edge", 30)],
        [("edge", 29), ("edge", 30)],
        [("edge", 49), ("edge", 74)],
        [("edge", 59), ("edge", 62)],
        [("edge", 69), ("edge", 74)],
        [("launch", 2), ("launch", 10)],
    ]


def test_counters_and_loose_ranges(tmp_path: Path):
    trace = two_branches().add("counter", time_ns=50, device=1, name="power_w", value=300.0)
    trace.range("request", 20, 250, nested=False).range("other", 30, 90, nested=False)
    events = written(trace, tmp_path, [0])
    assert [(e["name"], e["ts"], e["args"]) for e in events if e["ph"] == "C"] == [
        ("card 1 power_w", 0.05, {"value": 300.0})
    ]
    assert slices(events, "host process 0/ranges (1)") == [("request", 20, 230)]
    assert slices(events, "host process 0/ranges (2)") == [("other", 30, 60)]


def test_a_real_capture_is_whole(tmp_path: Path):
    found = attributed("h200x2_overlap.sqlite", edges=True)
    path = tmp_path / "trace.json.gz"
    write_perfetto(path, run_of("h200x2_overlap.sqlite", edges=True), found, range(len(found.steps)))
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    ops = [e for e in events if e["ph"] == "X" and e["pid"] in (10, 11)]
    assert len(ops) == len({e["args"]["op_id"] for e in ops}) == 8 * 1378
    by_track: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for e in ops:
        by_track[e["pid"], e["tid"]].append((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)))
    for spans in by_track.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    path_ns = sum(round(e["dur"] * 1000) for e in events if e["ph"] == "X" and e["pid"] == 2)
    assert path_ns == int(found.steps.wall.sum()) == 70_384_362
    kinds = Counter(e["ph"] for e in events)
    assert kinds["s"] == kinds["f"] == 12_000 + 8 + 7


@pytest.mark.parametrize("name", ["no/such/folder.json"])
def test_nothing_is_left_where_it_cannot_be_written(tmp_path: Path, name: str):
    store = two_branches().store()
    with pytest.raises(Exception, match=r"cannot be written \(No such file or directory\): choose another file"):
        write_perfetto(tmp_path / name, store, attribute(store), [0])
    assert list(tmp_path.iterdir()) == []
