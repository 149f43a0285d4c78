"""What every op of a step goes through: its range, its truth, its pad.

    with scope.op("router", "gemm", layer=3):
        logits = linear(x, gate)

Costs nothing where no tool listens, no truth is written and nothing is padded.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

import torch

from stepprof.kernels.pad import pad
from stepprof.profiler import marks
from stepprof.profiler.marks import Mark
from stepprof.runtime.truth import OpTruth, Truth


class Scope:
    """Hands out the context of each op."""

    def __init__(
        self,
        device: torch.device,
        pads: Mapping[str, float] | None = None,
        truth: Truth | None = None,
        sidecar_device: torch.device | None = None,
    ) -> None:
        self.device = device
        self.pads = dict(pads or {})
        self.truth = truth
        self.phase = ""
        devices = {device, sidecar_device or device}
        # made now, since pads may run while a graph is captured
        self._ground = {str(d): torch.empty(1, device=d) for d in devices} if self.pads else {}

    def op(self, role: str, kind: str, layer: int | None = None) -> Mark:
        """An op of the main card, in the range layer/<i>/<role>, or <role> outside layers."""
        name = role if layer is None else marks.layer(layer, role)
        return self._context(name, OpTruth(role, kind, layer, str(self.device), self.phase))

    def combine(self, layer: int) -> Mark:
        """Adding the sidecar's answer into the stream, in the range that DESIGN calls accumulate."""
        return self._context(
            marks.layer(layer, "accumulate"), OpTruth("combine", "elementwise", layer, str(self.device), self.phase)
        )

    def sidecar(self, layer: int, part: str, role: str, kind: str, device: torch.device) -> Mark:
        """A part of a sidecar call, in the range sidecar/<layer>/<part>."""
        return self._context(marks.sidecar(layer, part), OpTruth(role, kind, layer, str(device), self.phase))

    def in_phase(self, phase: str, name: str) -> _Phase:
        """A phase of the step, in the range `name`."""
        return _Phase(self, phase, name)

    def _context(self, name: str, truth: OpTruth) -> Mark:
        padding = self.pads.get(truth.role, 0.0)
        if self.truth is None and not padding:
            return marks.mark(name)
        return _Op(self, name, truth, padding)

    def pad(self, device: str, microseconds: float) -> None:
        """Let time pass on a device, in its current stream."""
        pad(self._ground[device], microseconds)


class _Op:
    def __init__(self, scope: Scope, name: str, truth: OpTruth, padding: float) -> None:
        self.scope, self.truth, self.padding = scope, truth, padding
        self.mark = marks.mark(name)

    def __enter__(self) -> None:
        self.mark.__enter__()
        if self.scope.truth is not None:
            self.scope.truth.begin(self.truth)

    def __exit__(self, *fault: object) -> None:
        if self.padding:
            self.scope.pad(self.truth.device, self.padding)
        if self.scope.truth is not None:
            self.scope.truth.end(self.truth)
        self.mark.__exit__(*fault)

    def __call__(self, function: marks.Function, /) -> marks.Function:
        raise TypeError("an op that is padded or recorded is a context, not a decorator")


class _Phase:
    def __init__(self, scope: Scope, phase: str, name: str) -> None:
        self.scope, self.phase, self.mark = scope, phase, marks.mark(name)

    def __enter__(self) -> None:
        self.outer, self.scope.phase = self.scope.phase, self.phase
        self.mark.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.mark.__exit__(kind, fault, trace)
        self.scope.phase = self.outer
