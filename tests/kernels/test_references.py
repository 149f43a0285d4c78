"""The references against loops, torch's own functions, and each other."""

from typing import Any

import pytest
import torch

from stepprof.kernels import attn_front, compact, expert_gemm, indexer, mhc, moe_front, pad, router
from stepprof.kernels.add_rms_norm import add_rms_norm, add_rms_norm_quant, rms_norm
from stepprof.kernels.backends import implementation
from stepprof.kernels.compressor import pool
from stepprof.kernels.rope import norm_rope, rope, rope_table
from stepprof.kernels.sparse_attention import sparse_attention
from stepprof.kernels.swiglu import swiglu

T, S, D, E, A, I = 7, 4, 40, 9, 3, 12  # noqa: E741


@pytest.fixture(autouse=True)
def seed():
    """The same numbers every time."""
    torch.manual_seed(0)


def slots(hot: list[int]) -> tuple[Any, Any]:
    """(hot slot, cold slot) of E experts."""
    cold = [e for e in range(E) if e not in hot]
    pair = torch.full((2, E), -1, dtype=torch.int32)
    pair[0, hot] = torch.arange(len(hot), dtype=torch.int32)
    pair[1, cold] = torch.arange(len(cold), dtype=torch.int32)
    return pair[0], pair[1]


def close(a: Any, b: Any) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_norms():
    x, residual, weight = torch.randn(T, D), torch.randn(T, D), torch.rand(D)
    close(rms_norm(x, weight), torch.nn.functional.rms_norm(x, (D,), weight, 1e-6))
    normed, total = add_rms_norm(x, residual, weight)
    close(total, x + residual)
    close(normed, rms_norm(x + residual, weight))
    q, scale, _ = add_rms_norm_quant(x, residual, weight)
    assert q.dtype == torch.float8_e4m3fn and scale.shape == (T, 1)
    assert ((q.float() * scale - normed).abs() <= normed.abs() / 16 + 1e-3).all()


@pytest.mark.parametrize("positions", [[0] * T, [0, 1, 5, 63, 2, 9, 99]], ids=["zero", "mixed"])
def test_rope_turns_and_turns_back(positions: list[int]):
    x, table, at = torch.randn(T, 3, 16), rope_table(100, 8), torch.tensor(positions)
    turned = rope(x, table, at)
    close(turned[..., :8], x[..., :8])
    close(turned.norm(dim=2), x.norm(dim=2))
    close(rope(turned, table, at, inverse=True), x)
    close(norm_rope(x, torch.full((16,), 2.0), table, at), rope(2 * rms_norm(x), table, at))
    # the product of two turned vectors depends on their distance only
    a, b = torch.randn(1, 1, 16), torch.randn(1, 1, 16)
    dot = [float((rope(a, table, torch.tensor([p])) * rope(b, table, torch.tensor([p + 3]))).sum()) for p in (0, 40)]
    assert dot[0] == pytest.approx(dot[1], abs=1e-4)


def test_hyper_connections_mix_without_loss():
    streams, fn, base = torch.randn(T, S, D), torch.randn(S * (S + 2), S * D) * 0.05, torch.randn(S * (S + 2))
    scale, weight, out = torch.ones(3), torch.ones(D), torch.randn(T, D)
    _, post, comb = mhc.pre(streams, mhc.mix_logits(streams, fn), scale, base, weight, 20)
    close(comb.sum(1), torch.ones(T, S))
    close(comb.sum(2), torch.ones(T, S))
    mixed = mhc.post_mix(streams, out, post, comb)
    close(mixed.sum(1), streams.sum(1) + post.sum(1, keepdim=True) * out)
    whole = mhc.boundary(streams, out, post, comb, fn, scale, base, weight, 20)
    close(whole[0], mixed)
    close(whole[1], mhc.pre(mixed, mhc.mix_logits(mixed, fn), scale, base, weight, 20)[0])


def test_indexer_chooses_visible_rows():
    q, keys, weights = torch.randn(T, 2, 8), torch.randn(3, 11, 8), torch.rand(T, 2)
    sequences, visible = torch.arange(T) % 3, torch.arange(T)
    logits = indexer.index_logits(q, keys, weights, sequences, visible)
    chosen = indexer.top_k(logits, 4)
    for t in range(T):
        scores = [float(sum(weights[t, h] * (q[t, h] @ keys[t % 3, j]).relu() for h in range(2))) for j in range(t)]
        best = sorted(range(t), key=lambda j: -scores[j])[:4]
        assert chosen[t].tolist() == best + [-1] * (4 - len(best))
    table = indexer.build_table(chosen, sequences, 11)
    assert torch.equal(table >= 0, chosen >= 0) and (table[1][table[1] >= 0] >= 11).all()


