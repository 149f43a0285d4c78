"""A run's account as tables `step`, `op_account` and `gap` (account.sql), for SQL and for files.

add_account(store, found)
store.frame("SELECT role, sum(exposed_ns) FROM op_account GROUP BY role")
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.dependencies import SOURCES
from stepprof.analyses.gaps import CLASSES
from stepprof.analyses.lanes import lanes
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.vocabulary import CONFIDENCES, KINDS, PHASES, ROLES
from stepprof.profiler.store import Store

SQL = Path(__file__).with_suffix(".sql")


def add_account(store: Store, found: Attribution) -> None:
    """Make the three tables in the run's connection; they live in memory."""
    store.con.execute(SQL.read_text())
    for table, rows in (("step", step_rows(found)), ("op_account", op_rows(found)), ("gap", gap_rows(found))):
        store.con.register("_rows", rows)
        store.con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM _rows")
        store.con.unregister("_rows")


def step_rows(found: Attribution) -> pa.Table:
    """Table `step`: one row a step."""
    steps, w = found.steps, found.steps.windows
    usable = set(steps.usable)
    return pa.table(
        {
            "step": np.arange(len(steps)),
            "label": pa.array(steps.label, pa.string()),
            "phase": pa.array(steps.phase, pa.string()),
            "window": pa.array(["host" if host else "gpu" for host in w.host], pa.string()),
            "start_ns": w.start,
            "end_ns": w.end,
            "wall_ns": steps.wall,
            "gpu_start_ns": pa.array(w.gpu_start, mask=w.ops == 0),
            "gpu_end_ns": pa.array(w.gpu_end, mask=w.ops == 0),
            "ops": w.ops,
            "flags": pa.array(steps.flags, pa.list_(pa.string())),
            "usable": pa.array([i in usable for i in range(len(steps))], pa.bool_()),
        }
    )


def op_rows(found: Attribution) -> pa.Table:
    """Table `op_account`: one row an op of a step, in order of start."""
    ops, roles, deps = found.ops, found.roles, found.deps
    at = np.flatnonzero(found.steps.of_op != UNKNOWN)
    before = deps.predecessor[at]
    return pa.table(
        {
            "op_id": ops.op_id[at],
            "step": found.steps.of_op[at],
            "device": ops.device[at],
            "lane": lanes(ops, deps.predecessor, at),
            "start_ns": ops.start[at],
            "end_ns": ops.end[at],
            "exposed_ns": found.exposed()[at],
            "name": _words(ops.name[at], ops.names),
            "role": _words(roles.role[at], ROLES),
            "kind": _words(roles.kind[at], KINDS),
            "confidence": _words(roles.confidence[at], CONFIDENCES),
            "phase": _words(roles.phase[at], PHASES),
            "layer": pa.array(roles.layer[at], pa.int64(), mask=roles.layer[at] == UNKNOWN),
            "label": _paths(found, at),
            "waited_for": pa.array(ops.op_id[before], mask=before == UNKNOWN),
            "link": _words(np.where(before == UNKNOWN, UNKNOWN, deps.source[at]), SOURCES),
        }
    )


def gap_rows(found: Attribution) -> pa.Table:
    """Table `gap`: one row a piece of a gap."""
    gaps = found.gaps
    return pa.table(
        {"step": gaps.step, "class": _words(gaps.code, CLASSES), "start_ns": gaps.start, "end_ns": gaps.end}
    )


def _words(code: np.ndarray, words: tuple[str, ...] | list[str]) -> pa.DictionaryArray:
    """Codes as their words, UNKNOWN as NULL."""
    index = pa.array(code.astype(np.int32), mask=code == UNKNOWN)
    return pa.DictionaryArray.from_arrays(index, pa.array(list(words), pa.string()))


def _paths(found: Attribution, at: Ints) -> pa.Array:
    """Label paths of the ops; an empty list where there is none."""
    paths = pa.array([*map(list, found.labels.paths), []], pa.list_(pa.string()))
    return paths.take(pa.array(np.where(found.labels.of_op[at] == UNKNOWN, len(paths) - 1, found.labels.of_op[at])))
