"""Ops that are the same in every step, as groups: figures, order, and codes too large to be packed at once."""

import pytest

from stepprof.analyses import op_groups as module
from stepprof.analyses.attribution import attribute
from stepprof.analyses.op_groups import OpGroups, op_groups
from tests.profiler.report.two_branches import two_branches


def groups() -> tuple[OpGroups, list[str]]:
    """The groups of both steps, and the names of their examples."""
    found = attribute(two_branches().store())
    made = op_groups(found, [0, 1])
    return made, [found.ops.names[i][0] for i in found.ops.name[made.example].tolist()]


def test_a_group_holds_the_op_of_every_step():
    made, names = groups()
    assert names == ["=", "a", "e", "d", "<"]  # exposed 30, 20, 16, 8, 0 ns a step
    assert made.count.tolist() == [2] * 5
    assert made.exposed_ns.tolist() == [60, 40, 32, 16, 0]
    assert made.work_ns.tolist() == [60, 40, 32, 16, 40]
    assert made.of_op.tolist() == [1, 4, 0, 3, 2] * 2
    assert made.example.tolist() == [2, 0, 4, 3, 1]


def test_codes_too_large_for_one_number_are_packed_in_parts(monkeypatch: pytest.MonkeyPatch):
    whole, names = groups()
    monkeypatch.setattr(module, "MOST", 1)
    parts, same = groups()
    assert (parts.of_op.tolist(), same) == (whole.of_op.tolist(), names)
