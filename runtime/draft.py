"""The draft head: a few layers that read the model's last streams and propose a block of k tokens at once.

`absorb` gives it what the model saw; `propose` runs one block: row 0 is the last kept token, the other rows are
masked, every row sees the whole block. Then tokens are picked in order, each shifted by a low-rank (Markov) term
of the one before it.
"""

from __future__ import annotations

import torch
from torch.nn.functional import linear

from stepprof.kernels import expert_gemm, router
from stepprof.kernels.accept import distribution, sample
from stepprof.kernels.add_rms_norm import add_rms_norm, rms_norm
from stepprof.profiler import marks
from stepprof.runtime.attention import LatentAttention
from stepprof.runtime.cache import Cache, Rows
from stepprof.runtime.loader import Loader, fill_bank
from stepprof.runtime.model import Model
from stepprof.runtime.weights import Weights


class DraftLayer:
    """Attention and a small mixture with plain residuals."""

    def __init__(self, model: Model, load: Loader, index: int) -> None:
        c = model.config
        self.config, self.scope, self.layer = c, model.scope, c.layers + index
        self.attention = LatentAttention(c, model.options, load.at("attn"), model.scope, model.rope_table, self.layer)
        self.attention_norm, self.moe_norm = load.ones("attn_norm", c.hidden), load.ones("moe_norm", c.hidden)
        self.gate = load("moe.gate", c.draft_experts, c.hidden)
        self.bias = load("moe.bias", c.draft_experts, std=0.1, exact=True)
        members = tuple(range(c.draft_experts))
        self.w_in, self.w_out = fill_bank(load.at("moe"), members, c.hidden, c.expert_width)

    def absorb(self, context: torch.Tensor, rows: Rows, window: torch.Tensor) -> None:
        """Latents of what the model saw, context [T, D], into the ring."""
        with self.scope.op("dense_gemm", "gemm", self.layer):
            latent = linear(context, self.attention.qkv_a[self.config.q_lora :])
        self.attention.write(latent, rows, window)

    def __call__(
        self, out: torch.Tensor, residual: torch.Tensor, rows: Rows, window: torch.Tensor, last: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(what the layer adds, the residual without it), both [T, D]"""
        with self.scope.op("norm", "norm", self.layer):
            x, residual = add_rms_norm(out, residual, self.attention_norm, eps=self.config.eps)
        q = self.attention.queries(*self.attention.project(x), rows, window)
        out = self.attention.attend(q, rows, window, last)
        with self.scope.op("norm", "norm", self.layer):
            x, residual = add_rms_norm(out, residual, self.moe_norm, eps=self.config.eps)
        return self._moe(x), residual

    def _moe(self, x: torch.Tensor) -> torch.Tensor:
        c = self.config
        with self.scope.op("router", "gemm", self.layer):
            logits = linear(x, self.gate)
        with self.scope.op("router", "topk", self.layer):
            weights, experts = router.route(logits, self.bias, c.draft_top_k, c.route_scale)
        with self.scope.op("expert_gemm", "gemm", self.layer):
            h = expert_gemm.up_gate(x, experts, self.w_in, limit=c.swiglu_limit)
        with self.scope.op("expert_gemm", "gemm", self.layer):
            parts = expert_gemm.down(h, experts, weights, self.w_out)
        with self.scope.op("combine", "reduce", self.layer):
            return expert_gemm.reduce(parts, x.dtype)


class DraftHead:
    """Proposes k tokens for each sequence."""

    def __init__(self, model: Model, weights: Weights) -> None:
        c = model.config
        self.model, self.config, self.options, self.scope = model, c, model.options, model.scope
        load = Loader(weights, model.embedding.device, model.embedding.dtype, "draft.")
        self.mask = load("mask", c.hidden, std=1.0)
        self.fuse = load("fuse", c.hidden, c.draft_layers * c.hidden)
        self.fuse_norm, self.norm = load.ones("fuse_norm", c.hidden), load.ones("norm", c.hidden)
        self.markov_in = load("markov_in", c.vocab, c.markov_rank)
        self.markov_out = load("markov_out", c.vocab, c.markov_rank)
        self.layers = [DraftLayer(model, load.at(f"layers.{i}"), i) for i in range(c.draft_layers)]
        batch, k, device = self.options.batch, self.options.k, load.device
        self.ahead, self.end = torch.arange(k, device=device), torch.full((k,), k - 1, device=device)
        self.sequence = torch.arange(batch, device=device).repeat_interleave(k)  # [B·k]
        self.masked = self.mask.repeat(batch, k - 1, 1)  # [B, k-1, D]
        self.nothing = self.mask.new_zeros(batch * k, c.hidden)

    def absorb(self, read: torch.Tensor, rows: Rows, cache: Cache) -> None:
        """Take in streams of the model's last layers, read [T, n, D], at their positions."""
        with self.scope.op("spec_draft", "gemm"):
            context = linear(read.flatten(1), self.fuse)
        with self.scope.op("spec_draft", "norm"):
            context = rms_norm(context, self.fuse_norm, eps=self.config.eps)
        for layer, window in zip(self.layers, cache.draft_window, strict=True):
            layer.absorb(context, rows, window)

    def propose(
        self, last: torch.Tensor, position: torch.Tensor, cache: Cache, draws: torch.Tensor, temperature: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(drafts [B, k] int64, their distributions [B, k, V], empty where greedy).

        last, position [B] int64: the last kept token and its place; draws [B, k]; temperature [B].
        """
        with self.scope.in_phase("draft", marks.draft(0)):
            logits = self._block(last, position, cache)  # [B, k, V]
        tokens, probs = [last], list[torch.Tensor]()
        for j in range(self.options.k):
            with self.scope.in_phase("draft", marks.draft(j + 1)):
                token, prob = self._pick(logits[:, j], tokens[-1], draws[:, j], temperature)
            tokens.append(token)
            probs += prob
        with self.scope.in_phase("draft", marks.draft(self.options.k)), self.scope.op("spec_draft", "copy"):
            drafts = torch.stack(tokens[1:], dim=1)
            return drafts, torch.stack(probs, dim=1) if probs else logits[:, :0]

    def _block(self, last: torch.Tensor, position: torch.Tensor, cache: Cache) -> torch.Tensor:
        """One pass over the block: [B] -> [B, k, V]"""
        k, batch = self.options.k, len(last)
        with self.scope.op("spec_draft", "elementwise"):
            positions = (position[:, None] + self.ahead).flatten()  # [B·k]
            end = (position[:, None] + self.end).flatten()
            rows = Rows(last, self.sequence, positions, positions % cache.ring)
        with self.scope.op("embedding", "copy"):
            x = torch.cat([self.model.embedding[last][:, None], self.masked], dim=1).flatten(0, 1)  # [B·k, D]
        out, residual = self.nothing, x
        for layer, window in zip(self.layers, cache.draft_window, strict=True):
            out, residual = layer(out, residual, rows, window, end)
        with self.scope.op("norm", "norm"):
            hidden, _ = add_rms_norm(out, residual, self.norm, eps=self.config.eps)
        return self.model.logits(hidden).unflatten(0, (batch, k))

    def _pick(
        self, logits: torch.Tensor, before: torch.Tensor, draw: torch.Tensor, temperature: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The next draft of each sequence: logits [B, V], before [B] -> [B], and its distribution where sampled"""
        with self.scope.op("spec_draft", "copy"):
            low = self.markov_in[before]  # [B, r]
        with self.scope.op("spec_draft", "gemm"):
            logits = torch.addmm(logits, low, self.markov_out.t())
        if self.options.sampling == "greedy":
            with self.scope.op("sampling", "reduce"):
                return logits.argmax(1), []
        with self.scope.op("sampling", "reduce"):
            probs = distribution(logits[:, None], temperature)[:, 0]
        with self.scope.op("sampling", "reduce"):
            return sample(probs, draw), [probs]
