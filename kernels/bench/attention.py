"""Cases of the attention half of a layer, and of what lies around it."""

from __future__ import annotations

from functools import partial

import torch

from stepprof.kernels import add_rms_norm, attn_front, compressor, indexer, mhc, rope, sparse_attention
from stepprof.kernels.bench.case import Bench, Call, Case

LENGTH = 4096  # positions of a rope table
RATIO = 2  # tokens of a compressed row
ITERATIONS = 20  # of Sinkhorn


def attention_cases(b: Bench) -> list[Case]:
    """Norms, rope, the window, compression, index, attention."""
    return [*_norms(b), *_turns(b), *_index(b), *_attention(b)]


def _norms(b: Bench) -> list[Case]:
    shape, elements = (b.rows, b.shapes.hidden), b.rows * b.shapes.hidden

    def norm(_: int) -> Call:
        return Call(add_rms_norm.rms_norm, (b.normal(*shape), b.normal(shape[1])), 4 * elements)

    def add(function: object, _: int) -> Call:
        return Call(function, (b.normal(*shape), b.normal(*shape), b.normal(shape[1])), 5 * elements)  # pyright: ignore[reportArgumentType]

    return [
        Case("add_rms_norm.rms_norm", "rms_norm_kernel", norm),
        Case("add_rms_norm.add_rms_norm", "rms_norm_kernel", partial(add, add_rms_norm.add_rms_norm)),
        Case("add_rms_norm.add_rms_norm_quant", "rms_norm_quant_kernel", partial(add, add_rms_norm.add_rms_norm_quant)),
    ]


def _turns(b: Bench) -> list[Case]:
    s, count = b.shapes, b.rows
    heads, row = (count, s.heads, s.head_dim), 4 * s.rope_dim  # bytes of a table row
    table = b.floats(LENGTH, s.rope_dim)

    def places() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.arange(count, device=b.device), torch.zeros(count, dtype=torch.int64, device=b.device)

    def turn(_: int) -> Call:
        x = b.normal(*heads)
        return Call(rope.rope, (x, table, places()[0]), 3 * x.numel(), x.nbytes + count * row)

    def norm_turn(_: int) -> Call:
        x = b.normal(*heads)
        return Call(rope.norm_rope, (x, None, table, places()[0]), 7 * x.numel(), x.nbytes + count * row)

    def front(_: int) -> Call:
        q, latent, window = b.normal(*heads), b.normal(count, s.head_dim), b.normal(1, s.window, s.head_dim)
        given = (q, latent, b.normal(s.head_dim), table, *places(), window)
        read, written = q.nbytes + latent.nbytes + count * row, q.nbytes + latent.nbytes
        return Call(attn_front.attn_front, given, 7 * (q.numel() + latent.numel()), read, written)

    def pool(_: int) -> Call:
        raw, bias = b.normal(1, s.window, 2 * s.head_dim), b.floats(RATIO, s.head_dim)
        elements = count * RATIO * 2 * s.head_dim
        return Call(compressor.pool, (raw, bias, places()[1], places()[0]), 3 * elements, 2 * elements)

    return [
        Case("rope.rope", "rope_kernel", turn),
        Case("rope.norm_rope", "norm_rope_kernel", norm_turn),
        Case("attn_front.attn_front", "norm_rope_insert_kernel", front),
        Case("compressor.pool", "compress_softmax_kernel", pool),
    ]


def _index(b: Bench) -> list[Case]:
    s, count = b.shapes, b.rows
    capacity = s.capacity

    def logits(_: int) -> Call:
        q, keys = b.normal(count, s.index_heads, s.index_dim), b.normal(1, capacity, s.index_dim)
        sequences, visible = (torch.full((count,), n, device=b.device) for n in (0, capacity))
        given = (q, keys, b.normal(count, s.index_heads), sequences, visible)
        return Call(indexer.index_logits, given, 2 * count * s.index_heads * capacity * s.index_dim)

    def top(_: int) -> Call:
        return Call(indexer.top_k, (b.floats(count, capacity), s.index_top_k), 32 * count * capacity)

    return [
        Case("indexer.index_logits", "index_logits_gemm_kernel", logits),
        Case("indexer.top_k", "index_topk_kernel", top),
    ]


def _attention(b: Bench) -> list[Case]:
    s, count = b.shapes, b.rows
    seen = s.window + s.index_top_k

    def attend(_: int) -> Call:
        q, window = b.normal(count, s.heads, s.head_dim), b.normal(1, 2 * s.window, s.head_dim)
        rows = b.normal(s.capacity, s.head_dim)
        table = b.integers(s.capacity, count, s.index_top_k, dtype=torch.int32)
        sequences = torch.zeros(count, dtype=torch.int64, device=b.device)
        last = torch.arange(count, device=b.device) + s.window
        given = (q, window, rows, table, sequences, last, b.floats(s.heads))
        # at most: rows that several queries chose come from memory once
        read = q.nbytes + table.nbytes + (s.window + count * s.index_top_k) * s.head_dim * q.itemsize
        function = partial(sparse_attention.sparse_attention, span=s.window, scale=s.head_dim**-0.5)
        return Call(function, given, 4 * count * s.heads * seen * s.head_dim, read)

    return [Case("sparse_attention.sparse_attention", "sparse_decode_kernel", attend)]


def mixing_cases(b: Bench) -> list[Case]:
    """Hyper-connections."""
    s, count = b.shapes, b.rows
    outputs, width = s.streams * (s.streams + 2), s.streams * s.hidden

    def ended() -> tuple[torch.Tensor, ...]:
        pair = b.floats(count, s.streams), b.floats(count, s.streams, s.streams)
        return b.normal(count, s.streams, s.hidden), b.normal(count, s.hidden), *pair

    def begun() -> tuple[torch.Tensor, ...]:
        return b.floats(3), b.floats(outputs), b.normal(s.hidden)

    def logits(_: int) -> Call:
        return Call(mhc.mix_logits, (ended()[0], b.floats(outputs, width)), 2 * count * outputs * width)

    def pre(_: int) -> Call:
        return Call(mhc.pre, (ended()[0], b.floats(count, outputs), *begun(), ITERATIONS), 2 * count * width)

    def post(_: int) -> Call:
        return Call(mhc.post_mix, ended(), 2 * count * width * (s.streams + 1))

    def boundary(_: int) -> Call:
        flops = 2 * count * width * (outputs + s.streams + 2)
        return Call(mhc.boundary, (*ended(), b.floats(outputs, width), *begun(), ITERATIONS), flops)

    return [
        Case("mhc.mix_logits", "mhc_logits_gemm_kernel", logits),
        Case("mhc.pre", "mhc_pre_rms_norm_kernel", pre),
        Case("mhc.post_mix", "mhc_post_mix_kernel", post),
        Case("mhc.boundary", "mhc_boundary_gemm_kernel", boundary),
    ]
