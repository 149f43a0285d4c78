"""Verdicts over a ledger: what is judged, what is refused and why."""

import json
import os
import shutil

import pytest

from stepprof.analyses.gates.ladder import ladder
from stepprof.analyses.gates.ledger import seal
from stepprof.analyses.gates.registration import Predicted
from stepprof.profiler.errors import Refused
from tests.analyses.gates.gates import Gate, document

SHORTER = {"A": [10.0, 10.1], "B": [9.0, 9.1]}
ALIKE = {"A": [10.0, 10.1], "B": [10.02, 10.08]}


def test_a_passed_bar(tmp_path):
    """−1 ms against a bar of −0.5; SD 0.0707, error 0.0707, 2 degrees of freedom: ± 0.304."""
    gate = Gate(tmp_path).register()
    gate.run(**SHORTER)
    answer = gate.verdict()
    assert (answer.verdict, answer.met, answer.figure_kind, answer.unit) == ("PASS_CI", True, "measured", "ms")
    assert answer.together is not None
    assert answer.together.delta.estimate == pytest.approx(-1)
    assert answer.together.delta.high == pytest.approx(-1 + 4.302653 * 0.0707107, abs=1e-5)


def test_a_with_a_does_not_pass(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(**ALIKE)
    answer = gate.verdict()
    assert (answer.verdict, answer.met) == ("FAIL", False)


def test_the_look_is_noted_once_for_the_same_data(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(**SHORTER)
    first = gate.verdict()
    assert gate.verdict().head == first.head == gate.ledger.head
    assert [row["kind"] for row in gate.lines()] == ["registered"] + ["launch"] * 4 + ["verdict"]
    assert gate.lines()[-1]["body"]["verdict"] == "PASS_CI"


def test_no_launch_is_no_data(tmp_path):
    answer = Gate(tmp_path).register().verdict()
    assert (answer.verdict, answer.met, answer.reason) == ("NO_DATA", False, "no launch was made")


def test_an_instrument_that_produced_nothing_decides_nothing(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(A=[10.0, 10.0], B=[9.0, None])
    answer = gate.verdict()
    assert (answer.verdict, answer.met, answer.rounds) == ("NO_DATA", False, [])
    assert answer.reason == "002-B has neither a run nor a JSON document."


def test_replicates(tmp_path):
    """One round of two: not met; then both agree and combine."""
    gate = Gate(tmp_path).register(replicates=1, rule="point")
    gate.run(**SHORTER)
    assert gate.verdict().reason == "1 of 2 registered rounds are still to be run"
    gate.run(A=[10.0, 10.1], B=[8.8, 8.9])
    answer = gate.verdict()
    assert answer.met and [one.verdict for one in answer.rounds] == ["PASS_CI", "PASS_CI"]
    assert answer.together is not None and answer.together.delta.estimate == pytest.approx(-1.1)
    assert [row["kind"] for row in gate.lines() if row["kind"] != "launch"] == ["registered", "look", "verdict"]


# --- refused ------------------------------------------------------------------------------


def test_an_extra_look(tmp_path):
    """Between the registered looks there is none, however promising it is."""
    gate = Gate(tmp_path).register(launches=4)

    def stops(order) -> int:
        if order.slot.number == 2:
            raise KeyboardInterrupt
        (order.folder / "output.json").write_text(json.dumps(document(10.0)))
        return 0

    with pytest.raises(KeyboardInterrupt):
        gate.launch(stops)
    with pytest.raises(Refused, match=r"2 launches .* next registered look is at 8: an extra look is refused"):
        gate.verdict()


def test_a_look_at_other_data_in_the_same_place(tmp_path):
    """The verdict was bad; the launches are made again behind it, and the ledger is sealed anew but for it."""
    gate = Gate(tmp_path).register()
    gate.run(**ALIKE)
    gate.verdict()
    rows = gate.lines()
    rows[1]["body"]["ended"] += 1
    prev = rows[0]["prev"]
    for row in rows:
        row["prev"] = prev
        row["hash"] = prev = seal(prev, row["time"], row["kind"], row["body"])
    gate.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(Refused, match="other data were looked at before at this place: an extra look is refused"):
        gate.verdict()


def test_two_registered_looks(tmp_path):
    """The first needs a surer interval: at 2 degrees of freedom t is 13.9 instead of 4.3."""
    gate = Gate(tmp_path).register(launches=4, looks=2)
    gate.run(**SHORTER)
    first = gate.verdict()
    assert (first.look, first.verdict) == (1, "PASS_POINT")
    gate.run(**SHORTER)
    second = gate.verdict()
    assert (second.look, second.verdict, second.met) == (2, "PASS_CI", True)


def test_a_changed_byte_in_a_launch(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(**ALIKE)
    path = gate.folder / "001-B" / "output.json"
    path.write_text(path.read_text().replace("10.02", "9.002"))
    with pytest.raises(Refused, match=r"001-B/output.json was changed after its launch"):
        gate.verdict()


def test_a_file_that_is_gone_or_new(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(**ALIKE)
    (gate.folder / "000-A" / "run.duckdb").write_text("better")
    with pytest.raises(Refused, match=r"run.duckdb was added after its launch"):
        gate.verdict()
    shutil.rmtree(gate.folder / "000-A")
    with pytest.raises(Refused, match=r"000-A/output.json is gone"):
        gate.verdict()


def test_a_back_dated_file(tmp_path):
    """Data from before the registration decide nothing."""
    gate = Gate(tmp_path).register()
    gate.run(**SHORTER)
    path = gate.folder / "002-B" / "output.json"
    os.utime(path, (1_700_000_000, 1_700_000_000))
    with pytest.raises(Refused, match=r"002-B/output.json is older than the registration"):
        gate.verdict()


def test_a_launch_older_than_its_registration(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(**SHORTER)
    rows = gate.lines()
    rows[1]["body"]["started"] = rows[0]["time"] - 60
    prev = rows[0]["hash"]
    for row in rows[1:]:
        row["prev"] = prev
        row["hash"] = prev = seal(prev, row["time"], row["kind"], row["body"])
    gate.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(Refused, match="older than its registration: register, then measure"):
        gate.verdict()


def test_reordered_entries(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(**SHORTER)
    first, second, *rest = gate.path.read_text().splitlines(keepends=True)
    gate.path.write_text("".join([first, rest[0], second, *rest[1:]]))
    with pytest.raises(Refused, match="does not follow line 1"):
        gate.verdict()


def test_a_changed_bar(tmp_path):
    """Sealed anew over a changed registration whose own fingerprint stayed."""
    gate = Gate(tmp_path).register(bar=-5)
    gate.run(**SHORTER)
    rows = gate.lines()
    rows[0]["body"]["registration"]["bar"] = -0.5
    prev = rows[0]["prev"]
    for row in rows:
        row["prev"] = prev
        row["hash"] = prev = seal(prev, row["time"], row["kind"], row["body"])
    gate.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(Refused, match="the registration of g was changed"):
        gate.verdict()


def test_settings_that_were_not_declared(tmp_path):
    gate = Gate(tmp_path).register(differs=["options.share_topk"])
    gate.run(
        A=[document(10.0, share_topk=False, k=5)] * 2,
        B=[document(9.0, share_topk=True, k=7)] * 2,
    )
    with pytest.raises(Refused, match=r"not declared in differs: options.k 5 against 7: make the arms alike"):
        gate.verdict()


def test_settings_that_were_declared(tmp_path):
    gate = Gate(tmp_path).register(differs=["options.share_topk"])
    gate.run(A=[document(10.0, share_topk=False)] * 2, B=[document(9.0, share_topk=True)] * 2)
    answer = gate.verdict()
    assert answer.met
    assert [(one.setting, one.control, one.candidate) for one in answer.settings] == [
        ("options.share_topk", ["false"], ["true"])
    ]


def test_launches_of_one_arm_that_differ(tmp_path):
    gate = Gate(tmp_path).register(differs=["options.k"])
    gate.run(A=[document(10.0, k=5)] * 2, B=[document(9.0, k=7), document(9.0, k=6)])
    with pytest.raises(Refused, match=r"options.k 5 against 6/7 \(within an arm\)"):
        gate.verdict()


# --- other metrics, ladder --------------------------------------------------------------------


def test_throughput_as_the_metric(tmp_path):
    gate = Gate(tmp_path).register(metric="tokens_per_s:code@1", bar=2.0, bar_unit="percent")
    gate.run(
        A=[document(10.0, {"code": value}) for value in (100.0, 100.2)],
        B=[document(9.0, {"code": value}) for value in (105.0, 105.2)],
    )
    answer = gate.verdict()
    assert (answer.verdict, answer.unit) == ("PASS_CI", "tokens/s")
    assert answer.together is not None and answer.together.delta.estimate == pytest.approx(100 * 5 / 100.1)


def test_a_figure_by_its_path(tmp_path):
    gate = Gate(tmp_path).register(metric="json:call.p50_us", better="lower", bar=-20)
    gate.run(
        A=[{"call": {"p50_us": {"value": 82.9 + n, "kind": "measured"}}} for n in (0, 1)],
        B=[{"call": {"p50_us": {"value": 80.5 + n, "kind": "measured"}}} for n in (0, 1)],
    )
    answer = gate.verdict()
    assert answer.verdict == "FAIL"  # 2.4 µs saved against a bar of 20
    assert answer.together is not None and answer.together.delta.estimate == pytest.approx(-2.4)


def test_a_figure_that_is_not_there(tmp_path):
    gate = Gate(tmp_path).register(metric="json:call.p99_us", better="lower", bar=-20)
    gate.run(A=[{"call": {"p50_us": 1}}] * 2, B=[{"call": {"p50_us": 1}}] * 2)
    answer = gate.verdict()
    assert answer.verdict == "NO_DATA" and "has no figure call.p99_us" in answer.reason


def test_simulated_figures_are_said_to_be(tmp_path):
    shown = [document(10.0), document(10.1)]
    for one in shown:
        one["classes"][0]["p50_step_ms"]["kind"] = "simulated"
    gate = Gate(tmp_path).register()
    gate.run(A=shown, B=[9.0, 9.1])
    assert gate.verdict().figure_kind == "simulated"


def test_the_ladder(tmp_path):
    gate = Gate(tmp_path).register(cost="20 min dark", owner="ann", predicted=Predicted(-0.8, "what-if"))
    rung = ladder(gate.ledger)[0]
    assert (rung.cost, rung.owner, rung.predicted, rung.predicted_source) == ("20 min dark", "ann", -0.8, "what-if")
    assert (rung.launches, rung.of_launches, rung.verdict, rung.met) == (0, 4, None, None)
    gate.run(**SHORTER)
    gate.verdict()
    rung = ladder(gate.ledger)[0]
    assert (rung.launches, rung.verdict, rung.met, rung.estimate) == (4, "PASS_CI", True, pytest.approx(-1))
