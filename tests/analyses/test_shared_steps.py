"""Marks of several processes: one step where they overlap, two where they do not."""

from stepprof.analyses.attribution import attribute
from tests.trace_builder import TraceBuilder


def rank(t: TraceBuilder, process: int, late: int, labels: tuple[str, ...] = ("step/0", "step/1")) -> TraceBuilder:
    """A process that marks a step every 100 ns, `late` ns after the other, with one kernel in each."""
    for i, label in enumerate(labels):
        start = 100 * i + late
        t.range(label, start, start + 80, process=process)
        t.kernel("gemm", start + 20, start + 60, call=(start + 1, start + 5), process=process, device=process)
    return t


def steps(t: TraceBuilder) -> list[tuple[str, int, int, int]]:
    found = attribute(t.store()).steps
    w = found.windows
    return [(found.label[i], int(w.start[i]), int(w.end[i]), int(w.ops[i])) for i in range(len(found))]


def test_ranks_share_their_steps():
    assert steps(rank(rank(TraceBuilder(), 0, 0), 1, 7)) == [("step/0", 0, 87, 2), ("step/1", 100, 187, 2)]


def test_marks_of_one_name_are_paired_by_order():
    names = ("step", "step")
    t = rank(rank(TraceBuilder(), 0, 0, names), 1, 7, names)
    assert [(label, ops) for label, _, _, ops in steps(t)] == [("step", 2), ("step", 2)]


def test_marks_that_do_not_overlap_are_steps_of_their_own():
    t = rank(rank(TraceBuilder(), 0, 0), 1, 1000)
    assert [label for label, *_ in steps(t)] == ["step/0", "step/1", "step/0", "step/1"]


def test_marks_of_two_threads_of_a_process_are_not_joined():
    t = rank(TraceBuilder(), 0, 0)
    t.range("step/0", 10, 90, thread=2).kernel("gemm", 62, 65, call=(12, 13), thread=2)
    assert [label for label, *_ in steps(t)] == ["step/0", "step/0", "step/1"]
