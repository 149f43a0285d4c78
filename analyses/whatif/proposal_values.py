"""Values of a proposals file, checked one by one: `read(place, key, value)` gives the value or the fault.

numbers are a number or [low, value, high]; layers 3, [2, 5], "2-19" or a list of both; patterns are regular
expressions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, cast

from stepprof.analyses.toml_entries import nearest
from stepprof.analyses.vocabulary import KINDS, PHASES, ROLES
from stepprof.analyses.whatif.proposal_lines import Place
from stepprof.analyses.whatif.proposal_model import Given, Select

Read = Callable[[Place, str, Any], Any]
SPAN = re.compile(r"(\d+)-(\d+)")
MOST_LAYERS = 10_000


def is_number(value: Any) -> bool:
    """A finite number, not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def number(least: float = -math.inf, above: bool = False) -> Read:
    """A figure with or without bounds, at least `least` (or above it)."""

    def read(place: Place, key: str, value: Any) -> Given:
        parts = cast(list[Any], value) if isinstance(value, list) else [value] * 3
        if len(parts) != 3 or not all(is_number(x) for x in parts) or sorted(parts) != parts:
            raise place.fault(key, "must be a number or [low, value, high]")
        if parts[0] < least or (above and parts[0] == least):
            raise place.fault(key, f"must be {'above' if above else 'at least'} {least:g}")
        return Given(float(parts[1]), float(parts[0]), float(parts[2]))

    return read


def whole(least: int) -> Read:
    """A whole number."""

    def read(place: Place, key: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise place.fault(key, f"must be a whole number, at least {least}")
        return value

    return read


def flag(place: Place, key: str, value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise place.fault(key, "must be true or false")
    return value


def text(place: Place, key: str, value: Any) -> str:
    """A string that says something."""
    if not isinstance(value, str) or not value.strip():
        raise place.fault(key, "must be a string")
    return value


def word(*words: str) -> Read:
    """One of some words."""

    def read(place: Place, key: str, value: Any) -> str:
        if value not in words:
            raise place.fault(key, f'is "{value}": {nearest(str(value), words)}')
        return value

    return read


def words(known: tuple[str, ...]) -> Read:
    """One word or a list of them."""

    def read(place: Place, key: str, value: Any) -> tuple[str, ...]:
        some = cast(list[Any], value) if isinstance(value, list) else [value]
        for one in some:
            if one not in known:
                raise place.fault(key, f'is "{one}": {nearest(str(one), known)}')
        if not some:
            raise place.fault(key, "is an empty list")
        return tuple(some)

    return read


def pattern(place: Place, key: str, value: Any) -> str:
    """A regular expression."""
    try:
        re.compile(text(place, key, value))
    except re.error as fault:
        raise place.fault(key, f"is no regular expression ({fault})") from None
    return value


def patterns(place: Place, key: str, value: Any) -> tuple[str, ...]:
    """At least two regular expressions."""
    if not isinstance(value, list) or len(cast(list[Any], value)) < 2:
        raise place.fault(key, "must be a list of at least two patterns")
    return tuple(pattern(place, key, one) for one in cast(list[Any], value))


def numbers(place: Place, key: str, value: Any) -> tuple[int, ...]:
    """Whole numbers: one, a list, a range "2-19", or a list of both."""
    found: list[int] = []
    for one in cast(list[Any], value) if isinstance(value, list) else [value]:
        span = SPAN.fullmatch(one) if isinstance(one, str) else None
        if span and int(span[1]) <= int(span[2]) < MOST_LAYERS:
            found += range(int(span[1]), int(span[2]) + 1)
        elif isinstance(one, int) and not isinstance(one, bool) and one >= 0:
            found.append(one)
        else:
            raise place.fault(key, 'must be whole numbers: 3, [2, 5] or "2-19"')
    if not found:
        raise place.fault(key, "is an empty list")
    return tuple(dict.fromkeys(found))


SELECT: dict[str, Read] = {
    "role": words(ROLES),
    "kind": words(KINDS),
    "layer": numbers,
    "phase": words(PHASES),
    "name": pattern,
    "device": numbers,
    "label": pattern,
}


def select(place: Place, key: str, value: Any) -> Select:
    """A table of conditions, at least one."""
    if not isinstance(value, dict) or not value:
        raise place.fault(key, f"must be a table of conditions ({', '.join(SELECT)})")
    inner = Place(place.path, place.text, place.number, place.edit, place.nth, key)
    found = cast(dict[str, Any], value)
    for name in found:
        if name not in SELECT:
            raise inner.unknown(name, list(SELECT))
    return Select(**{name: SELECT[name](inner, name, one) for name, one in found.items()})
