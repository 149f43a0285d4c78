"""CPU operators of a Kineto trace as stand-ins for GPU ops: for `stepprof capture` on a machine without a GPU.

    stand_in(store)        # after the events are loaded with Rows(..., cpu_ops=True)

Only a capture asks for it. Any other trace without GPU ops is refused by the analyses: its operators say when
the host was busy, not what a GPU did.
"""

from __future__ import annotations

from pathlib import Path

from stepprof.profiler.store import Store

SQL = Path(__file__).with_suffix(".sql")
TABLE = """
CREATE TEMP TABLE _cpu_op (
    number BIGINT, process INTEGER, thread BIGINT, start_ns BIGINT, end_ns BIGINT, name_id BIGINT
)
"""
CODE = "cpu_stand_in"
TEXT = "No GPU was used: operators of the CPU stand in for GPU ops, so times are measured, but of the CPU."


def make_room(store: Store) -> None:
    """The table that takes the operators while events are read."""
    store.con.execute(TABLE)


def stand_in(store: Store) -> None:
    """Make ops of the operators where the trace holds no GPU op, with a warning that goes into every output."""
    if store.value("SELECT count(*) FROM op"):
        return
    store.con.execute(SQL.read_text())
    store.warn(CODE, store.value("SELECT count(*) FROM op"), TEXT)
