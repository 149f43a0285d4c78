"""What NVTX range names say: role, phase, layer, and the calls of the sidecar.

`range_info("sidecar/3/up")` reads one name, `path_info(("layer3", "attention"))`
the ranges around an op, outermost first. Ranges that match no rule say nothing.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from stepprof.analyses.rules import RangeRule, RuleSet, load_rules
from stepprof.analyses.vocabulary import ROLES

LONGEST = 512  # characters of a range name that are read


@dataclass(frozen=True)
class RangeInfo:
    """What one range says; empty and None where it does not."""

    rule: str = ""
    role: str = ""
    phase: str = ""
    layer: int | None = None
    draft: int | None = None
    call: bool = False
    part: str = ""
    rows: int | None = None
    experts: int | None = None


@dataclass(frozen=True)
class PathInfo:
    """What the ranges around an op say together: for each item the innermost that gives it."""

    rule: str = ""
    role: str = ""
    phase: str = ""
    layer: int | None = None


def range_info(name: str, rules: RuleSet | None = None) -> RangeInfo:
    """What a range of this name says, by the first rule that matches."""
    return _range_info(name[:LONGEST], rules or load_rules())


def path_info(path: tuple[str, ...], rules: RuleSet | None = None) -> PathInfo:
    """What a path of ranges, outermost first, says about the ops inside."""
    infos = [range_info(name, rules) for name in reversed(path)]
    inner = next((info for info in infos if info.role), RangeInfo())
    return PathInfo(
        rule=inner.rule,
        role=inner.role,
        phase=next((info.phase for info in infos if info.phase), ""),
        layer=next((info.layer for info in infos if info.layer is not None), None),
    )


@lru_cache(maxsize=65_536)
def _range_info(name: str, rules: RuleSet) -> RangeInfo:
    for rule in rules.ranges:
        if match := rule.regex.search(name):
            return _info(rule, match, rules)
    return RangeInfo()


def _info(rule: RangeRule, match: re.Match[str], rules: RuleSet) -> RangeInfo:
    groups = match.groupdict("")
    return RangeInfo(
        rule=rule.id,
        role=rule.role or _role(groups.get("role", ""), rules),
        phase=rule.phase,
        layer=_number(groups.get("layer", "")),
        draft=_number(groups.get("draft", "")),
        call=rule.call,
        part=groups.get("part", ""),
        rows=_number(groups.get("rows", "")),
        experts=_number(groups.get("experts", "")),
    )


def _role(word: str, rules: RuleSet) -> str:
    word = word.lower()
    known = word in ROLES and word != "unknown"
    return word if known else rules.words.get(word, "")


def _number(text: str) -> int | None:
    # longer ones are ids, not layers or rows, and would not fit the tables
    return int(text) if text.isdecimal() and len(text) < 10 else None
