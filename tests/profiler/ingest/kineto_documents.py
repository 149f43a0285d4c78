"""Small Kineto traces as text, and what stepprof reads from them.

loaded = load(tmp_path, document(call(1), kernel(10)))
loaded.counts, loaded.codes
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepprof.profiler.ingest.importer import Extras, import_run, summary
from stepprof.profiler.store import Store, open_run

BASE = 1_790_857_026_000_000_000
PID = 100


def event(cat: str, name: str, ts: Any, dur: Any = 1.0, **fields: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": PID, "ts": ts, "dur": dur} | fields


def call(correlation: int, ts: Any = 1.0, name: str = "cudaLaunchKernel", **fields: Any) -> dict[str, Any]:
    return event("cuda_runtime", name, ts, args={"cbid": 211, "correlation": correlation}, **fields)


def kernel(ts: Any, dur: Any = 1.0, name: str = "gemm", correlation: Any = 1, **args: Any) -> dict[str, Any]:
    more = {"device": 0, "context": 1, "stream": 7, "correlation": correlation, "grid": [2, 3, 4], "block": [32, 1, 1]}
    return event("kernel", name, ts, dur, pid=0, tid=7, args=more | args)


def document(*events: Any, **meta: Any) -> str:
    device = {"id": 0, "name": "NVIDIA H200", "numSms": 132}
    head = {"schemaVersion": 1, "deviceProperties": [device], "baseTimeNanoseconds": BASE}
    return json.dumps(head | meta | {"traceEvents": list(events)})


@dataclass
class Loaded:
    """A run and its summary."""

    store: Store
    summary: dict[str, Any]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Kernels, API calls, ranges."""
        return self.summary["counts"]["kernel"], self.summary["counts"]["api"], self.summary["counts"]["range"]

    @property
    def codes(self) -> dict[str, int]:
        """Warnings by code, without those that any tiny trace has."""
        common = {"op_without_call"}
        return {w["code"]: w["count"] for w in self.summary["warnings"] if w["code"] not in common}

    @property
    def kernels(self) -> list[tuple[Any, ...]]:
        """(name, start, end) of the kernels."""
        return self.store.rows(
            "SELECT text, start_ns, end_ns FROM op JOIN name USING (name_id) ORDER BY start_ns, text"
        )


def load(folder: Path, content: str | bytes, name: str = "trace.json") -> Loaded:
    path, out = folder / name, folder / "run.duckdb"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    import_run(path, out, Extras(), force=True)
    store = open_run(out)
    return Loaded(store, summary(store))
