"""Waits by call: what a file of calls tells, and which wait each call of the uses is credited."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from stepprof.analyses.placement.choice import Placed, Terms, place
from stepprof.analyses.placement.credit import Credited
from stepprof.analyses.placement.expert_use import ExpertUse, expert_use
from stepprof.analyses.placement.layer_waits import Waits, read_waits
from stepprof.analyses.placement.use_table import UseTable, joined
from stepprof.profiler.errors import InputError

HEADER = "step,layer,card,rows,experts,class,join_wait_ns,counted_wait_ns\n"
Call = tuple[int, int, str, int]  # step, layer, experts, counted wait in µs


def waits(tmp_path: Path, *calls: Call, every: float | None = None) -> Waits:
    """As breakdown --sidecar --csv writes them; its own wait of a call is longer than what counts of it."""
    path = tmp_path / "calls.csv"
    lines = [f"{step},{layer},1,2,{experts},code,99000,{us}000\n" for step, layer, experts, us in calls]
    path.write_text(HEADER + "".join(lines))
    return read_waits(path, every)


def uses(*calls: tuple[int, int, Sequence[int]]) -> UseTable:
    """Calls (step, layer, experts) of one class."""
    lines = [("code", step, layer, expert) for step, layer, experts in calls for expert in experts]
    return UseTable("use.csv", pd.DataFrame(lines, columns=["class", "step", "layer", "expert"]))


def sets(given: ExpertUse) -> dict[tuple[int, ...], float]:
    """Wait of each distinct set of layer 0, µs a call."""
    (layer,) = given.layers
    return {tuple(layer.experts[row].tolist()): us for row, us in zip(layer.sets, layer.wait_us.tolist(), strict=True)}


def codes(given: ExpertUse) -> list[tuple[str, int]]:
    return [(warning["code"], warning["count"]) for warning in given.warnings]


SMALL, LARGE = [1], [2, 3, 4, 5, 6, 7]
FIFTY = [(step, 0, SMALL if step < 50 else LARGE) for step in range(100)]


def test_calls_that_wait_for_nothing_save_nothing(tmp_path: Path):
    """50 calls with expert 1 wait 0, 50 with six wait 40: 20 a step, of which one move saves 0 and six save all."""
    told = waits(tmp_path, *[(step, 0, str(len(experts)), 0 if step < 50 else 40) for step, _, experts in FIFTY])
    given = expert_use(uses(*FIFTY), told)
    one, six = place(given, Terms(1)), place(given, Terms(6))
    assert one == Placed((), one.curve) and (one.curve[0].wait_us, one.saved_us, six.saved_us) == (20.0, 0.0, 20.0)
    assert (given.credited, given.warnings) == (Credited(own=100), [])


def test_a_layers_mean_is_said_to_be_an_upper_bound():
    """The same calls, of which only the mean is known: moving one expert would save 10."""
    given = expert_use(uses(*FIFTY), Waits({0: 20.0}))
    assert place(given, Terms(1)).saved_us == 10.0 and codes(given) == [("waits_by_layer", 100)]
    text = given.warnings[0]["text"]
    assert "credited its layer's mean wait" in text and "upper bound" in text and "--sidecar --csv FILE" in text
    assert "the same wait (--wait-us)" in expert_use(uses(*FIFTY), Waits({}, 20.0)).warnings[0]["text"]


def test_equal_sets_keep_their_total_wait(tmp_path: Path):
    """{1} waits 10 and 30: two calls of 20. {1, 2} waits 50."""
    told = waits(tmp_path, (0, 0, "1", 10), (1, 0, "1", 30), (2, 0, "2", 50))
    given = expert_use(uses((0, 0, [1]), (1, 0, [1]), (2, 0, [1, 2])), told)
    assert sets(given) == {(1,): 20.0, (1, 2): 50.0}
    assert place(given, Terms(0)).curve[0].wait_us == pytest.approx((10 + 30 + 50) / 3)


def test_a_call_that_was_not_traced_waits_as_those_like_it(tmp_path: Path):
    """Steps 3 and 4 are not on record: one expert waits 20 as in steps 0 and 1, three are seen nowhere: 30 of all."""
    told = waits(tmp_path, (0, 0, "1", 10), (1, 0, "1", 30), (2, 0, "2", 50))
    given = expert_use(uses((0, 0, [1]), (1, 0, [2]), (2, 0, [1, 2]), (3, 0, [5]), (4, 0, [6, 7, 8])), told)
    assert sets(given) == {(1,): 10.0, (2,): 30.0, (1, 2): 50.0, (5,): 20.0, (6, 7, 8): 30.0}
    assert (given.credited, codes(given)) == (Credited(3, 1, 1), [("waits_by_layer", 1)])


TOLD: list[Call] = [(0, 0, "1", 10), (1, 0, "2", 50), (2, 0, "1", 30)]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (uses((10, 0, [1]), (11, 0, [1, 2]), (12, 0, [3])), "use.csv lacks 3 of its 3 steps"),
        (uses((1, 0, [1]), (2, 0, [1, 2]), (3, 0, [3])), "use.csv lacks 1 of its 3 steps"),
        (uses((0, 0, [9]), (1, 0, [1]), (2, 0, [1, 2]), (3, 0, [3])), "2 of its 3 calls have another number"),
        (joined([uses((0, 0, [1]), (1, 0, [1, 2])), uses((0, 0, [3]))]), "which of the 2 files of uses"),
    ],
    ids=["elsewhere", "lacking", "shifted", "several"],
)
def test_steps_that_are_not_the_same(table: UseTable, why: str, tmp_path: Path):
    """One expert waits 20 in the mean, two wait 50, whichever step it is."""
    given = expert_use(table, waits(tmp_path, *TOLD))
    assert {us for experts, us in sets(given).items() if len(experts) == 1} == {20.0} and sets(given)[1, 2] == 50.0
    assert given.credited.own == 0 and codes(given) == [("waits_by_experts", given.credited.by_experts)]
    assert why in given.warnings[0]["text"]


def test_one_number_of_experts_does_not_tell_steps_apart(tmp_path: Path):
    """Layer 0 always has one, so a step more or less would fit as well: 20 for each."""
    given = expert_use(uses((0, 0, [1]), (1, 0, [2])), waits(tmp_path, (0, 0, "1", 10), (1, 0, "1", 30)))
    assert sets(given) == {(1,): 20.0, (2,): 20.0} and "nothing shows that its steps" in given.warnings[0]["text"]


def test_calls_whose_experts_are_not_known(tmp_path: Path):
    """Then the layer's mean of 30 is all there is."""
    told = waits(tmp_path, *[(step, layer, "", us) for step, layer, _, us in TOLD])
    given = expert_use(uses((0, 0, [1]), (1, 0, [1, 2]), (2, 0, [3])), told)
    assert set(sets(given).values()) == {30.0} and codes(given) == [("waits_by_layer", 3)]


