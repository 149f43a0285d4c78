"""Edits of hand-made graphs, to the ns: chains, forks and joins, hidden branches, two cards, PDL."""

from dataclasses import replace

import pytest

from stepprof.analyses.graph.replay import replay, wall_of
from stepprof.analyses.vocabulary import ROLES
from stepprof.analyses.whatif.assumptions import Traffic
from stepprof.analyses.whatif.edits import apply
from stepprof.analyses.whatif.proposal_model import (
    Add,
    Break,
    Fuse,
    Move,
    Overlap,
    Remove,
    Scale,
    Select,
    Serialize,
    Split,
)
from stepprof.profiler.errors import UsageError
from tests.proposals import ASSUME, after, exactly, named
from tests.step_graphs import ends, hand

# a 10, 2 on, b 20, 2 on, c 30: 64; the second step is 10 longer
CHAIN = hand({"a": [10, 10], "b": [20, 20], "c": [30, 40]}, [("a", "b", 2), ("b", "c", 2)])
# a, then b and s beside it, then j: b holds (10 + 1 + 30 + 1 + 5)
FORK = hand({"a": [10], "b": [30], "s": [8], "j": [5]}, [("a", "b", 1), ("a", "s", 1), ("b", "j", 1), ("s", "j", 1)])
# main a, b, j; the sidecar's y comes 14 late: a 10, 4, x 7, 1, y 30, 6, j 5
LATE = hand(
    {"a": [10], "x": [7], "b": [20], "y": [30], "j": [5]},
    [("a", "b", 1), ("a", "x", 4), ("x", "y", 1), ("b", "j", 1), ("y", "j", 6)],
    device=[0, 1, 0, 1, 0],
)


def test_a_chain():
    assert after(CHAIN) == [64, 74]
    assert after(CHAIN, Remove(named("b"))) == [42, 52]
    assert after(CHAIN, Scale(named("c"), factor=exactly(0.5))) == [49, 54]
    assert after(CHAIN, Scale(named("a", "c"), to_us=exactly(0.001))) == [26, 26]
    # a new op of 4 with the usual 2 before it; before a, which leads the step, 2 behind it
    assert after(CHAIN, Add(named("b"), exactly(0.004))) == [70, 80]
    assert after(CHAIN, Add(named("a"), exactly(0.004), at="before")) == [70, 80]
    # one run of two ops, or each of them
    assert after(CHAIN, Add(named("a", "b"), exactly(0.004))) == [70, 80]
    assert after(CHAIN, Add(named("a", "b"), exactly(0.004), each="op")) == [76, 86]


def test_a_fusion_of_a_chain_saves_a_node_cost_a_boundary():
    assert after(CHAIN, Fuse(named("a", "b", "c"))) == [54, 64]
    assert after(CHAIN, Fuse(named("b", "c"))) == [59, 69]
    assert after(CHAIN, Fuse(Select(), chain=("a", "b"))) == [59, 69]
    dear = replace(ASSUME, node_cost_at="high")
    assert after(CHAIN, Fuse(named("a", "b", "c")), assume=dear) == [48, 58]
    # a gap longer than the node cost goes with its boundary
    wide = hand({"a": [10], "b": [20]}, [("a", "b", 9)])
    assert after(wide, Fuse(named("a", "b"))) == [30]
    # never shorter than the longest part
    short = hand({"a": [1], "b": [1], "c": [9]}, [("a", "b", 0), ("b", "c", 0)])
    assert after(short, Fuse(named("a", "b", "c"))) == [9]
    assert after(short, Fuse(named("a", "b", "c"), to_us=exactly(0.006))) == [6]


def test_a_split_is_a_fusion_back():
    # two boundaries of 5 more: 2 between the parts, 3 in their durations
    assert after(CHAIN, Split(named("b"), 3)) == [74, 84]
    # 26 in parts of 10, 8 and 8: a 10, 2, 10, 2, 8
    assert ends(apply(CHAIN, Split(named("b"), 3), ASSUME).graph)["part 2 of 3"] == [32, 32]
    assert after(CHAIN, Split(named("b"), 3), Fuse(Select(name="^b$|part"))) == [64, 74]


