"""A sidecar alone: one layer, boxes filled by hand, one call at a time.

    with SidecarAlone.make("graph", config, options, weights, placement, rows=8) as alone:
        alone.fill(rows=2, call=17)       # the 17th call of two rows: other experts than the 16th
        microseconds = alone.timed()

A pass of one layer is one call, so that single calls can be timed. The experts of successive calls go through the
whole bank, which is larger than the caches of the cards at full size. On the CPU a sidecar's thread or process goes
on polling beside the others: times there say little.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal

import torch

from stepprof.kernels.compact import Cold
from stepprof.kernels.pad import pad
from stepprof.runtime.config import Config
from stepprof.runtime.errors import ConfigError, SidecarError
from stepprof.runtime.graphs import Runner
from stepprof.runtime.options import Mode, Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar_modes import make_sidecar
from stepprof.runtime.streams import Streams
from stepprof.runtime.weights import Weights

Clock = Literal["events", "host"]
CLOCKS = {
    "events": "one call, synchronised, between GPU events of the main card; its launch is hidden behind a spin",
    "host": "one call, synchronised, by the host's clock; its launch is in it",
}
AHEAD_US = 100.0  # the main card spins so long, while the host launches what is timed
CALL = "call"


def devices_of(options: Options) -> list[torch.device]:
    """What a sidecar's bench runs on: the main card and the second."""
    return [torch.device(options.device), torch.device(options.sidecar_device)]


