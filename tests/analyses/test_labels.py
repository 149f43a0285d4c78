"""The ranges around an op: at its call where it is eager, at its node's capture inside a graph."""

import pytest

from stepprof.analyses.labels import op_labels
from stepprof.analyses.markers import load_ranges, marker_names
from stepprof.analyses.ops import UNKNOWN, load_ops
from stepprof.analyses.rules import load_rules
from tests.trace_builder import TraceBuilder


def labels(trace: TraceBuilder) -> dict[str, tuple[str, ...]]:
    """For each op name its label path."""
    store, rules = trace.store(), load_rules()
    ops, ranges = load_ops(store), load_ranges(store, rules)
    made = op_labels(store, ops, ranges, marker_names(ranges, rules, None))
    paths = [() if code == UNKNOWN else made.paths[code] for code in made.of_op]
    return {ops.names[name]: path for name, path in zip(ops.name, paths, strict=True)}


# --- eager ------------------------------------------------------------------------------


def test_an_eager_op_has_the_ranges_open_at_its_call():
    """Open from the start on, closed from the end on; when the op ran says nothing."""
    trace = TraceBuilder().range("verify", 10, 50).range("norm", 20, 30)
    for name, call in {"before": 9, "at": 10, "inside": 20, "after": 30, "end": 50}.items():
        trace.kernel(name, 100, 110, call=(call, call + 1))

    assert labels(trace) == {
        "before": (),
        "at": ("verify",),
        "inside": ("verify", "norm"),
        "after": ("verify",),
        "end": (),
    }


def test_ranges_of_other_threads_and_processes_label_nothing():
    trace = TraceBuilder().range("mine", 0, 10).range("other", 0, 10, thread=2).range("far", 0, 10, process=1)
    trace.kernel("a", 20, 30, call=(5, 6)).kernel("b", 20, 30, call=(5, 6), thread=3, stream=8)

    assert labels(trace) == {"a": ("mine",), "b": ()}


def test_an_op_without_a_call_has_no_label():
    assert labels(TraceBuilder().range("mine", 0, 100).kernel("a", 20, 30)) == {"a": ()}


def test_ranges_that_begin_or_end_together():
    """At 10 the longer one is the outer one; at 20 one ends and the next begins."""
    trace = TraceBuilder().range("inner", 10, 20).range("outer", 10, 40).range("next", 20, 30)
    trace.kernel("a", 50, 60, call=(10, 11)).kernel("b", 60, 70, call=(20, 21))

    assert labels(trace) == {"a": ("outer", "inner"), "b": ("outer", "next")}


def test_ranges_that_overlap_without_nesting_stay_open():
    """Start/end ranges x 0–30 and y 20–50."""
    trace = TraceBuilder().range("x", 0, 30, nested=False).range("y", 20, 50, nested=False)
    trace.kernel("in x", 60, 61, call=(10, 11)).kernel("both", 62, 63, call=(25, 26))
    trace.kernel("in y", 64, 65, call=(30, 31)).kernel("none", 66, 67, call=(50, 51))

    assert labels(trace) == {"in x": ("x",), "both": ("x", "y"), "in y": ("y",), "none": ()}


def test_a_range_left_open_lasts_to_the_end_of_the_trace():
    trace = TraceBuilder().range("server", 0, 500, left_open=True).range("norm", 20, 30)
    trace.kernel("a", 40, 50, call=(25, 26)).kernel("b", 60, 70, call=(55, 56))

    assert labels(trace) == {"a": ("server", "norm"), "b": ("server",)}


def test_a_range_without_length_labels_nothing():
    trace = TraceBuilder().range("flash", 5, 5).range("norm", 0, 10)
    assert labels(trace.kernel("a", 20, 30, call=(5, 6))) == {"a": ("norm",)}


def test_ranges_of_libraries_label_nothing():
    trace = TraceBuilder().range("norm", 0, 10).range("cub::DeviceReduce", 2, 8, domain="CCCL")
    assert labels(trace.kernel("a", 20, 30, call=(5, 6))) == {"a": ("norm",)}


# --- step markers -----------------------------------------------------------------------


