"""Steps laid side by side: the largest group that repeats the same ops."""

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.graph.template import align
from stepprof.profiler.errors import Refused
from tests.trace_builder import TraceBuilder


def steps(*kernels: str, stream: int = 7) -> TraceBuilder:
    """One step for each word, one kernel for each letter; upper case runs on another stream."""
    trace = TraceBuilder()
    for step, word in enumerate(kernels):
        t = 1000 * step
        trace.range(f"step/{step}", t, t + 900)
        for i, name in enumerate(word):
            at = t + 20 * i
            trace.kernel(name.lower(), at + 10, at + 20, call=(at, at + 1), stream=7 + name.isupper())
    return trace


def aligned(trace: TraceBuilder):
    found = attribute(trace.store())
    same = align(found)
    names = [[found.ops.names[found.ops.name[i]] for i in row] for row in same.ops.T.tolist()]
    return same.steps, ["".join(row) for row in names], same.left_out


def test_equal_steps_are_one_template():
    assert aligned(steps("abc", "abc", "abc")) == ([0, 1, 2], ["abc"] * 3, 0)


@pytest.mark.parametrize("other", ["acb", "abb", "abcc", "ab", "aBc"], ids=["order", "name", "more", "fewer", "stream"])
def test_what_makes_a_step_another_one(other):
    assert aligned(steps("abc", other, "abc", "abc")) == ([0, 2, 3], ["abc"] * 3, 1)


def test_the_largest_group_is_taken():
    assert aligned(steps("ab", "cd", "cd", "ab", "cd"))[0] == [1, 2, 4]


def test_nodes_of_a_graph_count_by_node_whatever_ran_first():
    trace = TraceBuilder()
    for step, (a, b) in enumerate(((20, 21), (21, 20), (20, 22))):
        t = 1000 * step
        graph = trace.range(f"step/{step}", t, t + 900).graph_launch(call=(t + 1, t + 2))
        graph.kernel("a", t + a, t + 30, node=1).kernel("b", t + b, t + 31, node=2, stream=8)
    assert aligned(trace) == ([0, 1, 2], ["ab"] * 3, 0)


def test_launches_are_numbered_from_each_steps_first():
    found = attribute(steps("abc", "abc").store())
    assert align(found).launch.tolist() == [0, 1, 2]


def test_steps_that_never_repeat_are_refused():
    with pytest.raises(Refused, match="no two of the 3 chosen steps run the same ops"):
        aligned(steps("abc", "abd", "aef"))
