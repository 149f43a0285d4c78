"""Sizes at which kernels are tested and measured on a GPU: those of the presets `mini` and `flash`.

Kernels import nothing of the runtime, so the numbers stand here again; tests/kernels/test_shapes.py compares them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shapes:
    """Letters as in stepprof.kernels; `capacity` is the longest compressed cache of one sequence, in rows."""

    name: str
    hidden: int
    heads: int
    head_dim: int
    rope_dim: int
    q_lora: int
    index_heads: int
    index_dim: int
    index_top_k: int
    window: int
    capacity: int
    experts: int
    hot_experts: int
    top_k: int
    expert_width: int
    vocab: int
    streams: int = 4


MINI = Shapes(
    name="mini",
    hidden=1024,
    heads=16,
    head_dim=64,
    rope_dim=32,
    q_lora=256,
    index_heads=8,
    index_dim=64,
    index_top_k=128,
    window=128,
    capacity=2049,
    experts=64,
    hot_experts=49,
    top_k=6,
    expert_width=256,
    vocab=8192,
)
FLASH = Shapes(
    name="flash",
    hidden=2048,
    heads=32,
    head_dim=256,
    rope_dim=64,
    q_lora=768,
    index_heads=32,
    index_dim=128,
    index_top_k=512,
    window=128,
    capacity=8193,
    experts=384,
    hot_experts=295,
    top_k=6,
    expert_width=640,
    vocab=129_280,
)
PRESETS = (MINI, FLASH)


def shapes_of(preset: str) -> Shapes:
    """The sizes of a preset."""
    return next(one for one in PRESETS if one.name == preset)