def test_step_markers_and_what_lies_around_them_label_nothing():
    """Of server › step/0 › verify › norm the last two stay."""
    trace = TraceBuilder().range("server", 0, 100).range("step/0", 5, 90)
    trace.range("verify", 10, 50).range("norm", 20, 30)
    trace.kernel("a", 30, 40, call=(25, 26)).kernel("b", 60, 70, call=(55, 56)).kernel("c", 95, 96, call=(92, 93))

    assert labels(trace) == {"a": ("verify", "norm"), "b": (), "c": ("server",)}


def test_of_nested_markers_the_innermost_cuts():
    trace = TraceBuilder().range("execute_32_context_0", 0, 90).range("model", 1, 80).range("step[DECODE bs=1]", 2, 70)
    assert labels(trace.range("norm", 3, 60).kernel("a", 30, 40, call=(25, 26))) == {"a": ("norm",)}


# --- graphs -----------------------------------------------------------------------------


def captured() -> TraceBuilder:
    """Node 1 was made in layer/0/attention, node 2 in layer/0/norm; replayed as 101 and 102 in step/0.

    As in real captures the replayed nodes have two rows each: one made inside
    cudaGraphInstantiate, without an origin, where no range was open, and one with it.
    """
    trace = TraceBuilder().range("layer/0/attention", 10, 20).range("layer/0/norm", 20, 30).range("step/0", 100, 200)
    for node, at in ((1, 15), (2, 25)):
        trace.capture_node(node, at).capture_node(100 + node, 50).clone(100 + node, of=node, at=60)
    return trace


def test_a_graph_op_has_the_ranges_open_when_its_node_was_captured():
    trace = captured()
    trace.graph_launch(call=(110, 111)).kernel("a", 120, 130, node=101).kernel("b", 130, 140, node=102)

    assert labels(trace) == {"a": ("layer/0/attention",), "b": ("layer/0/norm",)}


def test_capture_ranges_lie_inside_those_of_the_launch():
    trace = captured().range("verify", 105, 150)
    trace.graph_launch(call=(110, 111)).kernel("a", 120, 130, node=101)

    assert labels(trace) == {"a": ("verify", "layer/0/attention")}


def test_a_graph_launched_inside_its_capture_range_is_not_labelled_twice():
    """Captured and launched inside one long range, as in a notebook."""
    trace = TraceBuilder().range("model", 0, 500).range("norm", 10, 20).capture_node(1, 15)
    trace.graph_launch(call=(110, 111)).kernel("a", 120, 130, node=1)

    assert labels(trace) == {"a": ("model", "norm")}


def test_a_step_marker_around_the_capture_cuts_as_well():
    """Captured inside a warm-up step, replayed in step/1."""
    trace = TraceBuilder().range("step/0", 0, 50).range("norm", 10, 20).range("step/1", 100, 200).capture_node(1, 15)
    trace.graph_launch(call=(110, 111)).kernel("a", 120, 130, node=1)

    assert labels(trace) == {"a": ("norm",)}


def test_a_clone_of_a_clone_leads_back_to_the_capture():
    trace = captured().clone(201, of=101, at=70)
    trace.graph_launch(call=(110, 111)).kernel("a", 120, 130, node=201)

    assert labels(trace) == {"a": ("layer/0/attention",)}


@pytest.mark.parametrize("elsewhere", [{"thread": 2}, {"process": 1}], ids=["thread", "process"])
def test_a_capture_elsewhere_takes_the_ranges_of_that_place(elsewhere):
    """Captured in another thread of the process: its ranges count; another process's node 1 is another node."""
    trace = TraceBuilder().range("mine", 10, 20).range("theirs", 10, 20, **elsewhere)
    trace.capture_node(1, 15, **elsewhere)
    trace.graph_launch(call=(110, 111)).kernel("a", 120, 130, node=1)

    assert labels(trace) == {"a": ("theirs",) if "thread" in elsewhere else ()}


def test_where_no_range_was_open_at_capture_no_label_is_the_truth():
    trace = TraceBuilder().range("step/0", 100, 200).capture_node(1, 15)
    trace.graph_launch(call=(110, 111)).kernel("a", 120, 130, node=1)

    assert labels(trace) == {"a": ()}
