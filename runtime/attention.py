"""Latent attention of one layer: a window of its own and rows that the indexer chose from compressed KV.

Compressor and indexer run on side streams; only layers that are sources have one. Beside the
stages' weights, the shapes: q_latent [T, q_lora], q [T, H, Dh], latent [T, Dh], table [T, K].
"""

from __future__ import annotations

import torch
from torch.nn.functional import linear

from stepprof.kernels import attn_front, indexer, sparse_attention
from stepprof.kernels.add_rms_norm import rms_norm
from stepprof.kernels.compressor import pool
from stepprof.kernels.rope import norm_rope, rope
from stepprof.runtime.cache import Cache, Rows
from stepprof.runtime.config import Config
from stepprof.runtime.loader import Loader
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope
from stepprof.runtime.streams import Streams


class LatentAttention:
    """The projections and the attention itself; the draft head uses it without a table."""

    def __init__(
        self, config: Config, options: Options, load: Loader, scope: Scope, table: torch.Tensor, layer: int
    ) -> None:
        c = config
        self.config, self.scope, self.layer, self.rope_table = c, scope, layer, table
        self.qkv_a = load("qkv_a", c.q_lora + c.head_dim, c.hidden)
        self.q_norm, self.kv_norm = load.ones("q_norm", c.q_lora), load.ones("kv_norm", c.head_dim)
        self.q_b = load("q_b", c.heads * c.head_dim, c.q_lora)
        self.sink = load("sink", c.heads, std=0.5, exact=True)
        self.o_a = load("o_a", c.o_groups, c.o_lora, c.heads // c.o_groups * c.head_dim)
        self.o_b = load("o_b", c.hidden, c.o_groups * c.o_lora)
        self.fused = "attn" in options.fuse

    def project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x [T, D] -> q_latent [T, q_lora] normed, latent [T, Dh] as it comes."""
        with self.scope.op("dense_gemm", "gemm", self.layer):
            q_latent, latent = linear(x, self.qkv_a).split([self.config.q_lora, self.config.head_dim], dim=1)
        with self.scope.op("norm", "norm", self.layer):
            return rms_norm(q_latent, self.q_norm, eps=self.config.eps), latent

    def queries(self, q_latent: torch.Tensor, latent: torch.Tensor, rows: Rows, window: torch.Tensor) -> torch.Tensor:
        """Queries [T, H, Dh], normed and turned; the latent goes into the window."""
        c, eps = self.config, self.config.eps
        with self.scope.op("dense_gemm", "gemm", self.layer):
            q = linear(q_latent, self.q_b).view(-1, c.heads, c.head_dim)
        if self.fused:
            with self.scope.op("kv_write", "norm", self.layer):
                places = (rows.positions, rows.sequences, window)
                return attn_front.attn_front(q, latent, self.kv_norm, self.rope_table, *places, eps=eps)
        self.write(latent, rows, window)
        with self.scope.op("rope", "norm", self.layer):
            return norm_rope(q, None, self.rope_table, rows.positions, eps=eps)

    def write(self, latent: torch.Tensor, rows: Rows, window: torch.Tensor) -> None:
        """Norm and turn the latent [T, Dh] and put it into the window."""
        places = (rows.positions, rows.sequences, window)
        with self.scope.op("kv_write", "norm", self.layer):
            attn_front.latent_insert(latent, self.kv_norm, self.rope_table, *places, eps=self.config.eps)

    def attend(
        self,
        q: torch.Tensor,
        rows: Rows,
        window: torch.Tensor,
        last: torch.Tensor,
        chosen: tuple[torch.Tensor, torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """q [T, H, Dh], last [T] the last visible position, chosen (flat rows, table) -> [T, D]."""
        c, turn = self.config, (self.rope_table, rows.positions)
        flat, table = chosen or (None, None)
        with self.scope.op("attention", "attention", self.layer):
            out = sparse_attention.sparse_attention(
                q,
                window,
                flat,
                table,
                rows.sequences,
                last,
                self.sink,
                span=c.window,
                scale=c.head_dim**-0.5,
                turn=turn if self.fused else None,
            )
        if not self.fused:
            with self.scope.op("rope", "elementwise", self.layer):
                out = rope(out, *turn, inverse=True)
        return self._project_out(out)

    def _project_out(self, out: torch.Tensor) -> torch.Tensor:
        """[T, H, Dh] -> [T, D] through groups of heads."""
        count, groups = len(out), self.config.o_groups
        low = out.new_empty(count, groups, self.config.o_lora)
        with self.scope.op("dense_gemm", "gemm", self.layer):
            heads = out.view(count, groups, -1).transpose(0, 1)  # [G, T, H/G·Dh]
            torch.bmm(heads, self.o_a.transpose(1, 2), out=low.transpose(0, 1))
        with self.scope.op("dense_gemm", "gemm", self.layer):
            return linear(low.flatten(1), self.o_b)


class Compressor:
    """Makes compressed rows at a kv source layer."""

    def __init__(self, config: Config, load: Loader, scope: Scope, table: torch.Tensor, layer: int) -> None:
        self.config, self.scope, self.layer, self.rope_table = config, scope, layer, table
        self.ratio = config.ratios[layer]
        self.weight = load("weight", 2 * config.head_dim, config.hidden)
        self.bias = load("bias", self.ratio, config.head_dim, std=0.5, exact=True)
        self.norm = load.ones("norm", config.head_dim)

    def __call__(self, x: torch.Tensor, rows: Rows, cache: Cache) -> None:
        """Write the rows that x [T, D] completes."""
        raw, op = cache.raw[self.layer], self.scope.op
        with op("dense_gemm", "gemm", self.layer):
            pair = linear(x, self.weight)  # [T, 2·Dh]
        with op("kv_write", "copy", self.layer):
            raw[rows.sequences, rows.ring] = pair
        with op("attention", "reduce", self.layer):
            row = pool(raw, self.bias, rows.sequences, rows.positions)  # [T, Dh] float32
        with op("rope", "norm", self.layer):
            places = rows.group[self.ratio]
            row = norm_rope(row[:, None], self.norm, self.rope_table, places, eps=self.config.eps)[:, 0]
        if row.dtype != raw.dtype:
            with op("kv_write", "copy", self.layer):
                row = row.to(raw.dtype)
        with op("kv_write", "copy", self.layer):
            cache.compressed[self.layer][rows.sequences, rows.slot[self.ratio]] = row


class Indexer:
    """Chooses compressed rows at an index source layer."""

    def __init__(self, config: Config, load: Loader, scope: Scope, table: torch.Tensor, layer: int) -> None:
        c = config
        self.config, self.scope, self.layer, self.rope_table = c, scope, layer, table
        self.ratio, self.source = c.ratios[layer], c.kv_source(layer)
        self.q_b = load("q_b", c.index_heads * c.index_dim, c.q_lora)
        self.weights = load("weights", c.index_heads, c.hidden, std=c.hidden**-0.5 * c.index_dim**-0.5)
        self.key = load("key", c.index_dim, c.head_dim)

    def queries(self, x: torch.Tensor, q_latent: torch.Tensor, rows: Rows) -> tuple[torch.Tensor, torch.Tensor]:
        """q [T, Hi, Di] and head weights [T, Hi]."""
        with self.scope.op("indexer", "gemm", self.layer):
            q = linear(q_latent, self.q_b).view(-1, self.config.index_heads, self.config.index_dim)
        with self.scope.op("indexer", "elementwise", self.layer):
            q = rope(q, self.rope_table, rows.positions)
        with self.scope.op("indexer", "gemm", self.layer):
            return q, linear(x, self.weights)

    def choose(self, q: torch.Tensor, weights: torch.Tensor, rows: Rows, cache: Cache) -> torch.Tensor:
        """Index keys of the newest rows, scores of all, the best: [T, K] int32."""
        keys, slots = cache.index_keys[self.layer], rows.slot[self.ratio]
        with self.scope.op("indexer", "copy", self.layer):
            newest = cache.compressed[self.source][rows.sequences, slots]  # [T, Dh]
        with self.scope.op("indexer", "gemm", self.layer):
            key = linear(newest, self.key)  # [T, Di]
        with self.scope.op("indexer", "copy", self.layer):
            keys[rows.sequences, slots] = key
        with self.scope.op("indexer", "gemm", self.layer):
            logits = indexer.index_logits(q, keys, weights, rows.sequences, rows.visible[self.ratio])
        with self.scope.op("indexer", "topk", self.layer):
            return indexer.top_k(logits, self.config.index_top_k)


class Tables:
    """The chosen rows of a pass, by index source; without --share-topk each layer builds its own table."""

    def __init__(self, config: Config, options: Options, scope: Scope, cache: Cache, streams: Streams) -> None:
        self.config, self.scope, self.cache, self.streams = config, scope, cache, streams
        self.share = options.share_topk
        self.chosen: dict[int, torch.Tensor] = {}
        self.built: dict[int, torch.Tensor] = {}

    def put(self, layer: int, chosen: torch.Tensor) -> None:
        """The choice of an index source, [T, K] int32; the table of the last pass is void."""
        self.chosen[layer] = chosen
        self.built.pop(layer, None)

    def at(self, layer: int, rows: Rows) -> tuple[torch.Tensor, torch.Tensor]:
        """(flat compressed rows [B·C, Dh], table [T, K] int32) for a compressed layer."""
        flat = self.cache.compressed[self.config.kv_source(layer)]
        source = self.config.index_source(layer)
        if not (self.share and source in self.built):
            with self.scope.op("indexer", "elementwise", layer):
                self.built[source] = indexer.build_table(self.chosen[source], rows.sequences, flat.shape[1])
        return flat.flatten(0, 1), self.built[source]