def test_traffic_that_stays_on_chip():
    # a writes 300 that b reads: 600 of 800 bytes go; c, of which nothing is known, stays
    costs = {"a": Traffic(100, 300), "b": Traffic(300, 100)}
    assume = replace(ASSUME, costs=costs)
    chain = hand({"a": [100], "b": [100], "c": [10]}, [("a", "b", 2), ("b", "c", 2)])
    fast = exactly(100)  # bytes a ns
    assert after(chain, assume=assume) == [214]
    assert after(chain, Fuse(named("a", "b"), bandwidth_gb_s=fast), assume=assume) == [203]  # 5 and 6
    assert after(chain, Fuse(named("a", "b"), bandwidth_gb_s=exactly(4)), assume=assume) == [62]  # 197 − 150 = 47 < 50
    assert after(chain, Fuse(named("a", "b", "c"), bandwidth_gb_s=fast), assume=assume) == [204]  # c unknown
    with pytest.raises(UsageError, match=r"bandwidth of card 0 .unknown GPU. is not known: give bandwidth_gb_s"):
        after(chain, Fuse(named("a", "b")), assume=assume)


def test_a_scale_to_the_roofline():
    assume = replace(ASSUME, costs={"a": Traffic(30, 10), "c": Traffic(3000, 0)}, gpus={0: "NVIDIA H200"})
    floor = Scale(named("a", "b", "c"), floor=True, bandwidth_gb_s=exactly(10))
    # a 10 → 4; c stays, its 300 are more than it took; b is not known
    assert after(CHAIN, floor, assume=assume) == [58, 68]
    assert apply(CHAIN, floor, assume).notes == ("1 of 3 ops have no traffic on record and keep their time",)
    assert after(CHAIN, Scale(named("b"), floor=True, traffic_bytes=exactly(9600)), assume=assume) == [46, 56]
    with pytest.raises(UsageError, match="no traffic of these ops is on record"):
        after(CHAIN, Scale(named("b"), floor=True), assume=assume)


def test_a_hidden_branch_saves_nothing():
    assert after(FORK) == [47]
    assert after(FORK, Remove(named("s"))) == [47]
    assert after(FORK, Scale(named("s"), factor=exactly(0))) == [47]


def test_the_path_moves_after_a_saving():
    # b gives 22 of its 30; then s holds
    assert after(FORK, Remove(named("b"))) == [25]
    assert after(FORK, Scale(named("b"), to_us=exactly(0))) == [25]
    assert after(FORK, Remove(named("b", "s"))) == [16]


def test_a_late_sidecar():
    assert after(LATE) == [63]
    # at zero time the signals stay: 10 + 4 + 1 + 6 + 5 is less than main's 37
    assert after(LATE, Scale(Select(device=(1,)), factor=exactly(0))) == [37]
    assert after(LATE, Remove(Select(device=(1,)))) == [37]
    # main's own work is hidden behind it
    assert after(LATE, Remove(named("b"))) == [63]


def test_pdl_overlap():
    # b starts 3 before a ends: 10 − 3 + 20; of the overlap only what a lasts
    graph = hand({"a": [10], "b": [20]}, [("a", "b", -3)])
    assert after(graph) == [27]
    assert after(graph, Scale(named("a"), to_us=exactly(0.002))) == [20]
    # as one op the overlap is counted once: one node cost less
    assert after(graph, Fuse(named("a", "b"))) == [22]
    assert after(graph, Remove(named("a"))) == [20]


def test_fusion_across_layers_and_within():
    graph = hand(
        {"a": [10], "b": [10], "c": [10]},
        [("a", "b", 2), ("b", "c", 2)],
        layer=[0, 0, 1],
        role=[ROLES.index("norm")] * 3,
    )
    norms = Select(role=("norm",))
    assert after(graph, Fuse(norms)) == [24]
    assert after(graph, Fuse(norms, within_layer=True)) == [29]


def test_a_fusion_waits_for_what_its_parts_waited_for():
    # s feeds c; with a, b and c in one op nothing starts before s has ended
    graph = hand(
        {"a": [10], "s": [30], "b": [10], "c": [10]}, [("a", "b", 2), ("b", "c", 2), ("s", "c", 2)], stream=[0, 1, 0, 0]
    )
    assert after(graph) == [42]
    assert after(graph, Fuse(named("a", "b", "c"))) == [30 + 2 + 24]


def test_chains_that_wait_for_one_another_are_not_all_fused():
    """a and c on one card, b and e on the other: c waits for b and e for a, so only the first pair becomes one op."""
    graph = hand(
        {name: [10] for name in "abce"},
        [("a", "c", 0), ("b", "c", 0), ("b", "e", 0), ("a", "e", 0)],
        device=[0, 1, 0, 1],
    )
    done = apply(graph, Fuse(Select(), chain=("[ab]", "[ce]")), ASSUME)
    assert done.graph.nodes.name == ["b", "2 ops fused, the last c", "e"]
    assert done.notes == ("chains that wait for one another were fused only where that makes no circle",)
    assert wall_of(replay(done.graph)).tolist() == [35]  # b 10, a and c in one 15, e 10


