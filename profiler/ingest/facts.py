"""`--facts FILE.jsonl` and `--costs FILE.jsonl`: what a server knows and no trace can say.

A facts line with a `layer` is a sidecar call, one without is a step:

    {"step": 3, "drafted": 5, "kept": 4, "batch": 1, "class": "code", "context_length": 512, "gpu_ns": 9000000}
    {"step": 3, "layer": 7, "rows": 2, "experts": 3, "skipped": false}

A call may also name its experts, "expert_numbers": [5, 7, 9], which `stepprof placement` needs.

A costs line: {"label": "…", "bytes_read": 1, "bytes_written": 1, "flops": 1, "source": "counted"}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from stepprof.profiler.ingest.json_lines import Amount, Count, decode, insert, lines
from stepprof.profiler.store import Store

CALL = re.compile(rb'"layer"\s*:')


class StepFact(msgspec.Struct, forbid_unknown_fields=True):
    """One step; every count may be absent."""

    step: Amount
    drafted: Count | None = None
    kept: Count | None = None
    batch: Count | None = None
    class_: str | None = msgspec.field(default=None, name="class")
    context_length: Amount | None = None
    gpu_ns: Amount | None = None


class CallFact(msgspec.Struct, forbid_unknown_fields=True):
    """One sidecar call."""

    step: Amount
    layer: Count
    rows: Count | None = None
    experts: Count | None = None
    skipped: bool | None = None
    expert_numbers: list[Count] | None = None


class OpCost(msgspec.Struct, forbid_unknown_fields=True):
    """Traffic and arithmetic of an op by label or name."""

    label: str
    bytes_read: Amount | None = None
    bytes_written: Amount | None = None
    flops: Amount | None = None
    source: str | None = None


def load_facts(path: Path, store: Store) -> None:
    """Fill step_fact and call_fact from a facts file, each anew where the file has lines for it."""
    steps: list[StepFact] = []
    calls: list[CallFact] = []
    for number, line in lines(path):
        if CALL.search(line):
            calls.append(decode(path, number, line, CallFact))
        else:
            steps.append(decode(path, number, line, StepFact))
    _insert_anew(store, "step_fact", steps)
    for call in calls:
        if call.experts is None and call.expert_numbers is not None:
            call.experts = len(set(call.expert_numbers))
    _insert_anew(store, "call_fact", calls)


def load_costs(path: Path, store: Store) -> None:
    """Fill op_cost anew from a costs file."""
    _insert_anew(store, "op_cost", [decode(path, n, line, OpCost) for n, line in lines(path)])


def _insert_anew(store: Store, table: str, rows: Sequence[msgspec.Struct]) -> None:
    """In place of what a copied run file has of the kind."""
    if rows:
        store.con.execute(f"DELETE FROM {table}")
    insert(store, table, rows)
