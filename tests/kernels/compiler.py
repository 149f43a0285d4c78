"""Compiles the kernels for an H200 where no GPU is, and prints one JSON line for each: `python tests/kernels/compiler.py`.

The interpreter runs code that the compiler refuses (a loop variable that changes its shape, a global that is no
constant), so every kernel goes through the compiler too. Inputs lie on torch's meta device: they have shapes only.
"""

import json
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from stepprof.kernels import attn_front, compact, dense_gemm, indexer, mhc, pad, signal, sparse_attention
from stepprof.kernels.accept import sample
from stepprof.kernels.bench.case import Bench
from stepprof.kernels.bench.cases import cases
from stepprof.kernels.expert_gemm import up_gate
from stepprof.kernels.shapes import FLASH

TARGET = GPUTarget("cuda", 90, 32)
TYPES = {
    torch.float8_e4m3fn: "fp8e4nv",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
}
PARTS = ("ld.acquire.sys.global", "st.release.sys.global", "%globaltimer", "atom.global.gpu.acq_rel")  # looked for
done: set[str] = set()


def compile_instead(kernel: Any, *arguments: Any, grid: Any, warmup: bool, **meta: Any) -> None:
    """Stands in for a launch: the same specialisation, no device."""
    options = {"num_warps": 4} | {name: meta.pop(name) for name in ("num_warps", "num_stages") if name in meta}
    given = dict(zip(kernel.arg_names, arguments, strict=False)) | meta
    given |= {"PTX": True} if "PTX" in given else {}
    signature, constants, attributes = {}, {}, {}
    for place, (parameter, value) in enumerate(zip(kernel.params, given.values(), strict=True)):
        signature[parameter.name] = kind = "constexpr" if parameter.is_constexpr else _type(value)
        if kind == "constexpr":
            constants[parameter.name] = value
        elif isinstance(value, torch.Tensor) or (isinstance(value, int) and value % 16 == 0):
            attributes[(place,)] = [["tt.divisibility", 16]]
    if (key := f"{kernel.__name__} {signature} {constants}") not in done:
        done.add(key)
        asm = triton.compile(ASTSource(kernel, signature, constants, attributes), target=TARGET, options=options).asm
        print(json.dumps({"kernel": kernel.__name__, "ptx": [word for word in PARTS if word in asm["ptx"]]}))


def _type(value: Any) -> str:
    if value is None or (isinstance(value, int) and value == 1):
        return "constexpr"
    if isinstance(value, torch.Tensor):
        return "*" + TYPES[value.dtype]
    return "fp32" if isinstance(value, float) else "i32" if abs(value) < 2**31 else "i64"


def rest(b: Bench) -> None:
    """Kernels that the measurements leave out."""
    s, count = b.shapes, b.rows
    round_, experts = b.integers(9, 1, dtype=torch.int32), b.integers(9, count, s.top_k, dtype=torch.int32)
    signal.bump(round_, backend="triton")
    signal.signal(round_, round_, backend="triton")
    signal.wait(round_, round_, round_, code=3, limit_us=10**7, held=round_, backend="triton")
    pad.pad(round_, 5.0, backend="triton")
    compact.impose(experts, b.floats(count) < 1, round_, round_, backend="triton")
    indexer.build_table(experts, b.integers(9, count), s.capacity, backend="triton")
    sample(b.floats(2, s.vocab), b.floats(2), backend="triton")
    up_gate(b.normal(count, 64), experts, b.normal(9, 64, 64), count=round_, backend="triton")
    for tactic in dense_gemm.tactics():
        dense_gemm.linear(b.normal(count, 1280), b.normal(8192, 1280), tactic, backend="triton")
    logits, streams = b.floats(count, 24), b.normal(count, 4, s.hidden)
    mhc.post_weights(logits, b.floats(3), b.floats(24), 20, backend="triton")
    mhc.pre_norm(streams, logits, b.floats(3), b.floats(24), b.normal(s.hidden), backend="triton")
    places, table = (b.integers(9, count), b.integers(9, count)), b.floats(50, s.rope_dim)
    window, q = b.normal(1, s.window, s.head_dim), b.normal(count, s.heads, s.head_dim)
    attn_front.latent_insert(q[:, 0], b.normal(s.head_dim), table, *places, window, backend="triton")
    given = (q, window, None, None, *places, b.floats(s.heads))
    sparse_attention.sparse_attention(*given, span=s.window, scale=0.1, turn=(table, places[0]), backend="triton")


if __name__ == "__main__":
    setattr(JITFunction, "run", compile_instead)  # noqa: B010
    bench = Bench(FLASH, 6, torch.device("meta"))
    rest(bench)
    for case in cases(bench):
        case.make(0)()
