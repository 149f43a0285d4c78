"""The engine: sequences in, a step at a time: draft k tokens, verify them in one pass, keep some, emit.

    with Engine.make(config, options) as engine:
        slot = engine.add(prompt_tokens)
        for kept in engine.step():        # Kept(slot, tokens)
            ...
        engine.release(slot)

A batch has B slots; slots without a sequence are computed along and thrown away. On the GPU a step is one CUDA
graph (two cards included, where the sidecar mode allows), elsewhere it runs eagerly through the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import torch

from stepprof.profiler import marks
from stepprof.profiler.marks import mark
from stepprof.runtime.cache import Cache, Rows
from stepprof.runtime.config import Config
from stepprof.runtime.draft import DraftHead
from stepprof.runtime.errors import RequestError
from stepprof.runtime.graphs import Runner
from stepprof.runtime.model import Model
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar_modes import make_sidecar
from stepprof.runtime.speculative import Draws, impose, verify
from stepprof.runtime.state import Kept, State
from stepprof.runtime.streams import Streams
from stepprof.runtime.truth import Truth
from stepprof.runtime.weights import RandomWeights, Weights


@dataclass(frozen=True)
class Engine:
    """The model, its draft head, the sidecar, and the state of the batch."""

    config: Config
    options: Options
    model: Model
    draft: DraftHead | None
    cache: Cache
    state: State
    draws: Draws
    runner: Runner
    scope: Scope

    @classmethod
    def make(
        cls,
        config: Config,
        options: Options,
        weights: Weights | None = None,
        placement: Placement | None = None,
        truth: Truth | None = None,
    ) -> Engine:
        """Load everything; random weights by the options' seed where none are given."""
        options.check(config)
        device = torch.device(options.device)
        weights, placement = weights or RandomWeights(options.seed), placement or Placement.first(config)
        streams, scope = Streams(device), Scope(device, options.pads, truth, torch.device(options.sidecar_device))
        with torch.no_grad():
            model = Model(config, options, weights, scope, streams, placement)
            draft = DraftHead(model, weights) if options.k else None
            sidecar = make_sidecar(config, options, weights, placement, scope, streams)
            runner = Runner(options, sidecar, streams, truth)
            state, draws = State(config, options), Draws.make(options)
            return cls(config, options, model, draft, Cache(config, options, device), state, draws, runner, scope)

    def step(self) -> list[Kept]:
        """One draft + verify + accept round of the whole batch."""
        n = self.state.begin_step()
        with torch.no_grad(), mark(marks.step(n)):
            self._refill()
            self.runner.run("step", self.options.batch * self.options.rows_a_sequence, self._round, self.state.live)
            return self.state.emit()

    def add(self, prompt: Sequence[int], temperature: float | None = None) -> int:
        """Read a prompt into a free slot; the first token comes with the next step."""
        heat = self.options.temperature if temperature is None else temperature
        if self.options.sampling == "greedy" and temperature:
            raise RequestError(f"temperature {temperature:g} needs --sampling token or block: this engine is greedy.")
        slot = self.state.take(prompt, heat)
        try:
            self._prefill(slot, prompt[:-1])
        except BaseException:
            self.state.free(slot)
            raise
        return slot

    def release(self, slot: int) -> None:
        """Give a slot back."""
        self.state.free(slot)

    def close(self) -> None:
        """End the sidecar and drop the graphs."""
        self.runner.close()

    def _round(self) -> None:
        """What a step computes, all on the device, so that it can be captured."""
        state, k = self.state, self.options.k
        drafts, probs = state.no_drafts
        if self.draft is not None:
            heat = state.temperature
            drafts, probs = self.draft.propose(state.last, state.position, self.cache, self.draws.draft, heat)

        with self.scope.in_phase("verify", marks.verify()):
            with self.scope.op("spec_verify", "copy"):
                tokens = torch.cat([state.last[:, None], drafts], dim=1).flatten()  # [B·(k+1)]
            with self.scope.op("spec_verify", "elementwise"):
                rows = self.cache.rows(tokens, state.sequence, state.positions())
            hidden, read = self.model(rows, self.cache, self.runner.sidecar)
            logits = self.model.logits(hidden).unflatten(0, (self.options.batch, k + 1))
            if self.draft is not None:
                self.draft.absorb(read, rows, self.cache)

        with self.scope.in_phase("accept", marks.accept()):
            self._accept(logits, drafts, probs)

    def _accept(self, logits: torch.Tensor, drafts: torch.Tensor, probs: torch.Tensor) -> None:
        """logits [B, k+1, V], drafts [B, k], probs [B, k, V]"""
        with self.scope.op("spec_verify", "reduce"):
            accepted, tokens = verify(self.options, logits, drafts, probs, self.draws, self.state.temperature)
        if self.options.simulate_acceptance:
            with self.scope.op("spec_verify", "elementwise"):
                accepted, tokens = impose(self.state.acceptance, drafts, tokens, self.draws.simulate)
        with self.scope.op("spec_verify", "elementwise"):
            self.state.advance(accepted, tokens)

    def _prefill(self, slot: int, tokens: Sequence[int]) -> None:
        """Fill the caches with all of a prompt but its last token, a chunk at a time."""
        chunk = self.options.prefill_chunk
        with torch.no_grad(), self.scope.in_phase("prefill", marks.prefill()):
            for start in range(0, len(tokens), chunk):
                part = torch.tensor(tokens[start : start + chunk], device=self.options.device)
                positions = torch.arange(start, start + len(part), device=self.options.device)
                rows = self.cache.rows(part, torch.full_like(part, slot), positions)
                self.runner.eager(len(part), lambda rows=rows: self._read(rows))

    def _read(self, rows: Rows) -> None:
        hidden, read = self.model(rows, self.cache, self.runner.sidecar)
        del hidden
        if self.draft is not None:
            self.draft.absorb(read, rows, self.cache)

    def _refill(self) -> None:
        """Fresh random numbers of a step, outside the graph."""
        with self.scope.op("sampling", "elementwise"):
            self.draws.refill()
            if self.model.cold_rate is not None:
                self.model.cold_rate.refill(self.draws.generator)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