def test_counts_take_the_wait_of_as_many_experts(tmp_path: Path):
    """Each call draws expert 4 alone or both: 10 or 50 µs."""
    rows = pd.DataFrame({"class": "code", "layer": 0, "expert": [4, 5], "uses": [50, 25], "calls": 50})
    given = expert_use(UseTable("counts.csv", rows), waits(tmp_path, (0, 0, "1", 10), (1, 0, "2", 50)), steps=100)
    assert sets(given) == pytest.approx({(4,): 10.0, (4, 5): 50.0}) and given.credited == Credited(by_experts=50)


def test_calls_of_one_layer_and_step_add_up(tmp_path: Path):
    """Two cards with 1 and 2 experts wait 0 and 40 as counted; calls without rows or a layer are none."""
    told = waits(tmp_path, (0, 0, "1", 0), (0, 0, "2", 40), (1, 0, "0", 7)).calls
    assert told is not None and told.by_layer == {0: 40.0} and told.by_experts == {(0, 3): 40.0}


def test_a_layer_without_calls_needs_a_wait(tmp_path: Path):
    table = uses((0, 0, [1]), (0, 1, [1]))
    with pytest.raises(InputError, match="layer 1, for which no join wait is known"):
        expert_use(table, waits(tmp_path, *TOLD))
    assert expert_use(table, waits(tmp_path, *TOLD, every=5.0)).layers[1].wait_us.tolist() == [5.0]


@pytest.mark.parametrize("line", ["", "0,0,1,2,1,code,5,-5\n", "0,,1,2,1,code,5,5\n", "x,0,1,2,1,code,5,5\n", "0,0\n"])
def test_files_without_calls(line: str, tmp_path: Path):
    path = tmp_path / "calls.csv"
    path.write_text(HEADER + line)
    with pytest.raises(InputError, match=r"holds no join waits.*give the CSV of calls that stepprof breakdown"):
        read_waits(path)