def test_runs_that_hold_each_other_up_stay_chains():
    # p c d e and a b as one op each would wait for each other: p → b, a → d
    graph = hand(
        {"p": [1], "a": [1], "b": [10], "c": [10], "d": [10], "e": [10]},
        [("p", "b", 0), ("a", "b", 0), ("p", "c", 0), ("c", "d", 0), ("a", "d", 0), ("d", "e", 2)],
    )
    done = apply(graph, Fuse(Select(role=())), ASSUME)
    assert (after(graph), wall_of(replay(done.graph)).tolist()) == ([33], [28])
    assert done.touched.tolist() == [False, False, False, False, True, True]
    assert done.notes[0].startswith("runs that wait for one another")


def test_a_break_is_a_barrier():
    # cut before b, s comes behind the cut too; cut before s, it waits for b
    assert after(FORK, Break(named("b"), exactly(0.007))) == [10 + 7 + 30 + 1 + 5]
    assert after(FORK, Break(named("s"), exactly(0.007))) == [10 + 1 + 30 + 7 + 8 + 1 + 5]
    assert after(FORK, Break(named("j"), exactly(0.007))) == [10 + 1 + 30 + 7 + 5]
    assert after(CHAIN, Break(named("b"), exactly(0.007))) == [69, 79]
    with pytest.raises(UsageError, match="no boundary between graphs"):
        after(CHAIN, Break(named("b")))
    assert after(CHAIN, Break(named("b")), assume=replace(ASSUME, boundary_ns=12)) == [74, 84]


def test_a_move_to_a_branch_and_to_a_card():
    # b beside c: a 10 + 2 + c 30 + 2 + d 5
    chain = hand({"a": [10], "b": [20], "c": [30], "d": [5]}, [("a", "b", 2), ("b", "c", 2), ("c", "d", 2)])
    assert after(chain) == [71]
    assert after(chain, Move(named("b"), until=named("d"))) == [49]
    # twice as long and 9 there and back: 10 + 9 + 40 + 9 + 5
    away = Move(named("b"), named("d"), device=1, factor=exactly(2), signal_us=exactly(0.009))
    assert after(chain, away) == [73]
    # nobody waits: only the step's end does
    done = apply(chain, Move(named("d"), until=named("a")), ASSUME)
    assert "nothing behind waits for 1 of the moved runs: only the step's end does" in done.notes
    # two runs, b and d, one after the other on their branch: c waits for b, nothing for d
    done = apply(chain, Move(named("b|d"), until=named("c")), ASSUME)
    assert "nothing behind waits for 1 of the moved runs: only the step's end does" in done.notes
    done = apply(FORK, Move(named("b"), until=named("j")), ASSUME)
    assert not [note for note in done.notes if "nothing behind" in note]


def test_overlap_and_back():
    chain = hand({"a": [10], "b": [20], "c": [30], "d": [5]}, [("a", "b", 2), ("b", "c", 2), ("c", "d", 2)])
    beside = Overlap(named("b"), named("c"))
    assert after(chain, beside) == [49]
    assert after(chain, beside, Serialize(named("b", "c"))) == [71]
    assert after(chain, Overlap(named("a"), named("b"))) == [20 + 2 + 30 + 2 + 5]


def test_serialize():
    assert after(FORK, Serialize(named("b", "s"))) == [10 + 1 + 30 + 1 + 8 + 1 + 5]
    layered = hand(
        {"a": [10], "b": [30], "s": [8], "j": [5]},
        [("a", "b", 1), ("a", "s", 1), ("b", "j", 1), ("s", "j", 1)],
        layer=[0, 1, 1, 2],
    )
    assert after(layered, Serialize(named("s"), after=named("b"))) == [56]
    assert after(layered, Serialize(named("b"), after=named("s"))) == [56]
    assert apply(layered, Serialize(named("a"), after=named("b")), ASSUME).notes == ("no layer has ops of both sets",)


def test_edits_that_wait_for_themselves_are_refused():
    with pytest.raises(UsageError, match="wait for itself"):
        after(CHAIN, Serialize(named("a"), after=named("c")))
