"""The facts file (`--facts FILE.jsonl`): what a trace cannot say, one line a step and one a sidecar call.

    {"step": 3, "drafted": 5, "kept": 4, "batch": 1, "class": "code", "context_length": 512, "gpu_ns": 9000000}
    {"step": 3, "layer": 7, "rows": 2, "experts": 3, "skipped": false}

`stepprof import --facts` reads it. Counts of a batch are sums over its sequences, the context length is the longest,
`gpu_ns` stands there with --gpu-times only: CUDA events around the step's graph.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from stepprof.kernels.resident import CallStamp
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import RuntimeFault
from stepprof.runtime.placement import Placement
from stepprof.runtime.state import Kept


class Facts:
    """An open facts file; a context."""

    def __init__(self, path: Path) -> None:
        try:
            self.stream = path.open("w")
        except OSError as fault:
            raise RuntimeFault(f"{path} cannot be written ({fault.strerror}): check --facts.") from None

    def note(self, engine: Engine, kept: Sequence[Kept], class_: str | None = None) -> None:
        """What the engine's latest step did: its line, and one for each sidecar call."""
        step, options = engine.state.steps - 1, engine.options
        total, longest = sum(len(one.tokens) for one in kept), max(one.context_length for one in kept)
        self.step(step, options.k * len(kept), total, len(kept), class_, longest, engine.runner.gpu_ns)
        if (outbox := engine.runner.sidecar.outbox) is not None:
            rows = options.batch * options.rows_a_sequence
            self.calls(step, outbox.counts(rows), skips=options.sidecar_mode in ("call", "persistent"))

    def step(
        self, step: int, drafted: int, kept: int, batch: int, class_: str | None, context_length: int,
        gpu_ns: int | None = None,
    ) -> None:  # fmt: skip
        """One step; `kept` includes the token after the drafts."""
        line = {"step": step, "drafted": drafted, "kept": kept, "batch": batch}
        times = {} if gpu_ns is None else {"gpu_ns": gpu_ns}
        self._write({**line, "class": class_, "context_length": context_length, **times})

    def calls(self, step: int, counts: Sequence[tuple[int, int]], skips: bool) -> None:
        """The sidecar calls of a step: (rows, experts) by layer; `skips` tells whether empty ones are not made."""
        for layer, (rows, experts) in enumerate(counts):
            call = {"step": step, "layer": layer, "rows": rows, "experts": experts}
            self._write({**call, "skipped": skips and rows == 0})

    def _write(self, line: dict[str, object]) -> None:
        self.stream.write(json.dumps(line) + "\n")

    def __enter__(self) -> Facts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.close()


class ExpertUseFile:
    """An open CSV file of cold experts by call (`--expert-use FILE.csv`), which `stepprof placement` reads; a context.

    class,step,layer,expert,rows: the number of an expert in the model, and how many rows of the call chose it. A step
    that made no call has a line with layer, expert and rows empty, so that steps can be counted.
    """

    def __init__(self, path: Path, placement: Placement) -> None:
        self.cold = [placement.cold(layer) for layer in range(len(placement.hot))]
        try:
            self.stream = path.open("w")
        except OSError as fault:
            raise RuntimeFault(f"{path} cannot be written ({fault.strerror}): check --expert-use.") from None
        self.stream.write("class,step,layer,expert,rows\n")

    def step(self, step: int, class_: str, uses: Sequence[Sequence[tuple[int, int]]]) -> None:
        """The calls of a step: (slot of the cold bank, rows) by layer."""
        lines = [
            f"{class_},{step},{layer},{self.cold[layer][slot]},{rows}\n"
            for layer, call in enumerate(uses)
            for slot, rows in call
        ]
        self.stream.writelines(lines or [f"{class_},{step},,,\n"])

    def __enter__(self) -> ExpertUseFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stream.close()


def write_resident(path: Path, stamps: Sequence[CallStamp], offset_ns: int, bound_ns: int) -> None:
    """The calls of a resident worker, on the host's real-time clock: a trace holds one record for all of them.

    One line a call: {"resident": true, "round", "layer", "rows", "seen_ns", "gated_ns", "answered_ns",
    "clock_offset_bound_ns"}.
    """
    with path.open("w") as stream:
        for call in stamps:
            times = {name: getattr(call, name) for name in ("seen_ns", "gated_ns", "answered_ns")}
            moved = {name: None if ns is None else ns + offset_ns for name, ns in times.items()}
            head = {"resident": True, "round": call.round, "layer": call.layer, "rows": call.rows}
            stream.write(json.dumps({**head, **moved, "clock_offset_bound_ns": bound_ns}) + "\n")
