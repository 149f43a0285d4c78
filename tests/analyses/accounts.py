"""A built trace, accounted for, in forms that read well beside a sum."""

from __future__ import annotations

from stepprof.analyses.attribution import Attribution, attribute
from stepprof.analyses.dependencies import SOURCES
from stepprof.analyses.gaps import CLASSES
from stepprof.analyses.markers import load_ranges
from stepprof.analyses.ops import UNKNOWN, load_ops
from stepprof.analyses.rules import load_rules
from stepprof.analyses.steps import Steps, find_steps
from tests.trace_builder import TraceBuilder

Piece = tuple[str, int, int]  # op name or gap class, start, end


def account(trace: TraceBuilder) -> Attribution:
    return attribute(trace.store())


def on_path(found: Attribution, step: int = 0) -> list[Piece]:
    """The ops of a step's path that are work of their step, earliest first."""
    path, names = found.path, [found.ops.names[i] for i in found.ops.name]
    rows = zip(path.segment_step, path.segment_op, path.segment_start, path.segment_end, found.work, strict=True)
    return sorted(
        ((names[op], int(start), int(end)) for s, op, start, end, work in rows if s == step and work),
        key=lambda piece: piece[1:],
    )


def gaps(found: Attribution, step: int = 0) -> list[Piece]:
    """The gaps of a step, earliest first."""
    rows = zip(found.gaps.step, found.gaps.code, found.gaps.start, found.gaps.end, strict=True)
    return [(CLASSES[code], int(start), int(end)) for s, code, start, end in rows if s == step]


def exposed(found: Attribution) -> dict[str, int]:
    """Exposed time by op name, summed."""
    total = dict.fromkeys(found.ops.names, 0)
    for name, length in zip(found.ops.name, found.exposed(), strict=True):
        total[found.ops.names[name]] += int(length)
    return total


def waited_for(found: Attribution) -> dict[str, tuple[str, str] | None]:
    """For each op name the op it waited for and how that is known; names must be unique."""
    names = [found.ops.names[i] for i in found.ops.name]
    links = zip(names, found.deps.predecessor, found.deps.source, strict=True)
    return {name: None if p == UNKNOWN else (names[p], SOURCES[s]) for name, p, s in links}


def find(trace: TraceBuilder, marker: str | None = None) -> Steps:
    """The steps of a trace by its marks."""
    store, rules = trace.store(), load_rules()
    steps, tried = find_steps(store, load_ops(store), load_ranges(store, rules), rules, marker)
    assert steps is not None, tried
    return steps
