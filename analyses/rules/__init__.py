"""Rules as data: kernel names to roles and kinds, ranges to roles and phases, step markers, resident kernels.

`load_rules()` gives the built-in ones, `load_rules("mine.toml")` puts a user's on top.
"""

from stepprof.analyses.rules.load import load_rules
from stepprof.analyses.rules.model import KindRule, MarkerRule, RangeRule, ResidentRule, RoleRule, RuleSet

__all__ = ["KindRule", "MarkerRule", "RangeRule", "ResidentRule", "RoleRule", "RuleSet", "load_rules"]
