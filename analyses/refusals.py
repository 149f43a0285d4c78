"""What a trace cannot answer, told before anything is computed from it.

A trace without kernels, with kernels hidden in graphs, with too many lost replays,
or of a capture only would show an idle GPU; it is refused with the way out instead.
"""

from __future__ import annotations

from pathlib import Path

from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

SQL = Path(__file__).with_suffix(".sql")
NODE_MODE = "re-capture with nsys profile -t cuda,nvtx --cuda-graph-trace=node"
WITH_COLLECTOR = "record it with stepprof capture --backend cupti"
WITH_CUDA = "re-capture with torch.profiler and ProfilerActivity.CUDA"
LOST_LIMIT = 0.1  # share of graph launches that may be without ops


def refuse_unanswerable(store: Store) -> None:
    """Raise Refused where ops are missing so that no step can be accounted for."""
    store.con.execute(SQL.read_text())
    name = store.fact("source") or store.path.name
    ops = store.value("SELECT count(*) FROM op")
    captured, graphs, lost = store.rows(
        "SELECT count(*) FILTER (captured), count(*) FILTER (graph), count(*) FILTER (NOT captured) FROM _bare_launch"
    )[0]
    launches = store.value(
        "SELECT count(*) FROM api JOIN name USING (name_id) WHERE text SIMILAR TO '(cuda|cu|hip)GraphLaunch.*'"
    )
    if (launches and graphs == launches) or store.fact("graph_trace_rows"):
        raise Refused(
            f"{name}: {max(graphs, int(store.fact('graph_trace_rows') or 0))} of {launches} graph launches carry no "
            f"kernel records, so the kernels inside CUDA graphs are hidden: {NODE_MODE}."
        )
    if ops == 0:
        raise Refused(_no_ops(store, name, lost))
    if captured >= 50 and ops < 0.05 * captured:
        raise Refused(
            f"{name}: {captured} launches went into a graph capture and only {ops} ops ran, so this is a capture "
            "without replays: record some replays as well."
        )
    if launches and graphs > LOST_LIMIT * launches:
        raise Refused(
            f"{name}: {graphs} of {launches} graph launches carry no ops, so replays are under-recorded: "
            "record fewer steps at once, with larger profiler buffers."
        )


def _no_ops(store: Store, name: str, lost: int) -> str:
    ranges, calls = store.rows("SELECT (SELECT count(*) FROM range), (SELECT count(*) FROM api)")[0]
    held = f"{ranges} ranges and {calls} API calls"
    ways = {"kineto-json": WITH_CUDA, "records": WITH_COLLECTOR}
    way_out = ways.get(str(store.fact("format")), NODE_MODE)
    if lost:
        return f"{name}: {lost} kernel launches but no GPU activity is on record ({held}): {way_out}."
    return f"{name}: no GPU activity is on record ({held}): {way_out}, on the process that uses the GPU."
