"""What the ranges around ops say about the sidecar: the part of a call, its rows and experts.

said = sidecar_marks(labels.paths, rules)
said.part[labels.of_op[i]]        # "gather"; "" where the range names a call and no part
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.ranges import range_info
from stepprof.analyses.rules import RuleSet

WAIT = "wait"
CANON = {"up": "up_gate", "gate": "up_gate", "gate_up": "up_gate", "ack": "acknowledge"}


@dataclass(frozen=True)
class SidecarMarks:
    """One entry a label path, and a last one (index UNKNOWN) for ops without a label."""

    marked: Bools  # a range of the path is of the sidecar
    part: list[str]
    rows: Ints
    experts: Ints


def sidecar_marks(paths: Sequence[tuple[str, ...]], rules: RuleSet) -> SidecarMarks:
    """Read every path once; of its ranges the innermost that says something decides."""
    found = [_read(path, rules) for path in [*paths, ()]]
    marked, part, rows, experts = zip(*found, strict=True)
    return SidecarMarks(np.array(marked, dtype=bool), list(part), np.array(rows), np.array(experts))


def _read(path: tuple[str, ...], rules: RuleSet) -> tuple[bool, str, int, int]:
    infos = [range_info(name, rules) for name in reversed(path)]
    part = next((info.part for info in infos if info.part), "")
    rows = next((info.rows for info in infos if info.rows is not None), UNKNOWN)
    experts = next((info.experts for info in infos if info.experts is not None), UNKNOWN)
    return bool(part) or any(info.call for info in infos), CANON.get(part, part), rows, experts
