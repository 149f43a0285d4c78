"""Proposals evaluated on hand-made graphs: alone, in sequence, against gates and beside what others would say."""

from dataclasses import replace

import numpy as np
import pytest

from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.speculation.draft_lanes import Given as Told
from stepprof.analyses.speculation.draft_lanes import lanes
from stepprof.analyses.speculation.result import Figure
from stepprof.analyses.whatif.answer import Settings, evaluate
from stepprof.analyses.whatif.proposal_model import Draft, Fuse, Gate, Given, Overlap, Proposal, Remove, Scale, Select
from stepprof.analyses.whatif.result import Answer
from stepprof.profiler.errors import InputError
from tests.proposals import ASSUME, exactly, named
from tests.step_graphs import hand

MS = 1_000_000
# a 1 ms, then b 3 ms and s 1 ms beside it, then j 1 ms; four steps alike
FORK = hand(
    {name: [MS * n] * 4 for name, n in {"a": 1, "b": 3, "s": 1, "j": 1}.items()},
    [("a", "b", 0), ("a", "s", 0), ("b", "j", 0), ("s", "j", 0)],
)
PLAIN = Settings(ASSUME)


def answer(graph: StepGraph, *edits: object, settings: Settings = PLAIN, **more: object) -> Answer:
    return evaluate(graph, [Proposal("change", edits, **more)], settings).proposals[0]  # type: ignore[arg-type]


def value(figure: Figure | None) -> float | None:
    assert figure is not None
    return figure.value


def test_hidden_work_is_told_apart():
    found = answer(FORK, Remove(named("b")))
    # the step is 2 ms shorter, since then s holds: 1 of the 3 ms is hidden today
    assert (found.ops, found.work_ms, found.removed_work_ms.value) == (1, Figure(3, "measured"), 3)
    assert found.alone.delta_ms == Figure(-2, "modelled", -2, -2)
    assert (found.alone.step_ms.value, found.hidden_ms.value) == (3, 1)
    assert (found.null_no_change_ms, found.null_sum_of_work_ms) == (0, -3)
    hidden = answer(FORK, Remove(named("s")))
    assert (hidden.alone.delta_ms.value, hidden.hidden_ms.value, hidden.null_sum_of_work_ms) == (0, 1, -1)


def test_in_sequence_the_path_has_moved():
    first, second = (Proposal(name, (Remove(named(name)),)) for name in "bs")
    found = evaluate(FORK, [first, second], PLAIN).proposals
    # alone s saves nothing; once b is gone, all of it
    assert [one.alone.delta_ms.value for one in found] == [-2, 0]
    assert [one.in_sequence.delta_ms.value for one in found] == [-2, -1]
    assert [one.in_sequence.step_ms.value for one in found] == [3, 2]
    # what an earlier proposal took away is no fault of a later one
    again = evaluate(FORK, [first, replace(first, name="again")], PLAIN).proposals[1]
    assert (again.alone.delta_ms.value, again.in_sequence.delta_ms.value) == (-2, 0)


def test_the_change_goes_onto_the_measured_step():
    # the recorded windows are 10 ms, whatever the replay says
    graph = replace(FORK, wall=np.full(4, 10 * MS))
    found = answer(graph, Remove(named("b")))
    assert (found.alone.delta_ms.value, found.alone.step_ms.value) == (-2, 8)


def test_the_change_is_that_of_the_p50_step():
    # steps of 1, 2 and 90 ms, of which b is all but 1 µs: halved, 0.5, 1 and 45
    graph = hand({"a": [1000] * 3, "b": [n * MS - 1000 for n in (1, 2, 90)]}, [("a", "b", 0)])
    found = answer(graph, Scale(named("b"), factor=exactly(0.5)))
    assert found.alone.delta_ms.value == pytest.approx(-0.9995)
    assert found.alone.step_ms.value == pytest.approx(1.0005)


@pytest.mark.parametrize(
    ("gate", "verdict"), [(Gate("<=", -1.0), "met"), (Gate("<=", -2.1), "not met"), (Gate(">=", -1.0), "not met")]
)
def test_gates(gate: Gate, verdict: str):
    found = answer(FORK, Remove(named("b")), gate=gate)
    assert (found.verdict, found.gate) == (verdict, f"{gate.sign} {gate.ms:+.3f} ms")


def test_a_gate_inside_the_interval_is_open():
    half = Scale(named("b"), factor=Given(0.5, 0.4, 0.6))
    found = answer(FORK, half, gate=Gate("<=", -1.4), predicted_ms=-0.36)
    assert found.alone.delta_ms.value == pytest.approx(-1.5)
    assert (found.alone.delta_ms.low, found.alone.delta_ms.high) == pytest.approx((-1.8, -1.2))
    assert (found.verdict, found.human_estimate_ms) == ("open", Figure(-0.36, "quoted"))


