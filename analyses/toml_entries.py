"""Entries of a user's TOML file, checked: `[[figure]]` tables with known keys, the fault named by its line.

    Key("kind", str, words=("measured", "quoted"))
    checked_file(Path("yardsticks.toml"), "figure", KEYS, ("ours",))   # top-level keys, entries

Raises InputError with the line, what exists and the nearest name.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from stepprof.profiler.errors import InputError

NAMES = {str: "a string", int: "a whole number", float: "a number", list: "two numbers [low, high]"}


@dataclass(frozen=True)
class Key:
    """A key of an entry; `words` are the only values it takes."""

    name: str
    kind: type
    required: bool = True
    words: tuple[str, ...] = ()


def checked_file(
    path: Path, table: str, keys: Sequence[Key], top: Sequence[str]
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The strings at the top of a file and its entries, each in the order of the file."""
    text = _read(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise InputError(f"{path} is not valid TOML: {fault}: correct that line.") from None
    entries = document.pop(table, [])
    for name, value in document.items():
        if name not in top:
            raise InputError(
                f'{path}{_line(text, name)}: unknown key "{name}": {nearest(name, [*top, f"[[{table}]]"])}.'
            )
        if not isinstance(value, str):
            raise InputError(f'{path}{_line(text, name)}: "{name}" must be a string.')
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: holds no [[{table}]]: write one for each {table}, with two brackets.")
    return document, [_entry(path, text, table, keys, n, entry) for n, entry in enumerate(cast(list[Any], entries), 1)]


def nearest(word: str, known: Sequence[str]) -> str:
    """`did you mean a?` where a name is near, else all that exist."""
    close = get_close_matches(word[:100], known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): name a TOML file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: name a TOML file.") from None


def _entry(path: Path, text: str, table: str, keys: Sequence[Key], number: int, entry: Any) -> dict[str, Any]:
    def where(name: str = "") -> str:
        return f"{path}{_line(text, name, table, number)}, [[{table}]] {number}"

    if not isinstance(entry, dict):
        raise InputError(f"{where()} is not a table: write [[{table}]] and its keys below it.")
    found, known = cast(dict[str, Any], entry), {key.name: key for key in keys}
    for name, value in found.items():
        if name not in known:
            raise InputError(f'{where(name)}: unknown key "{name}": {nearest(name, list(known))}.')
        _check(known[name], value, where(name))
    for key in keys:
        if key.required and key.name not in found:
            raise InputError(f'{where()}: "{key.name}" is missing: add it.')
    return found


def _check(key: Key, value: Any, where: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        str: isinstance(value, str) and bool(value.strip()),
        int: number and isinstance(value, int),
        float: number and math.isfinite(cast(float, value)),
        list: _is_range(value),
    }[key.kind]
    if not fits:
        raise InputError(f'{where}: "{key.name}" must be {NAMES[key.kind]}.')
    if key.words and value not in key.words:
        raise InputError(f'{where}: unknown {key.name} "{value}": {nearest(str(value), key.words)}.')


def _is_range(value: Any) -> bool:
    if not isinstance(value, list) or len(cast(list[Any], value)) != 2:
        return False
    parts = cast(list[Any], value)
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x) for x in parts)
    return numbers and parts[0] <= parts[1]


def _line(text: str, name: str = "", table: str | None = None, number: int = 0) -> str:
    """`, line N` of a key, or of the head of its entry; nothing where the text does not show it."""
    start, end = 0, len(text)
    if table is not None:
        heads = [head.start() for head in re.finditer(rf"^[ \t]*\[\[[ \t]*{table}[ \t]*\]\]", text, re.MULTILINE)]
        if number > len(heads):
            return ""
        start, end = heads[number - 1], (heads[number] if number < len(heads) else len(text))
    found = re.search(rf"^[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*=", text[start:end], re.MULTILINE) if name else None
    if name and found is None and table is None:
        return ""
    return f", line {text.count(chr(10), 0, start + (found.start() if found else 0)) + 1}"
