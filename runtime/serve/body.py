"""The body of POST /v1/completions, checked, and the orders it makes.

Strings become tokens by bytes, with the begin token before them. Beyond OpenAI's fields it takes vLLM's `ignore_eos`
(go on after the end token) and `return_token_ids`. A field that would change the answer and is not supported is
refused, never ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stepprof.runtime import tokenizer
from stepprof.runtime.engine import Engine
from stepprof.runtime.serve.errors import ApiError
from stepprof.runtime.serve.ticket import Order

DEFAULT_TOKENS, MAX_STOPS = 16, 4
# fields of OpenAI's interface that are not supported, and the values that ask for nothing
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "best_of": (None, 1),
    "echo": (None, False),
    "frequency_penalty": (None, 0),
    "logit_bias": (None, {}),
    "logprobs": (None,),
    "n": (None, 1),
    "presence_penalty": (None, 0),
    "suffix": (None, ""),
    "top_p": (None, 1),
}


class StreamOptions(BaseModel):
    """How a stream ends."""

    model_config = ConfigDict(strict=True, extra="forbid")
    include_usage: bool = False


class Body(BaseModel):
    """What a client may send."""

    model_config = ConfigDict(strict=True, extra="allow")
    model: str | None = None
    prompt: Any
    max_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    seed: int | None = Field(None, ge=0, lt=2**63)
    stop: Any = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    ignore_eos: bool = False
    return_token_ids: bool = False

    @property
    def usage_at_end(self) -> bool:
        """Whether a stream ends with the count of its tokens."""
        return self.stream_options is not None and self.stream_options.include_usage


@dataclass(frozen=True)
class Limits:
    """What the engine can serve."""

    model: str
    context: int  # prompt and answer together
    vocab: int
    greedy: bool

    @classmethod
    def of(cls, engine: Engine) -> Limits:
        """A step needs room for all of its drafts, whether they are kept or not."""
        config, options = engine.config, engine.options
        return cls(config.name, config.max_context - options.k, config.vocab, options.sampling == "greedy")


def parse(raw: bytes) -> Body:
    """The body, or the first thing that is wrong with it."""
    try:
        body = Body.model_validate_json(raw)
    except ValidationError as fault:
        first = fault.errors(include_url=False)[0]
        if first["type"] == "json_invalid":
            reason = first["msg"].removeprefix("Invalid JSON: ")
            raise ApiError(400, f"the body is not JSON: {reason}.", code="invalid_json") from None
        path = ".".join(str(part) for part in first["loc"])
        raise ApiError(400, f"'{path}': {first['msg']}." if path else f"{first['msg']}.", path or None) from None
    for name, value in (body.model_extra or {}).items():
        _refuse_extra(name, value)
    return body


def orders(body: Body, limits: Limits) -> list[Order]:
    """One order for each prompt."""
    if body.model not in (None, limits.model):
        message = f"no model '{body.model}'; there is {limits.model}."
        raise ApiError(404, message, "model", "model_not_found")
    if limits.greedy and body.temperature:
        message = f"temperature {body.temperature:g} needs a server with --sampling token or block: this one is greedy."
        raise ApiError(400, message, "temperature")
    return [_order(prompt, body, limits) for prompt in _prompts(body.prompt)]


def _order(prompt: list[int], body: Body, limits: Limits) -> Order:
    length, most = len(prompt), limits.context
    if not prompt or not all(0 <= token < limits.vocab for token in prompt):
        raise ApiError(400, f"a prompt needs at least one token, each from 0 to {limits.vocab - 1}.", "prompt")
    asked = min(DEFAULT_TOKENS, max(1, most - length)) if body.max_tokens is None else body.max_tokens
    if length + asked > most:
        message = f"the prompt has {length} tokens and max_tokens is {asked}; together at most {most} fit: shorten it."
        raise ApiError(400, message, "prompt" if length >= most else "max_tokens", "context_length_exceeded")
    # a greedy engine draws nothing that a seed could change
    seed = None if limits.greedy else body.seed
    return Order(prompt, asked, body.temperature, seed, _stops(body.stop), body.ignore_eos)


def _prompts(value: Any) -> list[list[int]]:
    if isinstance(value, str):
        return [tokenizer.encode(value)]
    if _all(value, str):
        return [tokenizer.encode(text) for text in value]
    if _all(value, int):
        return [value]
    if _all(value, list) and all(_all(part, int) for part in value):
        return value
    raise ApiError(400, "'prompt' must be a string, a list of strings, a list of tokens or a list of those.", "prompt")


def _stops(value: Any) -> tuple[str, ...]:
    stops = [value] if isinstance(value, str) else value
    if stops in (None, []):
        return ()
    if _all(stops, str) and all(stops) and len(stops) <= MAX_STOPS:
        return tuple(stops)
    raise ApiError(400, f"'stop' must be a string or a list of at most {MAX_STOPS}, none of them empty.", "stop")


def _all(value: Any, kind: type) -> bool:
    """Whether it is a list of these and not empty; a bool is no int."""
    return isinstance(value, list) and bool(value) and all(type(x) is kind for x in cast(list[Any], value))


def _refuse_extra(name: str, value: Any) -> None:
    if name not in NEUTRAL:
        known = ", ".join(Body.model_fields)
        raise ApiError(400, f"no field '{name}'; there are {known}.", name, "unknown_field")
    if value not in NEUTRAL[name]:
        raise ApiError(400, f"'{name}' is not supported: leave it out.", name, "unsupported_field")