@dataclass
class SidecarAlone:
    """One mode's sidecar and what runs its calls."""

    runner: Runner
    rows: int  # of a pass; at most so many are cold
    slots: int  # cold experts
    each: int  # experts of a row
    clock: Clock
    tables: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])  # rows -> [K, T, A] int32
    ground: torch.Tensor = field(default_factory=lambda: torch.empty(1))  # what the spin is launched on
    filled: int = -1
    result: torch.Tensor | None = None  # where answers lie
    held: list[Any] = field(default_factory=list[Any])

    @classmethod
    def make(
        cls,
        mode: Mode,
        config: Config,
        options: Options,
        weights: Weights,
        placement: Placement,
        *,
        rows: Sequence[int],
        each: int = 1,
        clock: Clock | None = None,
    ) -> SidecarAlone:
        """Load, warm up, capture; paused afterwards. `rows` are those of calls, `each` the experts of a row."""
        main = torch.device(options.device)
        count = len(placement.cold(0))
        if not 1 <= each <= min(count, config.top_k):
            raise ConfigError(
                f"--row-experts {each} must lie between 1 and {min(count, config.top_k)}: "
                f"a row chooses {config.top_k}, and {count} are cold."
            )
        config, placement = config.with_layers(1), Placement(placement.experts, placement.hot[:1])
        options = replace(options, sidecar_mode=mode, prefill_chunk=max(*rows, 1))
        streams, scope = Streams(main), Scope(main, options.pads, None, torch.device(options.sidecar_device))
        with torch.no_grad():
            sidecar = make_sidecar(config, options, weights, placement, scope, streams)
        chosen = clock or ("events" if main.type == "cuda" else "host")
        alone = cls(Runner(options, sidecar, streams, None), options.max_rows, count, each, chosen)
        alone.ground = torch.empty(1, device=main)
        try:
            for n in sorted(rows):  # nothing is allocated any more while a resident kernel runs
                alone.fill(n, 0)
            alone._run_once()
        except BaseException:
            alone.close()
            raise
        return alone

    @property
    def device(self) -> torch.device:
        """The main card."""
        return self.runner.device

    def box(self) -> Cold:
        """The box on the main card."""
        cold = self.runner.sidecar.inbox(0, self.rows)
        assert cold is not None
        return cold

    def fill(self, rows: int, call: int) -> None:
        """Put a call into the box; nothing but its experts changes from call to call of the same rows."""
        box = self.box()
        if rows != self.filled:
            self.filled = rows
            box.x.normal_()
            box.weights.fill_(1)
            box.held.fill_(rows)
            box.rows.copy_(torch.arange(self.rows, dtype=torch.int32))
        if rows not in self.tables:
            self.tables[rows] = _table(self.rows, box.slots.shape[1], rows, self.each, self.slots).to(self.device)
        table = self.tables[rows]
        box.slots.copy_(table[call % len(table)], non_blocking=True)

    def distinct(self, rows: int) -> int:
        """Experts that a call of so many rows reads."""
        return min(rows * self.each, self.slots)

    def answer(self) -> torch.Tensor:
        """Run the call in the box; [T, D] on the main card, rows beyond the call's undefined."""
        self._launch()
        self._wait(self._mark())
        assert self.result is not None
        return self.result

    def timed(self) -> float:
        """Microseconds of the call in the box."""
        if self.clock == "host" or self.device.type != "cuda":
            if self.device.type == "cuda":
                torch.cuda.current_stream(self.device).synchronize()
            start = time.perf_counter_ns()
            self._launch()
            self._wait(self._mark())
            return (time.perf_counter_ns() - start) / 1e3
        stream = self.runner.stream
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            pad(self.ground, AHEAD_US)
            start.record()
            self._go()
            end.record()
        self._wait(end)
        return start.elapsed_time(end) * 1e3

    def open(self) -> None:
        """Let the sidecar run, where it runs on its own."""
        self.runner.sidecar.prepare(self.rows)

    def pause(self) -> None:
        """Let the second card go, and ask for faults of the calls since `open`."""
        self.runner.sidecar.check()
        self.runner.sidecar.pause()

    def close(self) -> None:
        """End the sidecar."""
        self.runner.close()

    def _run_once(self) -> None:
        """Warm up and capture, then a timed call, so that everything is compiled."""
        with torch.no_grad():
            self.runner.run(CALL, self.rows, self._call, [])
            if self.device.type == "cuda":
                pad(self.ground, AHEAD_US)  # compiled before a resident kernel runs
            self.open()
            self.timed()
            self.pause()

    def _call(self) -> None:
        sidecar = self.runner.sidecar
        sidecar.begin(self.rows)
        cold = sidecar.inbox(0, self.rows)
        assert cold is not None
        sidecar.send(0, cold)
        self.result = sidecar.answer(0, cold)

    def _launch(self) -> None:
        """The call, on the runner's stream, after what the current one holds."""
        stream = self.runner.stream
        if stream is None:
            self._call()
            return
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            self._go()

    def _go(self) -> None:
        """The call, in the current stream; without a graph op by op."""
        if CALL in self.runner.graphs:
            self.runner.graphs[CALL].replay()
        else:
            self._call()
            self.held = self.runner.streams.finish()  # until the next call has been launched

    def _mark(self) -> Any:
        """An event after all that was launched; None on the CPU."""
        if self.runner.stream is None:
            return None
        done = torch.cuda.Event()
        done.record(self.runner.stream)
        return done

    def _wait(self, done: Any) -> None:
        """Spin until the call has ended, but not for ever."""
        if done is None:
            return
        limit_s = 10 + 2 * self.runner.options.limit_ms / 1e3
        limit = time.monotonic() + limit_s
        while not done.query():
            if time.monotonic() > limit:
                raise SidecarError(f"a call did not end within {limit_s:g} s: a card has stalled; start again.")

    def __enter__(self) -> SidecarAlone:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _table(total: int, top_k: int, rows: int, each: int, count: int) -> torch.Tensor:
    """Slots of successive calls, each with the next experts of the bank in turn: [K, T, A], -1 where none is chosen."""
    used = max(1, rows * each)
    calls = min(4096, -(-count // used) * used)
    flat = torch.arange(calls * used).view(calls, used) % count
    table = torch.full((calls, total, top_k), -1, dtype=torch.int32)
    table[:, :rows, :each] = flat[:, : rows * each].view(calls, rows, each).int()
    return table
