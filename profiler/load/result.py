"""The answer of stepprof load as plain data; every figure is `measured`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Counted = Literal["usage", "pieces"]


@dataclass(frozen=True)
class Spread:
    """A figure over requests."""

    p50: float
    p95: float
    min: float
    max: float


@dataclass(frozen=True)
class Cell:
    """One class of prompts at one concurrency; figures are None where no request gave them."""

    class_: str
    concurrency: int
    requests: int
    errors: dict[str, int]  # kind -> requests
    first_error: str | None
    tokens: int
    counted: Counted | None  # by the server's usage, or streamed pieces, of which each may hold several tokens
    wall_s: float  # first request sent to last one ended
    tokens_per_s: float | None  # tokens ÷ wall
    stream_tokens_per_s: float | None  # of one stream after its first piece: Σ tokens ÷ Σ time
    stream_spread: Spread | None
    first_token_ms: Spread | None
    kind: Literal["measured"] = "measured"


@dataclass(frozen=True)
class Prefill:
    """Prompts of one length, one at a time."""

    asked_tokens: int
    requests: int
    errors: dict[str, int]
    first_error: str | None
    prompt_tokens: float | None  # mean, by the server's usage
    tokens_per_s: float | None  # Σ prompt tokens ÷ Σ time to the first token
    first_token_ms: Spread | None
    cached_tokens: int
    kind: Literal["measured"] = "measured"


@dataclass(frozen=True)
class LoadResult:
    """A whole load test."""

    url: str
    model: str
    route: Literal["chat", "completions"]
    thinking: bool | None
    max_tokens: int
    cells: tuple[Cell, ...]
    prefill: tuple[Prefill, ...]
    warnings: tuple[dict[str, Any], ...]
