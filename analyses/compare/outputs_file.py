"""Outputs of a model as JSON lines, and the form in which they are compared.

    {"prompt": "p1", "position": 0, "token": 17}                  # top-1 after a given prefix: teacher forcing
    {"prompt": "p1", "tokens": [17, 4, 9], "forced": true}        # the same for positions 0, 1, 2
    {"prompt": "p1", "tokens": [17, 4, 9]}                        # what the model wrote by itself

Tokens are all numbers or all strings. `prefix` (any text, a digest say) may name what was forced; it must then be
the same in every file. A file holds forced or free outputs, never both.

    names = Names()
    a, b = read_outputs(Path("a.jsonl"), names), read_outputs(Path("b.jsonl"), names)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from stepprof.analyses.ops import Ints
from stepprof.profiler.errors import InputError

PLACES = 32  # bits of a key that hold the position
Place = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Token = Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | str


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """One line of a file."""

    prompt: str | int
    position: Place | None = None
    token: Token | None = None
    tokens: list[Token] | None = None
    forced: bool | None = None
    prefix: str | None = None


@dataclass
class Names:
    """Numbers for prompts, token texts and prefixes, shared by the files that are compared."""

    prompts: dict[str, int] = field(default_factory=dict[str, int])
    texts: dict[str, int] = field(default_factory=dict[str, int])
    prefixes: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])  # prompt -> prefix, file
    in_texts: bool | None = None  # whether tokens are strings; None before the first

    def token(self, token: int | str) -> int:
        """The number of a token."""
        return self.texts.setdefault(token, len(self.texts)) if isinstance(token, str) else token


@dataclass(frozen=True)
class Outputs:
    """Tokens by key, sorted; a key is the prompt's number and the position."""

    name: str
    forced: bool
    key: Ints  # prompt << PLACES | position
    token: Ints


def read_outputs(path: Path, names: Names) -> Outputs:
    """A file of outputs; InputError, which names the line, where it cannot be read."""
    keys: list[int] = []
    tokens: list[int] = []
    forced: bool | None = None
    for number, line in _lines(path):
        prompt, start, found = _checked(path, number, line, names)
        is_forced = line.position is not None or bool(line.forced)
        if forced not in (None, is_forced):
            raise InputError(f"{path} line {number}: mixes forced and free outputs: keep them in files of their own.")
        forced = is_forced
        keys += range(prompt << PLACES | start, (prompt << PLACES | start) + len(found))
        tokens += map(names.token, found)
    if not keys:
        raise InputError(f"{path} holds no output: write one JSON line a prompt or a position.")
    key, token = np.array(keys, dtype=np.int64), np.array(tokens, dtype=np.int64)
    order = np.argsort(key, kind="stable")
    key = key[order]
    twice = np.flatnonzero(key[1:] == key[:-1])
    if len(twice):
        prompt = list(names.prompts)[int(key[twice[0]] >> PLACES)]
        place = int(key[twice[0]] & (1 << PLACES) - 1)
        raise InputError(f"{path}: prompt {prompt!r} has position {place} twice: give each output once.")
    return Outputs(path.name, bool(forced), key, token[order])


def _lines(path: Path) -> list[tuple[int, Line]]:
    decoder = msgspec.json.Decoder(Line)
    try:
        with path.open("rb") as file:
            return [(number, decoder.decode(raw)) for number, raw in enumerate(file, 1) if raw.strip()]
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): name a file of JSON lines.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise InputError(f"{path} line {_fault_line(path, decoder)}: {fault}: correct the line.") from None


def _fault_line(path: Path, decoder: msgspec.json.Decoder[Line]) -> int:
    """The first line that cannot be read."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                if raw.strip():
                    decoder.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return number
    return 0


def _checked(path: Path, number: int, line: Line, names: Names) -> tuple[int, int, list[int | str]]:
    """Prompt, first position and tokens of a line."""
    where = f"{path} line {number}"
    if (line.tokens is None) == (line.token is None) or (line.token is None) != (line.position is None):
        raise InputError(f'{where}: give "tokens", or "position" and "token".')
    if line.position is not None and line.forced is False:
        raise InputError(
            f'{where}: a "position" with its "token" is an output under teacher forcing, never a free one.'
        )
    found: list[int | str] = [line.token] if line.token is not None else list(line.tokens or [])
    for token in found:
        if names.in_texts is None:
            names.in_texts = isinstance(token, str)
        if isinstance(token, str) != names.in_texts:
            raise InputError(f"{where}: tokens are numbers in one place and strings in another: write them alike.")
    prompt = names.prompts.setdefault(str(line.prompt), len(names.prompts))
    if line.prefix is not None:
        known, other = names.prefixes.setdefault(prompt, (line.prefix, path.name))
        if known != line.prefix:
            raise InputError(f"{where}: prompt {line.prompt!r} was forced along another prefix than in {other}.")
    return prompt, line.position or 0, found
