"""Shapes of the model, checked, and three presets: `preset("tiny")`, `mini`, `flash`.

After DeepSeek-V4.1-Flash: 4 residual streams, one latent KV head, compressed KV shared by the layers
after its source, an indexer whose table the layers after it share, 6 of many experts and a shared one,
a draft head of a few layers that proposes a block. Left out: the engram memory, fp4 and fp8 weights,
the indexer's candidate blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from stepprof.runtime.errors import ConfigError

Dtype = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class Config:
    """Letters as in stepprof.kernels. `ratios[i]` is 0 where a layer sees its window only."""

    name: str
    hidden: int
    ratios: tuple[int, ...]  # tokens in one compressed row, by layer
    kv_sources: tuple[int, ...]  # layers that compress; those after them read along
    index_sources: tuple[int, ...]  # layers that choose rows; those after them share the choice
    heads: int
    head_dim: int
    rope_dim: int
    q_lora: int
    o_groups: int
    o_lora: int
    index_heads: int
    index_dim: int
    index_top_k: int
    window: int
    experts: int
    top_k: int
    expert_width: int
    shared_width: int
    hot_experts: int
    vocab: int
    draft_layers: int
    draft_block: int  # tokens it was made to propose; more are not what it was trained for
    draft_experts: int
    draft_top_k: int
    markov_rank: int
    max_context: int
    streams: int = 4
    sinkhorn: int = 20
    route_scale: float = 1.5
    swiglu_limit: float = 10.0
    eps: float = 1e-6
    dtype: Dtype = "bfloat16"

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise ConfigError(f"preset {self.name}: {problem}.")

    @property
    def layers(self) -> int:
        """Layers of the model, those of the draft head not counted."""
        return len(self.ratios)

    @property
    def read_layers(self) -> tuple[int, ...]:
        """Layers whose streams the draft head reads: the last few, one for each of its own."""
        return tuple(range(self.layers - self.draft_layers, self.layers))

    def kv_source(self, layer: int) -> int:
        """The layer whose compressed rows this one attends to."""
        return max(i for i in self.kv_sources if i <= layer)

    def index_source(self, layer: int) -> int:
        """The layer whose choice of rows this one uses."""
        return max(i for i in self.index_sources if i <= layer)

    def with_layers(self, count: int) -> Config:
        """The same model cut to its first `count` layers, or with its last ratio carried on."""
        ratios = (self.ratios + self.ratios[-1:] * count)[:count]
        index = tuple(i for i in self.index_sources if i < count)
        grown = range(max(self.index_sources, default=0) + 4, count, 4) if count > self.layers else ()
        kv = tuple(i for i in self.kv_sources if i < count)
        draft = min(self.draft_layers, count)
        return replace(self, ratios=ratios, kv_sources=kv, index_sources=index + tuple(grown), draft_layers=draft)


def _problems(c: Config) -> list[str]:
    """Everything that is wrong, as sentences without a full stop."""
    positive = ("hidden", "heads", "head_dim", "o_groups", "window", "experts", "top_k", "vocab", "max_context")
    found = [f"{name} is {getattr(c, name)} and must be at least 1" for name in positive if getattr(c, name) < 1]
    tests = [
        (bool(c.ratios), "there must be at least one layer"),
        (c.heads % c.o_groups == 0, f"{c.heads} heads do not divide into {c.o_groups} output groups"),
        (c.rope_dim % 2 == 0 and c.rope_dim <= c.head_dim, f"rope_dim {c.rope_dim} must be even and fit {c.head_dim}"),
        (c.rope_dim <= c.index_dim, f"rope_dim {c.rope_dim} must fit the index_dim {c.index_dim}"),
        (c.top_k <= c.experts, f"top_k {c.top_k} is more than {c.experts} experts"),
        (c.draft_top_k <= c.draft_experts, f"draft_top_k {c.draft_top_k} is more than {c.draft_experts} experts"),
        (0 <= c.hot_experts <= c.experts, f"hot_experts {c.hot_experts} must lie between 0 and {c.experts}"),
        (c.draft_layers <= c.layers, f"a draft head of {c.draft_layers} layers cannot read {c.layers}"),
        (all(r >= 0 for r in c.ratios), "a compression ratio must not be negative"),
    ]
    found += [text for fine, text in tests if not fine]
    for i, ratio in enumerate(c.ratios):
        sources = {"kv": [s for s in c.kv_sources if s <= i], "index": [s for s in c.index_sources if s <= i]}
        found += [f"layer {i} is compressed but has no {word} source" for word, s in sources.items() if ratio and not s]
        if ratio and sources["kv"] and c.ratios[sources["kv"][-1]] != ratio:
            found.append(f"layer {i} has ratio {ratio}, its kv source {sources['kv'][-1]} another")
        if ratio and all(sources.values()) and sources["index"][-1] < sources["kv"][-1]:
            found.append(f"layer {i} would use a table older than its kv source {sources['kv'][-1]}")
    return found


TINY = Config(
    name="tiny",
    hidden=32,
    ratios=(0, 2, 2, 1),
    kv_sources=(1, 3),
    index_sources=(1, 3),
    heads=4,
    head_dim=16,
    rope_dim=8,
    q_lora=24,
    o_groups=2,
    o_lora=16,
    index_heads=2,
    index_dim=16,
    index_top_k=4,
    window=8,
    experts=8,
    top_k=3,
    expert_width=16,
    shared_width=16,
    hot_experts=6,
    vocab=260,
    draft_layers=1,
    draft_block=5,
    draft_experts=4,
    draft_top_k=2,
    markov_rank=8,
    max_context=512,
    dtype="float32",
)
MINI = Config(
    name="mini",
    hidden=1024,
    ratios=(0, 0, 2, 2, 2, 2, 1, 1, 1, 1),
    kv_sources=(2, 6),
    index_sources=(2, 5, 6, 8),
    heads=16,
    head_dim=64,
    rope_dim=32,
    q_lora=256,
    o_groups=2,
    o_lora=128,
    index_heads=8,
    index_dim=64,
    index_top_k=128,
    window=128,
    experts=64,
    top_k=6,
    expert_width=256,
    shared_width=256,
    hot_experts=49,
    vocab=8192,
    draft_layers=1,
    draft_block=5,
    draft_experts=16,
    draft_top_k=3,
    markov_rank=64,
    max_context=2048,
)
# widths are scaled so that 295 hot experts of 40 layers fill one card of 140 GB (93 GB) and 89 cold ones the other
FLASH = Config(
    name="flash",
    hidden=2048,
    ratios=(0, 0, *(2,) * 18, *(1,) * 20),
    kv_sources=(2, 8, 14, 20),
    index_sources=(2, 8, 14, 20, 24, 28, 32, 36),
    heads=32,
    head_dim=256,
    rope_dim=64,
    q_lora=768,
    o_groups=8,
    o_lora=512,
    index_heads=32,
    index_dim=128,
    index_top_k=512,
    window=128,
    experts=384,
    top_k=6,
    expert_width=640,
    shared_width=640,
    hot_experts=295,
    vocab=129_280,
    draft_layers=3,
    draft_block=5,
    draft_experts=128,
    draft_top_k=3,
    markov_rank=256,
    max_context=8192,
)
PRESETS = {config.name: config for config in (TINY, MINI, FLASH)}


def preset(name: str) -> Config:
    """A preset by name."""
    if name not in PRESETS:
        raise ConfigError(f"no preset '{name}'; there are {', '.join(PRESETS)}.")
    return PRESETS[name]