def test_tokens():
    settings = Settings(ASSUME, kept=Figure(5.0, "quoted"), period_ms=6.0, table_ms=(6.0, 2.5), rates=(1000.0,))
    whole = evaluate(FORK, [Proposal("b", (Remove(named("b")),))], settings)
    # windows of 5 ms, 6 ms start to start
    assert whole.tokens_per_s == Figure(5 / 0.006, "quoted")
    assert whole.proposals[0].alone.tokens_per_s == Figure(1250, "modelled", 1250, 1250)
    assert [(line.step_ms, line.tokens_per_s) for line in whole.table] == [(6.0, 5 / 0.006), (2.5, 2000)]
    assert whole.targets[0].step_ms == 5
    own_lines = evaluate(FORK, [Proposal("b", (Remove(named("b")),))], replace(settings, table_ms=()))
    assert [line.step_ms for line in own_lines.table] == [6, 4]


def test_other_drafts_change_the_kept_tokens():
    lane = lanes(Told(kept=5.27, k=5), None)[0]
    settings = Settings(replace(ASSUME, k=5), kept=lane.kept, period_ms=11.07, lane=lane)
    three = Proposal("k = 3", (Draft(3, Given(0.335, 0.3, 0.37)),))
    found = evaluate(FORK, [three, Proposal("b too", (Remove(named("b")),))], settings).proposals
    delta = found[0].alone.delta_ms
    assert (delta.value, delta.low, delta.high) == pytest.approx((-0.67, -0.74, -0.6))
    # the posts measured 355 tokens/s
    assert value(found[0].alone.tokens_per_s) == pytest.approx(355.6, abs=0.1)
    assert value(found[0].kept) == pytest.approx(3.698, abs=0.001)
    # behind it, the shorter step has the fewer tokens too
    assert found[1].in_sequence.step_ms.value == pytest.approx(5 - 0.67 - 2)
    assert value(found[1].in_sequence.tokens_per_s) == pytest.approx(1000 * 3.69781 / 8.4, abs=0.1)


def test_a_selection_without_ops_is_a_fault_unless_optional():
    wanted = Proposal("none", (Remove(named("x")),), where=("p.toml, line 3, [[proposal]] 1, remove",))
    with pytest.raises(
        InputError, match=r'p.toml, line 3, \[\[proposal\]\] 1, remove, "none": no op has name .*there are a, b, j, s'
    ):
        evaluate(FORK, [wanted], PLAIN)
    found = evaluate(FORK, [replace(wanted, optional=True)], PLAIN).proposals[0]
    assert (found.alone.delta_ms.value, found.ops, found.notes) == (0, 0, ("matches nothing",))
    with pytest.raises(InputError, match=r'no op has name "..x..": there are'):
        answer(FORK, Overlap(named("a"), named("x")))
    with pytest.raises(InputError, match="the ops that match are not changed by this edit"):
        answer(FORK, Fuse(named("a")))
    with pytest.raises(InputError, match='"change": no traffic of these ops'):
        answer(FORK, Scale(named("a"), floor=True))


def test_warnings():
    cost = TracingInflation(1.06, (1.02, 1.1))
    settings = Settings(ASSUME, inflation=cost, warnings=({"code": "own", "count": 1, "text": "own"},))
    found = evaluate(FORK, [Proposal("b", (Remove(named("b")),))], settings)
    assert [warning["code"] for warning in found.warnings] == ["own", "tracing_inflation"]
    assert "1.06 times as long as untraced (1.02 to 1.10)" in found.warnings[1]["text"]
    # even and odd steps of which the other half tells nothing
    odd = hand({"a": [MS, 9 * MS] * 2, "b": [MS] * 4}, [("a", "b", 0)])
    odd = replace(odd, start=odd.start * 2, wall=odd.wall * 2)
    assert "poor_replay" in [w["code"] for w in evaluate(odd, [], PLAIN).warnings]


def test_a_figure_from_elsewhere_says_where_from():
    half = Given(0.5, 0.5, 0.5, "measured", "bench.json: call")
    assert answer(FORK, Scale(named("b"), factor=half), Scale(named("s"), factor=half)).notes == ("bench.json: call",)


def test_several_edits_of_one_proposal():
    found = answer(FORK, Scale(named("b"), factor=exactly(0.5)), Remove(Select(name="^s$")))
    assert (found.edits, found.ops, found.alone.delta_ms.value) == (("scale", "remove"), 2, -1.5)
