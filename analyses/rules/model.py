"""What a rule is: one frozen dataclass for each table of the TOML files, with its fields as keys.

An optional field has a default; `load.py` reads the files and `check.py` tells
what is wrong with an entry. The meaning of each key stands at the top of the
TOML file that uses it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NotRequired, TypedDict


@dataclass(frozen=True)
class RoleRule:
    """A kernel name that tells its role."""

    id: str
    pattern: str
    role: str
    sub: str = ""
    confidence: str = "high"
    needs: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    inherit: str = ""
    source: tuple[str, ...] = ()
    sample: str = ""
    user: bool = False  # from --rules; set by the loader, never a key

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when first used: a trace meets only some of the rules."""
        return re.compile(self.pattern)


@dataclass(frozen=True)
class KindRule:
    """A kernel name that tells its kind."""

    id: str
    pattern: str
    kind: str
    user: bool = False

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when first used."""
        return re.compile(self.pattern)


@dataclass(frozen=True)
class RangeRule:
    """An NVTX range that tells a role, a phase, a layer or a call of the sidecar."""

    id: str
    pattern: str
    role: str = ""
    phase: str = ""
    call: bool = False
    user: bool = False

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when first used."""
        return re.compile(self.pattern)


@dataclass(frozen=True)
class ResidentRule:
    """A kernel that stays on its card while many steps pass, by its name."""

    id: str
    pattern: str
    user: bool = False

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when first used."""
        return re.compile(self.pattern)


class MarkerRule(TypedDict):
    """A range name that marks a step; a plain dict, which the steps read as data."""

    name: str
    pattern: str
    phase: NotRequired[str]


@dataclass(frozen=True, eq=False)  # compared by identity, so that results can be cached for it
class RuleSet:
    """All rules in the order in which they are tried: the user's first."""

    roles: tuple[RoleRule, ...] = ()
    kinds: tuple[KindRule, ...] = ()
    ranges: tuple[RangeRule, ...] = ()
    markers: tuple[MarkerRule, ...] = ()
    residents: tuple[ResidentRule, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict[str, str])  # range word -> role
    fit: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    library_domains: frozenset[str] = frozenset()  # NVTX domains that are not the program's own

    def fits(self, role: str, kind: str) -> bool:
        """Whether an op of this kind is expected in this role."""
        return kind == "other" or role not in self.fit or kind in self.fit[role]

    def over(self, other: "RuleSet") -> "RuleSet":
        """These rules, then the other's."""
        return RuleSet(
            roles=self.roles + other.roles,
            kinds=self.kinds + other.kinds,
            ranges=self.ranges + other.ranges,
            markers=self.markers + other.markers,
            residents=self.residents + other.residents,
            words={**other.words, **self.words},
            fit={**other.fit, **self.fit},
            library_domains=self.library_domains | other.library_domains,
        )
