"""The model: rows in, the normed last hidden row and what the draft head reads out.

    hidden, read = model(rows)            # [T, D], [T, n, D]
    logits = model.logits(hidden)         # [T, V]

Each layer is attention, a boundary, a mixture, a boundary; four residual streams run through.
"""

from __future__ import annotations

import torch
from torch.nn.functional import linear

from stepprof.kernels.rope import rope_table
from stepprof.runtime.attention import Compressor, Indexer, LatentAttention, Tables
from stepprof.runtime.cache import Cache, Rows
from stepprof.runtime.config import Config
from stepprof.runtime.hyper import Boundary
from stepprof.runtime.loader import Loader
from stepprof.runtime.moe import ColdRate, Moe
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import Sidecar
from stepprof.runtime.streams import Streams
from stepprof.runtime.weights import Weights


class Layer:
    """One layer's attention, its sources where it is one, and its mixture."""

    def __init__(self, model: Model, load: Loader, placement: Placement, layer: int) -> None:
        c, o, scope = model.config, model.options, model.scope
        self.layer, self.side, self.ratio = layer, model.streams, c.ratios[layer]
        rotary = (scope, model.rope_table, layer)
        self.before_attention = Boundary(c, o, load.at("attn_mix"), scope, self.side, layer)
        self.attention = LatentAttention(c, o, load.at("attn"), *rotary)
        self.compressor = Compressor(c, load.at("compressor"), *rotary) if layer in c.kv_sources else None
        self.indexer = Indexer(c, load.at("indexer"), *rotary) if layer in c.index_sources else None
        self.before_moe = Boundary(c, o, load.at("moe_mix"), scope, self.side, layer)
        self.moe = Moe(c, o, load.at("moe"), scope, self.side, placement, model.cold_rate, layer)

    def attend(self, x: torch.Tensor, rows: Rows, cache: Cache, tables: Tables) -> torch.Tensor:
        """[T, D] -> [T, D]"""
        window = cache.window[self.layer]
        if self.compressor is not None:
            with self.side.beside("compressor", x):
                self.compressor(x, rows, cache)
        q_latent, latent = self.attention.project(x)
        index = None
        if self.indexer is not None:
            with self.side.beside("indexer", x, q_latent):
                index = self.indexer.queries(x, q_latent, rows)
            self.side.hold(*index)

        q = self.attention.queries(q_latent, latent, rows, window)
        self.side.join("compressor")
        self.side.join("indexer")
        if self.indexer is not None and index is not None:
            tables.put(self.layer, self.indexer.choose(*index, rows, cache))
        chosen = tables.at(self.layer, rows) if self.ratio else None
        return self.attention.attend(q, rows, window, rows.positions, chosen)


class Model:
    """All layers, on the main card."""

    def __init__(
        self, config: Config, options: Options, weights: Weights, scope: Scope, streams: Streams, placement: Placement
    ) -> None:
        self.config, self.options, self.scope, self.streams = config, options, scope, streams
        device = torch.device(options.device)
        load = Loader(weights, device, getattr(torch, config.dtype))
        length = config.max_context + options.max_rows + options.k
        self.rope_table = rope_table(length, config.rope_dim).to(device)  # [L, R]
        self.cold_rate = ColdRate.make(config, options, device)
        self.embedding = load("embedding", config.vocab, config.hidden, std=1.0)
        self.head = load("head", config.vocab, config.hidden)
        self.layers = [Layer(self, load.at(f"layers.{i}"), placement, i) for i in range(config.layers)]
        self.before_head = Boundary(config, options, load.at("head_mix"), scope, streams, None)

    def __call__(self, rows: Rows, cache: Cache, sidecar: Sidecar) -> tuple[torch.Tensor, torch.Tensor]:
        """(hidden [T, D] normed, streams of the last layers averaged [T, n, D]), n = layers of the draft head"""
        tables = Tables(self.config, self.options, self.scope, cache, self.streams)
        read: list[torch.Tensor] = []
        sidecar.begin(len(rows.tokens))
        state = self.layers[0].before_attention.open(self.embed(rows.tokens))
        for i, layer in enumerate(self.layers):
            state = layer.before_moe.cross(state, layer.attend(state.x, rows, cache, tables))
            following = self.layers[i + 1].before_attention if i + 1 < len(self.layers) else self.before_head
            state = following.cross(state, layer.moe(state.x, sidecar))
            if i in self.config.read_layers:
                with self.scope.op("spec_draft", "reduce", i):
                    read.append(state.streams.mean(1))
        self.streams.join("mhc")
        if not read:
            return state.x, state.x[:, None]
        with self.scope.op("spec_draft", "copy"):
            return state.x, torch.stack(read, dim=1)

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Every stream starts as the token's embedding: [T] -> [T, S, D]"""
        with self.scope.op("embedding", "copy"):
            return self.embedding[tokens][:, None].repeat(1, self.config.streams, 1)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[T, D] -> [T, V]"""
        with self.scope.op("lm_head", "gemm"):
            return linear(hidden, self.head)
