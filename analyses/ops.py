"""The ops of a run as arrays, in order of their start: what every analysis works on.

    ops = load_ops(store)
    ops.end - ops.start        # durations, ns
    ops.names[ops.name[i]]     # name of op i

A *launch* is the API call that issued ops: one op for a kernel launch, hundreds
for a CUDA graph. Ops without a correlation get a launch of their own without a call.
Ops of resident kernels (residents.py) are kept apart and belong to no launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepprof.analyses.residents import Residents, set_apart
from stepprof.analyses.rules import RuleSet, load_rules
from stepprof.profiler.store import Store

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

SQL = Path(__file__).with_suffix(".sql")
UNKNOWN = -1
ACTIVITIES = ("kernel", "memcpy", "memset")


@dataclass(frozen=True)
class Launches:
    """API calls that issued ops; times are UNKNOWN (-1) where no call is on record."""

    process: Ints
    thread: Ints
    call_start: Ints  # ns
    call_end: Ints  # ns
    graph: Bools


@dataclass(frozen=True)
class Ops:
    """One entry an op, sorted by (start, end)."""

    op_id: Ints
    start: Ints  # ns
    end: Ints  # ns
    device: Ints
    process: Ints
    stream: Ints  # small id of (process, device, context, stream)
    activity: Ints  # index into ACTIVITIES
    name: Ints  # index into names
    launch: Ints  # index into launches
    node: Ints  # capture-time graph node, UNKNOWN outside graphs
    names: list[str]
    launches: Launches
    residents: Residents  # set apart: in none of the other arrays

    def __len__(self) -> int:
        return len(self.start)

    @property
    def in_graph(self) -> Bools:
        """True for ops of a graph launch."""
        return self.launches.graph[self.launch]

    @property
    def duration(self) -> Ints:
        """Durations, ns."""
        return self.end - self.start

    @property
    def sidecar_known(self) -> bool:
        """Whether a second card is on record: by ops, by a resident kernel, or by the calls that one stamped."""
        return len(np.union1d(self.device, self.residents.device)) > 1 or self.residents.calls > 0


def load_ops(store: Store, rules: RuleSet | None = None) -> Ops:
    """All ops of a run with their launches; those that the rules (default: built-in) call resident set apart."""
    residents = set_apart(store, rules or load_rules())
    store.con.execute(SQL.read_text())
    columns = store.arrays(
        """SELECT op_id, start_ns AS start, end_ns AS "end", op.device, op.process, stream_key AS stream,
               enum_code(activity) AS activity, name_id, launch, coalesce(origin_node, -1) AS node
           FROM _passing op
           LEFT JOIN _launch USING (process, correlation)
           JOIN _stream s ON s.process = op.process AND s.device = op.device
               AND s.context IS NOT DISTINCT FROM op.context AND s.stream IS NOT DISTINCT FROM op.stream
           ORDER BY start_ns, end_ns, op_id"""
    )
    names, index = _names(store, columns.pop("name_id"))
    launch, launches = _launches(store, columns.pop("launch"), _ints(columns["process"]))
    ints = {key: _ints(value) for key, value in columns.items()}
    return Ops(**ints, name=index, names=names, launch=launch, launches=launches, residents=residents)


def _ints(values: np.ndarray) -> Ints:
    """A column as plain int64, NULL as UNKNOWN."""
    if isinstance(values, np.ma.MaskedArray):
        values = values.filled(UNKNOWN)
    return values.astype(np.int64, copy=False)


def _names(store: Store, name_id: np.ndarray) -> tuple[list[str], Ints]:
    """Distinct texts, and for each op the index of its text; two ids may share one text."""
    table = store.rows(
        "SELECT name_id, text FROM name WHERE name_id IN (SELECT DISTINCT name_id FROM _passing) ORDER BY 1"
    )
    texts = sorted({text for _, text in table})
    at = {text: i for i, text in enumerate(texts)}
    ids = np.array([i for i, _ in table], dtype=np.int64)
    codes = np.array([at[text] for _, text in table], dtype=np.int64)
    return texts, codes[np.searchsorted(ids, name_id)] if len(ids) else np.zeros(0, np.int64)


def _launches(store: Store, launch: np.ndarray, process: Ints) -> tuple[Ints, Launches]:
    """Launch index of each op and the launches; ops without one get their own at the end."""
    table = store.arrays("SELECT process, thread, call_start_ns, call_end_ns, graph FROM _launch ORDER BY launch")
    index = _ints(launch).copy()
    alone = np.flatnonzero(index == UNKNOWN)
    index[alone] = len(table["process"]) + np.arange(len(alone))
    none = np.full(len(alone), UNKNOWN, dtype=np.int64)
    return index, Launches(
        process=np.concatenate([_ints(table["process"]), process[alone]]),
        thread=np.concatenate([_ints(table["thread"]), none]),
        call_start=np.concatenate([_ints(table["call_start_ns"]), none]),
        call_end=np.concatenate([_ints(table["call_end_ns"]), none]),
        graph=np.concatenate([table["graph"].astype(bool), np.zeros(len(alone), bool)]),
    )
