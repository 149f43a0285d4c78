"""A whole load test: every class at every concurrency, then prompts of given lengths.

load_test(endpoint, Plan(classes=("code",), concurrency=(1, 8)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from stepprof.profiler.errors import InputError
from stepprof.profiler.load.crowd import Load, crowd
from stepprof.profiler.load.endpoint import Endpoint
from stepprof.profiler.load.figures import cell, prefill
from stepprof.profiler.load.prompts import filler, prompts
from stepprof.profiler.load.result import Cell, LoadResult, Prefill
from stepprof.profiler.load.stream import Answer, ask

GAUGE_WORDS = 64  # words of the request that tells how many tokens a word is


@dataclass(frozen=True)
class Plan:
    """What is asked; `load.concurrency` is replaced by each of `concurrency`."""

    classes: tuple[str, ...] = ("prose",)
    concurrency: tuple[int, ...] = (1,)
    prefill: tuple[int, ...] = ()
    load: Load = field(default_factory=Load)
    seed: int = 0


def load_test(endpoint: Endpoint, plan: Plan, tell: Callable[[str], None] = lambda text: None) -> LoadResult:
    """Run it; `tell` gets a line before each part. InputError where not one request was answered."""
    texts = {name: prompts(name) for name in plan.classes}  # before anything is asked
    cells: list[Cell] = []
    thought = False
    for name in plan.classes:
        for clients in plan.concurrency:
            tell(f"{name}, {clients} at once")
            answers, reasoned = crowd(endpoint, texts[name], replace(plan.load, concurrency=clients))
            cells.append(cell(name, clients, answers))
            thought |= reasoned
    reads = _prefills(endpoint, plan, tell)
    _check(endpoint, cells, reads)
    return LoadResult(
        url=str(endpoint.address),
        model=endpoint.model,
        route=endpoint.route,
        thinking=endpoint.thinking,
        max_tokens=plan.load.max_tokens,
        cells=tuple(cells),
        prefill=tuple(reads),
        warnings=tuple(_warnings(endpoint, cells, reads, thought)),
    )


def _prefills(endpoint: Endpoint, plan: Plan, tell: Callable[[str], None]) -> list[Prefill]:
    """Prompts of each length, alone; every text is new, so that no cache has its beginning."""
    if not plan.prefill:
        return []
    seeds = count(plan.seed * 1_000_003)
    short, long = (ask(endpoint, filler(words, next(seeds)), 1, plan.load.timeout) for words in (1, 1 + GAUGE_WORDS))
    made: list[Prefill] = []
    for length in plan.prefill:
        tell(f"prefill of {length} tokens")
        if short.prompt_tokens is None or long.prompt_tokens is None:
            made.append(prefill(length, [_untold(short, long)]))
            continue
        each = max(long.prompt_tokens - short.prompt_tokens, 1) / GAUGE_WORDS
        words = 1 + max(0, round((length - short.prompt_tokens) / each))
        turns = range(plan.load.warm_up + plan.load.rounds)
        answers = [ask(endpoint, filler(words, next(seeds)), 1, plan.load.timeout) for _ in turns]
        made.append(prefill(length, answers[plan.load.warm_up :]))
    return made


def _untold(short: Answer, long: Answer) -> Answer:
    """Why the length of a prompt cannot be chosen."""
    for answer in (short, long):
        if answer.error is not None:
            return answer
    made = Answer()
    made.fail("no_usage", "the server sends no usage, so the length of a prompt in tokens is not known")
    return made


def _check(endpoint: Endpoint, cells: Sequence[Cell], reads: Sequence[Prefill]) -> None:
    parts = [*cells, *reads]
    if parts and all(sum(part.errors.values()) == part.requests for part in parts):
        raise InputError(f"{endpoint.address} answered no request ({parts[0].first_error}): look at the server's log.")


def _warnings(
    endpoint: Endpoint, cells: Sequence[Cell], reads: Sequence[Prefill], thought: bool
) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []

    def warn(code: str, number: int, text: str) -> None:
        made.append({"code": code, "count": number, "text": text})

    failed = sum(sum(part.errors.values()) for part in (*cells, *reads))
    if failed:
        first = next(part.first_error for part in (*cells, *reads) if part.first_error)
        warn(
            "failed_requests", failed, f"{failed} requests failed and are in no figure but the errors; first: {first}."
        )
    pieces = sum(part.counted == "pieces" for part in cells)
    if pieces:
        warn("pieces", pieces, "the server sends no usage: streamed pieces are counted, which may hold several tokens.")
    if endpoint.thinking is False and thought:
        warn(
            "thinks_anyway", 1, "--thinking off, but the server sent reasoning: its template does not know the switch."
        )
    if endpoint.thinking and not thought:
        warn("no_thinking_seen", 1, "--thinking on, but no reasoning came apart from the text.")
    cached = sum(part.cached_tokens for part in reads)
    if cached:
        warn("cached", cached, f"{cached} prompt tokens came from the server's cache: prefill looks faster than it is.")
    return made
