"""What the measurements count, and that each measured call may be captured in a graph and replayed."""

import math

import pytest
import torch

from stepprof.kernels.bench import NoGpu, bench_kernels
from stepprof.kernels.bench.case import Bench, Case
from stepprof.kernels.bench.cases import cases
from stepprof.kernels.shapes import FLASH, MINI

META = {case.op: case for case in cases(Bench(FLASH, 6, torch.device("meta")))}


def test_without_a_gpu_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NoGpu, match="needs an NVIDIA GPU"):
        bench_kernels("mini", (1,))


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("expert_gemm.up_gate", 6 * 2048 * 2 + 36 * 2 * 640 * 2048 * 2),
        ("expert_gemm.down", 6 * 6 * 640 * 2 + 36 * 640 * 2048 * 2),
        ("mhc.mix_logits", 6 * 4 * 2048 * 2 + 24 * 4 * 2048 * 4),
        ("rope.rope", 6 * 32 * 256 * 2 + 6 * 64 * 4),
    ],
)
def test_bytes_read(op: str, expected: int):
    """Rows, weights of the experts used, table rows of the positions: each once."""
    assert META[op].make(0).bytes_read == expected


def test_calls_use_other_experts():
    first, second = (META["expert_gemm.up_gate"].make(i) for i in range(2))
    assert first.inputs[2] is second.inputs[2], "the bank is shared"


def tensors(result: object) -> list[torch.Tensor]:
    """All tensors of a result, flat."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [part for item in result for part in tensors(item)]  # pyright: ignore[reportGeneralTypeIssues]


@pytest.mark.gpu
@pytest.mark.parametrize("op", META)
def test_a_captured_call_replays(op: str):
    """Two replays give what the eager call gave; what is undefined beyond held rows stays out."""
    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    bench = Bench(MINI, 6, torch.device("cuda"))
    case: Case = next(one for one in cases(bench) if one.op == op)
    call = case.make(0)
    eager = [part.clone() for part in tensors(call())]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = tensors(call())
    for _ in range(2):
        graph.replay()
        torch.cuda.synchronize()
        for mine, truth in zip(captured, eager, strict=True):
            known = ~truth.float().isnan()
            torch.testing.assert_close(mine.float()[known], truth.float()[known], rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
def test_a_measurement_has_its_figures():
    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    document = bench_kernels("mini", (1,), ops=("swiglu",))
    (one,) = document["kernels"]
    assert one["bytes_read"] == 2 * 256 * 2
    assert all(math.isfinite(one[key]["value"]) for key in ("time_us", "copy_us", "share_of_copy", "gb_per_s"))
