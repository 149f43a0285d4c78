"""How the model runs: the switches of a run, checked. `Options(k=3, fuse=("attn",))`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from stepprof.runtime.config import Config
from stepprof.runtime.errors import ConfigError

Fuse = Literal["boundary", "moe_front", "attn"]
Mode = Literal["off", "graph", "call", "persistent", "stub"]
Link = Literal["peer", "host"]
Sampling = Literal["greedy", "token", "block"]
Reduce = Literal["ordered", "atomic"]
# roles that ops of a step have, so that --pad-op can name one
Role = Literal[
    "attention",
    "indexer",
    "kv_write",
    "rope",
    "norm",
    "mhc",
    "router",
    "moe_route",
    "expert_gemm",
    "dense_gemm",
    "activation",
    "embedding",
    "lm_head",
    "sampling",
    "spec_draft",
    "spec_verify",
    "combine",
    "wait",
    "sidecar_copy",
    "sidecar_gemm",
    "sidecar_reduce",
]
MAX_K, MAX_BATCH = 7, 32


@dataclass(frozen=True, slots=True)
class Options:
    """Defaults are the plain program: k = 5, nothing fused, nothing shared, sidecar in the graph."""

    device: str = "cpu"
    sidecar_device: str = "cpu"
    batch: int = 1
    k: int = 5
    sampling: Sampling = "greedy"
    temperature: float = 1.0  # of sampled runs, unless a request brings its own
    seed: int = 0
    graphs: bool = True  # capture steps on the GPU; the CPU always runs eagerly
    share_topk: bool = False
    fuse: tuple[Fuse, ...] = ()
    mhc_stream: bool = False
    sidecar_mode: Mode = "graph"
    link: Link = "peer"
    reduce: Reduce = "ordered"
    prefill_chunk: int = 64
    limit_ms: float = 2_000.0  # how long the sidecar may take for one call
    simulate_acceptance: tuple[float, ...] = ()  # P(first i drafts kept), i = 1 … k
    cold_rate: float | None = None  # share of rows that need a cold expert
    pads: dict[str, float] = field(default_factory=dict[str, float])  # role -> µs added to each of its ops

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise ConfigError(f"{problem}.")

    @property
    def rows_a_sequence(self) -> int:
        """Rows of one sequence in a step: the last token and the drafts."""
        return self.k + 1

    @property
    def max_rows(self) -> int:
        """The most rows a pass of the model may have."""
        return max(self.batch * self.rows_a_sequence, self.prefill_chunk)

    def check(self, config: Config) -> None:
        """What depends on the model too."""
        if self.k and not config.draft_layers:
            raise ConfigError(f"preset {config.name} has no draft head: use --k 0.")
        if self.sidecar_mode == "off" and config.hot_experts < config.experts:
            raise ConfigError(f"--sidecar-mode off needs every expert hot: add --hot-experts {config.experts}.")
        if self.cold_rate is not None and config.hot_experts in (0, config.experts):
            raise ConfigError("--cold-rate needs both hot and cold experts: change --hot-experts.")


def _problems(o: Options) -> list[str]:
    """Everything that is wrong, as sentences without a full stop."""
    a = o.simulate_acceptance
    unknown = [word for word in o.fuse if word not in get_args(Fuse)]
    strange = [role for role in o.pads if role not in get_args(Role)]
    tests = [
        (0 <= o.k <= MAX_K, f"--k {o.k} must lie between 0 and {MAX_K}"),
        (1 <= o.batch <= MAX_BATCH, f"--batch {o.batch} must lie between 1 and {MAX_BATCH}"),
        (o.prefill_chunk >= 1, f"--prefill-chunk {o.prefill_chunk} must be at least 1"),
        (o.temperature > 0, f"--temperature {o.temperature} must be above 0; greedy runs use --sampling greedy"),
        (o.limit_ms > 0, f"--limit-ms {o.limit_ms} must be above 0"),
        (not unknown, f"--fuse knows {', '.join(get_args(Fuse))}, not {', '.join(unknown)}"),
        (
            not (o.mhc_stream and "boundary" in o.fuse),
            "--mhc-stream has nothing to carry under --fuse boundary: drop one",
        ),
        (o.cold_rate is None or 0 <= o.cold_rate <= 1, f"--cold-rate {o.cold_rate} must lie between 0 and 1"),
        (
            o.cold_rate is None or "moe_front" not in o.fuse,
            "--cold-rate changes the routing that --fuse moe_front hides: drop one",
        ),
        (not a or len(a) == o.k, f"--simulate-acceptance needs {o.k} values (one a draft), not {len(a)}"),
        (all(0 <= x <= 1 for x in a), "--simulate-acceptance takes probabilities between 0 and 1"),
        (list(a) == sorted(a, reverse=True), "--simulate-acceptance is P(first i kept): it must not grow"),
        (not strange, f"--pad-op: no role '{''.join(strange[:1])}'; ops have {', '.join(get_args(Role))}"),
        (all(us >= 0 for us in o.pads.values()), "--pad-op takes microseconds of 0 or more"),
    ]
    return [text for fine, text in tests if not fine]
