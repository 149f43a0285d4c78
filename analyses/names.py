"""What a kernel's name says: its role, its kind, and a readable form of mangled names.

`role_of_name("nvjet_tst_64x8")` and `kind_of_name("nvjet_tst_64x8")` look each
unique name up once. A name that no rule knows has role `unknown`, kind `other`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from stepprof.analyses.rules import KindRule, RoleRule, RuleSet, load_rules
from stepprof.analyses.vocabulary import KERNEL, MEMCPY

LONGEST = 8192  # characters of a name that are searched; template arguments reach far

RuleT = TypeVar("RuleT", RoleRule, KindRule)

# in a mangled name: a literal, a back reference or a type whose digits are no length, or a length
_TOKEN = re.compile(r"L[a-z]n?\d+E|E\d+E(?![a-z])|[ST][0-9A-Z]*_|DF\d+_?b?|(?P<length>\d+)")


@dataclass(frozen=True)
class NameRole:
    """The role a name tells, and how surely."""

    role: str
    sub: str = ""
    rule_id: str = ""
    confidence: str = "none"
    parts: tuple[str, ...] = ()
    inherit: str = ""


def role_of_name(name: str, rules: RuleSet | None = None) -> NameRole:
    """The role by the first rule that matches; a user's rule has confidence `user`.

    A user's rule that states `medium` or `low` is a default below labels instead.
    """
    return _role_of_name(name[:LONGEST], rules or load_rules())


def kind_of_name(name: str, activity: int = KERNEL, rules: RuleSet | None = None) -> str:
    """What the op does; a memcpy or memset activity says so itself."""
    if activity != KERNEL:
        return "copy" if activity == MEMCPY else "memset"
    return _kind_of_name(name[:LONGEST], rules or load_rules())


def readable(name: str) -> str:
    """The identifiers of a mangled name joined by `::`, template arguments after `<`.

    Enough to match rules on, not a demangler: types and literals are dropped.
    """
    if not name.startswith("_Z"):
        return name
    text = ""
    at = 2
    while token := _TOKEN.search(name, at):
        at = token.end()
        if token["length"] and len(token["length"]) < 5:
            end = at + int(token["length"])
            text += _identifier(name[at:end]) + ("<" if name[end : end + 1] == "I" else "::")
            at = end
    return text.removesuffix("::")


def _identifier(text: str) -> str:
    return "(anonymous namespace)" if text.startswith("_GLOBAL__N_") else text


@lru_cache(maxsize=65_536)
def _role_of_name(name: str, rules: RuleSet) -> NameRole:
    rule = _first(rules.roles, name)
    if rule is None:
        return NameRole("unknown")
    confidence = "user" if rule.user and rule.confidence == "high" else rule.confidence
    return NameRole(rule.role, rule.sub, rule.id, confidence, rule.parts, rule.inherit)


@lru_cache(maxsize=65_536)
def _kind_of_name(name: str, rules: RuleSet) -> str:
    rule = _first(rules.kinds, name)
    return rule.kind if rule else "other"


def _first(rules: Sequence[RuleT], name: str) -> RuleT | None:
    """The first rule that matches the name or, if it is mangled, its readable form."""
    forms = {name, readable(name)}
    return next((r for r in rules if any(r.regex.search(form) for form in forms)), None)
