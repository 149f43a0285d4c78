"""Read the rule files: the built-in ones beside this module, and a user's on top.

A fault in a user's file is an `InputError` of one sentence with file, line and
way out. Rules are tried in file order, a user's before all built-in ones.
"""

import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from stepprof.analyses.rules.check import Table, checked_entries
from stepprof.analyses.rules.model import KindRule, MarkerRule, RangeRule, ResidentRule, RoleRule, RuleSet
from stepprof.profiler.errors import InputError

TABLES: tuple[Table, ...] = ("role", "kind", "range", "marker", "resident")


def load_rules(user_file: str | Path | None = None) -> RuleSet:
    """The built-in rules, with those of `user_file` tried first."""
    if user_file is None:
        return _builtin()
    return _rule_set(_read_user(Path(user_file)), str(user_file), user=True).over(_builtin())


@cache
def _builtin() -> RuleSet:
    """The rules that come with stepprof."""
    extra = tomllib.loads(_data("words.toml"))
    fit = {role: frozenset(kinds) for role, kinds in extra["fit"].items()}
    rules = RuleSet(words=extra["words"], fit=fit, library_domains=frozenset(extra["domains"]["library"]))
    for name in ("roles.toml", "kinds.toml", "ranges.toml", "markers.toml", "residents.toml"):
        rules = rules.over(_rule_set(_data(name), name))
    return rules


def _data(name: str) -> str:
    file = files("stepprof.analyses.rules") / name
    return file.read_text() if file.is_file() else ""


def _read_user(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file; name a TOML file")
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a TOML file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; --rules takes a TOML file") from None


def _rule_set(text: str, source: str, user: bool = False) -> RuleSet:
    """The rules of one TOML text, checked."""
    document = _parsed(text, source)
    entries = {table: checked_entries(table, document, text, source) for table in TABLES}
    return RuleSet(
        roles=tuple(RoleRule(**entry, user=user) for entry in entries["role"]),
        kinds=tuple(KindRule(**entry, user=user) for entry in entries["kind"]),
        ranges=tuple(RangeRule(**entry, user=user) for entry in entries["range"]),
        markers=tuple(MarkerRule(**entry) for entry in entries["marker"]),
        residents=tuple(ResidentRule(**entry, user=user) for entry in entries["resident"]),
    )


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: is not valid TOML: {error}; correct that line") from None
    for key in document:
        if key not in TABLES:
            known = ", ".join(f"[[{table}]]" for table in TABLES)
            raise InputError(f'{source}: unknown table "{key}"; a rules file holds {known}')
    return document
