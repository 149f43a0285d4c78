"""`--facts FILE.jsonl` and `--costs FILE.jsonl`: what a server knows and no trace can say.

A facts line with a `layer` is a sidecar call, one without is a step:

    {"step": 3, "drafted": 5, "kept": 4, "batch": 1, "class": "code", "context_length": 512, "gpu_ns": 9000000}
    {"step": 3, "layer": 7, "rows": 2, "experts": 3, "skipped": false}

A costs line: {"label": "…", "bytes_read": 1, "bytes_written": 1, "flops": 1, "source": "counted"}
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.side_file import side_bytes
from stepprof.profiler.store import Store

T = TypeVar("T", bound=msgspec.Struct)
Count = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
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


class OpCost(msgspec.Struct, forbid_unknown_fields=True):
    """Traffic and arithmetic of an op by label or name."""

    label: str
    bytes_read: Amount | None = None
    bytes_written: Amount | None = None
    flops: Amount | None = None
    source: str | None = None


def load_facts(path: Path, store: Store) -> None:
    """Fill step_fact and call_fact from a facts file."""
    steps: list[tuple[Any, ...]] = []
    calls: list[tuple[Any, ...]] = []
    for number, line in _lines(path):
        fact = _decode(path, number, line, CallFact if CALL.search(line) else StepFact)
        (calls if isinstance(fact, CallFact) else steps).append(msgspec.structs.astuple(fact))
    _insert(store, "INSERT INTO step_fact VALUES (?, ?, ?, ?, ?, ?, ?)", steps)
    _insert(store, "INSERT INTO call_fact VALUES (?, ?, ?, ?, ?)", calls)


def load_costs(path: Path, store: Store) -> None:
    """Fill op_cost from a costs file."""
    costs = [msgspec.structs.astuple(_decode(path, n, line, OpCost)) for n, line in _lines(path)]
    _insert(store, "INSERT INTO op_cost VALUES (?, ?, ?, ?, ?)", costs)


def _insert(store: Store, sql: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        store.con.executemany(sql, rows)


def _decode(path: Path, number: int, line: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise InputError(f"{path} line {number} is not a {kind.__name__} ({fault}): correct the line.") from None


def _lines(path: Path) -> list[tuple[int, bytes]]:
    return [(n, line) for n, line in enumerate(side_bytes(path).splitlines(), 1) if line.strip()]