def test_attention_equals_dense_attention_over_what_is_seen():
    window, rows, q, sink = torch.randn(2, 16, 8), torch.randn(30, 8), torch.randn(T, 3, 8), torch.randn(3)
    sequences, last = torch.arange(T) % 2, torch.tensor([0, 3, 4, 15, 16, 21, 40])
    table = torch.randint(-1, 30, (T, 5), dtype=torch.int32)
    out = sparse_attention(q, window, rows, table, sequences, last, sink, span=5, scale=0.3)
    for t in range(T):
        seen = [window[t % 2, p % 16] for p in range(max(0, int(last[t]) - 4), int(last[t]) + 1)]
        keys = torch.stack(seen + [rows[int(j)] for j in table[t] if j >= 0])
        logits = torch.cat([q[t] @ keys.T * 0.3, sink[:, None]], dim=1)
        close(out[t], logits.softmax(1)[:, :-1] @ keys)


@pytest.mark.parametrize("ratio", [1, 2, 5])
def test_pool_is_a_softmax_over_the_group(ratio: int):
    raw, bias = torch.randn(2, 8, 2 * D), torch.randn(ratio, D)
    positions, sequences = torch.arange(3, 3 + T), torch.arange(T) % 2
    pooled = pool(raw, bias, sequences, positions)
    for t, p in enumerate(positions.tolist()):
        group = torch.stack([raw[t % 2, (p - p % ratio + i) % 8] for i in range(ratio)])
        close(pooled[t], (group[:, :D] * (group[:, D:] + bias).softmax(0)).sum(0))


def test_router_weights_ignore_the_bias():
    logits, bias = torch.randn(T, E), torch.zeros(E)
    bias[4] = 100
    weights, experts = router.route(logits, bias, A, 1.5)
    assert (experts[:, 0] == 4).all()
    close(weights.sum(1), torch.full((T,), 1.5))
    scores = torch.nn.functional.softplus(logits).sqrt()
    close(
        weights[:, 0] / weights[:, 1], (scores.gather(1, experts.long())[:, 0] / scores.gather(1, experts.long())[:, 1])
    )


@pytest.mark.parametrize("hot", [[], [0, 1, 2, 3, 4, 5], list(range(E))], ids=["none", "some", "all"])
@pytest.mark.parametrize("order", ["ordered", "atomic"])
def test_hot_and_cold_make_the_whole(hot: list[int], order: str):
    x, gate, bias = torch.randn(T, D), torch.randn(E, D), torch.zeros(E)
    w_in, w_out = torch.randn(E, 2 * I, D) * 0.2, torch.randn(E, D, I) * 0.2
    weights, experts = router.route(x @ gate.T, bias, A, 1.5)
    expected = torch.zeros(T, D)
    for t in range(T):
        for a in range(A):
            e = int(experts[t, a])
            expected[t] += weights[t, a] * (w_out[e] @ swiglu((w_in[e] @ x[t])[None])[0])

    def answer(x: Any, s: Any, w: Any, members: list[int], held: Any = None) -> Any:
        bank = members or [0]
        h = expert_gemm.up_gate(x, s, w_in[bank], count=held)
        if order == "atomic":
            return expert_gemm.down_atomic(h, s, w, w_out[bank], count=held)
        return expert_gemm.reduce(expert_gemm.down(h, s, w, w_out[bank], count=held), x.dtype, count=held)

    hot_slots, cold = compact.split(x, weights, experts, *slots(hot))
    y = answer(cold.x, cold.slots, cold.weights, [e for e in range(E) if e not in hot], cold.held)
    close(compact.add_rows(answer(x, hot_slots, weights, hot), y, cold.rows), expected)
    front = moe_front.moe_front(x, gate, bias, *slots(hot), A, 1.5)
    assert torch.equal(front[1], hot_slots) and torch.equal(front[2].rows, cold.rows)


def test_impose_makes_flagged_rows_cold_once():
    experts = torch.randint(E, (T, A), dtype=torch.int32)
    flags = torch.arange(T) % 2 == 0
    hot, cold = torch.tensor([0, 1, 2, 3], dtype=torch.int32), torch.tensor([4, 5, 6, 7, 8], dtype=torch.int32)
    imposed = compact.impose(experts, flags, hot, cold)
    assert ((imposed >= 4).sum(1) == flags.int()).all()


def test_attention_front_equals_its_chain():
    q, latent, table = torch.randn(T, 3, 16), torch.randn(T, 16), rope_table(50, 8)
    positions, sequences, weight = torch.arange(20, 20 + T), torch.arange(T) % 2, torch.rand(16)
    window = torch.zeros(2, 8, 16)
    turned = attn_front.attn_front(q, latent, weight, table, positions, sequences, window)
    close(turned, norm_rope(q, None, table, positions))
    close(window[sequences, positions % 8], norm_rope(latent[:, None], weight, table, positions)[:, 0])


def test_a_missing_kernel_is_named():
    with pytest.raises(NotImplementedError, match="resident has no triton kernel: use backend='cuda'"):
        implementation("resident", "triton", torch.zeros(1))


def test_pad_takes_its_time():
    import time

    x = torch.ones(3)
    start = time.perf_counter()
    pad.pad(x, 3_000)
    assert time.perf_counter() - start >= 3e-3 and x.tolist() == [1, 1, 1]
