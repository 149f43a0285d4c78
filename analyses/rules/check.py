"""Check the entries of a rules file: known keys, known words, patterns that compile.

`checked_entries("role", document, text, "mine.toml")` gives keyword arguments
for the rule dataclasses or raises the first fault as an `InputError`.
"""

import re
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, Literal

from stepprof.analyses.rules.model import KindRule, MarkerRule, RangeRule, ResidentRule, RoleRule
from stepprof.analyses.vocabulary import KINDS, PHASES, ROLES
from stepprof.profiler.errors import InputError

Table = Literal["role", "kind", "range", "marker", "resident"]

KEYS: dict[Table, tuple[str, ...]] = {
    "role": tuple(f.name for f in fields(RoleRule) if f.name != "user"),
    "kind": tuple(f.name for f in fields(KindRule) if f.name != "user"),
    "range": tuple(f.name for f in fields(RangeRule) if f.name != "user"),
    "marker": tuple(MarkerRule.__annotations__),
    "resident": tuple(f.name for f in fields(ResidentRule) if f.name != "user"),
}
REQUIRED: dict[Table, tuple[str, ...]] = {
    "role": ("pattern", "role"),
    "kind": ("pattern", "kind"),
    "range": ("pattern",),
    "marker": ("name", "pattern"),
    "resident": ("pattern",),
}
LISTS = ("needs", "parts", "source")
WORDS: dict[str, tuple[str, ...]] = {
    "role": ROLES,
    "parts": ROLES,
    "kind": KINDS,
    "phase": PHASES,
    "confidence": ("high", "medium", "low"),
    "needs": ("label", "position", "shape", "template"),
    "inherit": ("previous gemm", "next gemm"),
}


def checked_entries(table: Table, document: dict[str, Any], text: str, source: str) -> list[dict[str, Any]]:
    """The entries of one table, each with an id."""
    entries: Any = document.get(table, [])
    if not isinstance(entries, list):
        raise InputError(f"{source}: write [[{table}]] with two brackets, one for each rule")
    return [
        _checked(table, entry, number, _where(table, number, text, source)) for number, entry in enumerate(entries, 1)
    ]


def _checked(table: Table, entry: Any, number: int, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InputError(f"{where} is not a table; write [[{table}]] and its keys below it")
    for key in entry:
        if key not in KEYS[table]:
            raise InputError(f'{where}: unknown key "{key}"; {_nearest(key, KEYS[table])}')
    for key in REQUIRED[table]:
        if not entry.get(key):
            raise InputError(f'{where}: "{key}" is missing or empty; add it')
    for key, value in entry.items():
        _check_value(key, value, where)
    _check_pattern(entry["pattern"], where)
    return _with_id(table, entry, number)


def _check_value(key: str, value: Any, where: str) -> None:
    expected = list if key in LISTS else bool if key == "call" else str
    items: Any = value if isinstance(value, list) else [value]
    if not isinstance(value, expected) or (key in LISTS and not all(isinstance(item, str) for item in items)):
        names = {list: "a list of strings", bool: "true or false", str: "a string"}
        raise InputError(f'{where}: "{key}" must be {names[expected]}')
    for word in items if key in WORDS else ():
        if word not in WORDS[key]:
            raise InputError(f'{where}: unknown {key} "{word}"; {_nearest(word, WORDS[key])}')


def _check_pattern(pattern: str, where: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{where}: bad pattern {pattern!r}: {error}; correct it") from None


def _with_id(table: Table, entry: dict[str, Any], number: int) -> dict[str, Any]:
    made = {key: tuple(value) if key in LISTS else value for key, value in entry.items()}
    return made if table == "marker" else {"id": f"user.{table}.{number}", **made}


def _where(table: Table, number: int, text: str, source: str) -> str:
    """`file, line N, [[table]] entry N`, for the head of a sentence."""
    heads = list(re.finditer(rf"^[ \t]*\[\[[ \t]*{table}[ \t]*\]\]", text, re.MULTILINE))
    entry = f"[[{table}]] entry {number}"
    if number > len(heads):
        return f"{source}, {entry}"
    line = text.count("\n", 0, heads[number - 1].start()) + 1
    return f"{source}, line {line}, {entry}"


def _nearest(word: str, words: tuple[str, ...]) -> str:
    close = get_close_matches(word[:100], words, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(words)}"
