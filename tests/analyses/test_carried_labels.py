"""Labels of an annotated trace on another trace of the same program: by order, honestly, or not at all."""

import numpy as np
import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.carried_labels import carry_labels
from stepprof.profiler.errors import Refused
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import open_run
from tests.real_runs import attributed, find, run_of
from tests.trace_builder import TraceBuilder

ROLES = {"q": "layer/0/attention", "n": "layer/0/norm", "e": "layer/1/experts"}
PROGRAM = "qqqnneeeee"


def trace(steps: list[str], labelled: bool = False, devices: dict[str, int] | None = None, name: str = "{}<(int)1>()"):
    """Each step a string of ops, one letter an op; `labelled` opens the range of ROLES around each call."""
    t = TraceBuilder()
    for number, ops in enumerate(steps):
        start = number * 1000
        t.range(f"step/{number}", start, start + 900)
        for i, op in enumerate(ops):
            at = start + 10 * i
            if labelled and op in ROLES:
                t.range(ROLES[op], at, at + 3)
            t.kernel(name.format(op), at + 20, at + 25, call=(at + 1, at + 2), device=(devices or {}).get(op, 0))
    return t


def paths(store) -> list[str]:
    """The label of each op in order of start, '-' where it has none."""
    labels = attribute(store).labels
    return ["/".join(labels.paths[i]) if i >= 0 else "-" for i in labels.of_op.tolist()]


def test_equal_sequences_carry_every_label():
    store = trace([PROGRAM] * 2, name="{}<1>(int)").store()
    carried = carry_labels(store, trace([PROGRAM] * 3, labelled=True).store())
    assert (carried.share, carried.ops) == (1.0, 20)
    assert paths(store) == [ROLES[op] for op in PROGRAM] * 2
    assert store.fact("labels_aligned_share") == "1.0000"
    assert store.warnings()[-1]["code"] == "labels_carried"


def test_labels_carried_again_replace_those_carried_before():
    store, source = trace([PROGRAM] * 2).store(), trace([PROGRAM] * 3, labelled=True).store()
    carry_labels(store, source)
    carry_labels(store, source)
    assert store.value("SELECT count(*) FROM carried_label") == 20
    assert store.value("SELECT count(*) FROM run WHERE key = 'labels_from'") == 1
    assert [w["code"] for w in store.warnings()].count("labels_carried") == 1


def test_an_op_of_one_side_only_stays_unlabelled():
    store = trace(["qqqxnneeee"]).store()
    assert carry_labels(store, trace([PROGRAM] * 3, labelled=True).store()).share == 0.9
    assert paths(store) == ["-" if op == "x" else ROLES[op] for op in "qqqxnneeee"]


def test_an_own_label_wins():
    t = trace([PROGRAM]).range("layer/7/router", 0, 3)
    store = t.store()
    carry_labels(store, trace([PROGRAM] * 3, labelled=True).store())
    assert paths(store) == ["layer/7/router", *(ROLES[op] for op in PROGRAM[1:])]


def test_the_commonest_step_is_the_source():
    other = trace(["nnnnn", PROGRAM, PROGRAM, "qqqnneeee"], labelled=True).store()
    assert carry_labels(trace([PROGRAM]).store(), other).share == 1.0


def test_devices_correspond_by_rank():
    store = trace([PROGRAM], devices={"q": 0, "n": 0, "e": 1}).store()
    other = trace([PROGRAM], labelled=True, devices={"q": 2, "n": 2, "e": 3}).store()
    assert carry_labels(store, other).share == 1.0
    assert paths(store) == [ROLES[op] for op in PROGRAM]


def test_a_labelled_part_of_the_program_is_not_the_program():
    with pytest.raises(
        Refused, match=r"30\.0% of the ops of its steps align with .*, 80% are needed; op 3 of a step is n"
    ):
        carry_labels(trace([PROGRAM]).store(), trace(["qqq"] * 3, labelled=True).store())


def test_another_program_is_refused():
    with pytest.raises(Refused, match=r"0\.0% .*; op 0 of a step is x on card 0 here and q on card 0 there: give an"):
        carry_labels(trace(["xyzxyzxyz"]).store(), trace([PROGRAM], labelled=True).store())


def test_a_trace_without_labels_is_refused():
    with pytest.raises(Refused, match="no op of its steps carries a label"):
        carry_labels(trace([PROGRAM]).store(), trace([PROGRAM]).store())


def test_graph_launches_stand_for_steps_where_none_are_found():
    t = TraceBuilder()
    graph = t.graph_launch(call=(1, 2))
    for i, op in enumerate(PROGRAM):
        graph.kernel(f"{op}<1>()", 10 * i + 10, 10 * i + 15, node=i)
    store = t.store()
    assert carry_labels(store, trace([PROGRAM] * 3, labelled=True).store()).ops == 10


@pytest.mark.parametrize(
    ("target", "source", "share"),
    [
        ("h200x2_kineto_overlap.pt.trace.json", "h200x2_overlap.sqlite", 1.0),
        ("h200x2_kineto_twocard.pt.trace.json", "h200x2_eager.sqlite", 1.0),
        ("h200x2_kineto_twocard.pt.trace.json", "h200x2_graph.sqlite", 1.0),
        # one card: what the second one did is missing, 1,186 of 1,294 ops
        ("h200_kineto_graph.pt.trace.json", "h200x2_graph.sqlite", 1186 / 1294),
    ],
)
def test_roles_and_layers_are_those_of_the_annotated_trace(target, source, share, tmp_path):
    """Position by position within the step, card by card."""
    other = run_of(source)
    import_run(find(target), tmp_path / "run.duckdb", Extras(), finish=lambda store: carry_labels(store, other))
    store = open_run(tmp_path / "run.duckdb")
    assert float(store.fact("labels_aligned_share") or 0) == pytest.approx(share, abs=1e-4)
    ours, theirs = attribute(store), attributed(source)
    wanted = {step: _sequence(theirs, step) for step in theirs.steps.usable}
    for step in ours.steps.usable:
        found = _sequence(ours, step)
        assert (found[:, 1:] != -1).any()
        if share == 1.0:
            assert any(np.array_equal(found, other_step) for other_step in wanted.values())


def _sequence(found, step: int) -> np.ndarray:
    """Device, role and layer of the ops of a step, by device and start."""
    ops = np.flatnonzero(found.steps.of_op == step)
    ops = ops[np.lexsort((found.ops.start[ops], found.ops.device[ops]))]
    return np.stack([found.ops.device[ops], found.roles.role[ops], found.roles.layer[ops]], axis=1)


@pytest.mark.parametrize("target", ["h200_hf_deepseek_compile.pt.trace.json", "h200_hf_deepseek_eager.pt.trace.json"])
def test_an_unrelated_real_trace_is_refused(target, tmp_path):
    other = run_of("h200x2_graph.sqlite")
    with pytest.raises(Refused, match="80% are needed"):
        import_run(find(target), tmp_path / "run.duckdb", Extras(), finish=lambda store: carry_labels(store, other))
    assert list(tmp_path.iterdir()) == []
