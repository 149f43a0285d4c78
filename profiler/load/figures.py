"""Answers of clients as figures: `cell("code", 8, answers)`, `prefill(1024, answers)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stepprof.profiler.load.result import Cell, Counted, Prefill, Spread
from stepprof.profiler.load.stream import Answer


def cell(class_: str, concurrency: int, answers: Sequence[Answer]) -> Cell:
    """Figures of one class at one concurrency; requests that failed count as errors only."""
    good = [answer for answer in answers if answer.error is None]
    counted: Counted = "usage" if all(answer.completion_tokens is not None for answer in good) else "pieces"
    tokens = [_tokens(answer, counted) for answer in good]
    wall = max(a.end for a in answers) - min(a.sent for a in answers) if good else 0.0
    streams = [(_after_first(a, n), _decoding(a)) for a, n in zip(good, tokens, strict=True) if _decoding(a) > 0]
    return Cell(
        class_=class_,
        concurrency=concurrency,
        requests=len(answers),
        errors=_errors(answers),
        first_error=_first_error(answers),
        tokens=sum(tokens),
        counted=counted if good else None,
        wall_s=wall,
        tokens_per_s=sum(tokens) / wall if wall > 0 else None,
        stream_tokens_per_s=sum(n for n, _ in streams) / sum(s for _, s in streams) if streams else None,
        stream_spread=spread([n / s for n, s in streams]),
        first_token_ms=spread([1e3 * _first(answer) for answer in good]),
    )


def prefill(asked: int, answers: Sequence[Answer]) -> Prefill:
    """Figures of prompts of one length; without the server's count of prompt tokens there is no rate."""
    good = [answer for answer in answers if answer.error is None]
    told = [(answer.prompt_tokens, _first(answer)) for answer in good if answer.prompt_tokens]
    count, seconds = sum(n for n, _ in told), sum(s for _, s in told)
    return Prefill(
        asked_tokens=asked,
        requests=len(answers),
        errors=_errors(answers),
        first_error=_first_error(answers),
        prompt_tokens=count / len(told) if told else None,
        tokens_per_s=count / seconds if told else None,
        first_token_ms=spread([1e3 * _first(answer) for answer in good]),
        cached_tokens=sum(answer.cached_tokens for answer in good),
    )


def spread(values: Sequence[float]) -> Spread | None:
    """Of the values; None where there are none."""
    if not values:
        return None
    return Spread(float(np.median(values)), float(np.percentile(values, 95)), min(values), max(values))


def _tokens(answer: Answer, counted: Counted) -> int:
    return answer.pieces if counted == "pieces" else answer.completion_tokens or 0


def _after_first(answer: Answer, tokens: int) -> float:
    """Tokens after the first piece, taking pieces as alike: a server that drafts sends several tokens in each."""
    return tokens * (answer.pieces - 1) / answer.pieces


def _first(answer: Answer) -> float:
    assert answer.first is not None
    return answer.first - answer.sent


def _decoding(answer: Answer) -> float:
    assert answer.first is not None and answer.last is not None
    return answer.last - answer.first


def _errors(answers: Sequence[Answer]) -> dict[str, int]:
    return dict(Counter(answer.error for answer in answers if answer.error is not None))


def _first_error(answers: Sequence[Answer]) -> str | None:
    return next((f"{answer.error}: {answer.said}" for answer in answers if answer.error), None)
