"""Expert sets, what moves save, greedy against brute force, and files of uses."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from stepprof.analyses.placement.choice import Placed, Terms, place, wait_left
from stepprof.analyses.placement.expert_use import ExpertUse, Layer, expert_use
from stepprof.analyses.placement.layer_waits import Waits
from stepprof.analyses.placement.relocation import relocation
from stepprof.analyses.placement.use_table import csv_uses
from stepprof.profiler.errors import InputError


def uses(*layers: list[tuple[set[int], float]], experts: int = 6, steps: int = 1) -> ExpertUse:
    """Layers of calls (experts, wait in µs), one class; each call came once in `steps` steps."""
    made: list[Layer] = []
    for number, calls in enumerate(layers):
        sets = np.array([[e in chosen for e in range(experts)] for chosen, _ in calls], bool)
        waits, zeros = np.array([wait for _, wait in calls], float), np.zeros(len(calls), np.int64)
        made.append(Layer(number, np.arange(experts), sets, zeros, np.full(len(calls), 1 / steps), waits, 1))
    return ExpertUse(("code",), (steps,), tuple(made), True)


def brute_force(given: ExpertUse, terms: Terms) -> float:
    """The least wait that any choice of the budget leaves."""
    pairs = [(i, e) for i, layer in enumerate(given.layers) for e in range(len(layer.experts))]

    def left(chosen: tuple[tuple[int, int], ...]) -> float:
        total = 0.0
        for i, layer in enumerate(given.layers):
            hot = np.array([(i, e) in chosen for e in range(len(layer.experts))], bool)
            total += wait_left(layer, hot, terms.per_expert_us).sum()
        return total

    return min(left(chosen) for chosen in combinations(pairs, min(terms.budget, len(pairs))))


def test_a_call_is_gone_when_all_its_experts_are_hot():
    """31 µs for the pair {0, 1}, 10 for {2}: two moves cut the pair, a third the other."""
    found = place(uses([({0, 1}, 31.0), ({2}, 10.0)]), Terms(3))
    assert found.chosen == ((0, 0), (0, 1), (0, 2))
    assert [(point.experts, point.wait_us) for point in found.curve] == [(0, 41.0), (2, 10.0), (3, 0.0)]
    assert found.saved_us == 41.0


def test_an_expert_of_a_call_that_stays_saves_nothing_unless_it_is_said_to():
    only_one = uses([({0, 1}, 31.0)])
    assert place(only_one, Terms(1)).chosen == ()
    found = place(only_one, Terms(1, per_expert_us=12.0))
    assert found.chosen == ((0, 0),) and found.curve[-1].wait_us == 19.0


def test_a_part_never_saves_more_than_the_wait():
    assert place(uses([({0, 1, 2}, 15.0)]), Terms(2, per_expert_us=12.0)).curve[-1].wait_us == 0.0


def test_layers_compete_for_the_budget():
    found = place(uses([({0}, 5.0)], [({3}, 7.0), ({3}, 2.0)]), Terms(1))
    assert found.chosen == ((1, 3),) and found.curve[-1].wait_us == 5.0


def test_a_set_that_does_not_fit_makes_room_for_one_that_does():
    """Three experts save 60, 20 each; with room for two, the pair that saves 30 is next."""
    found = place(uses([({0, 1, 2}, 60.0), ({3, 4}, 30.0)]), Terms(2))
    assert set(found.chosen) == {(0, 3), (0, 4)}


@pytest.mark.parametrize("per_expert_us", [0.0, 4.0])
@pytest.mark.parametrize("seed", range(8))
def test_greedy_against_brute_force(seed: int, per_expert_us: float):
    """Never better than the best, and close to it: half of what can be saved at the least, nine tenths on average."""
    random = np.random.default_rng(seed)
    layers = [
        [(set(random.choice(5, random.integers(1, 4), replace=False).tolist()), float(random.integers(1, 40)))
         for _ in range(6)]
        for _ in range(2)
    ]  # fmt: skip
    given = uses(*layers, experts=5)
    shares: list[float] = []
    for budget in range(1, 7):
        found, terms = place(given, Terms(budget, per_expert_us)), Terms(budget, per_expert_us)
        today, best = found.curve[0].wait_us, brute_force(given, terms)
        assert len(found.chosen) <= budget and found.curve[-1].wait_us >= best - 1e-9
        shares.append(found.saved_us / (today - best) if today > best else 1.0)
    assert min(shares) >= 0.5 and np.mean(shares) >= 0.9


def test_everything_fits():
    given = uses([({0, 1}, 3.0), ({2}, 4.0)], [({5}, 1.0)])
    assert place(given, Terms(100)).curve[-1].wait_us == 0.0 == brute_force(given, Terms(4))


USE = """class,step,layer,expert,rows
code,0,3,300,2
code,0,3,301,1
code,1,3,301,1
code,1,3,300,1
code,4,3,300,1
code,4,3,301,1
chat,2,3,310,1
chat,3,,,
"""


def test_calls_of_a_file(tmp_path: Path):
    """5 steps of two classes; layer 3 waits 31 µs in 4 of them: 24.8 µs a step, 31 in code, 15.5 in chat."""
    path = tmp_path / "use.csv"
    path.write_text(USE)
    given = expert_use(csv_uses(path), Waits({3: 31.0}))
    assert (given.classes, given.steps, given.sets_known) == (("chat", "code"), (2, 3), True)
    (layer,) = given.layers
    assert layer.experts.tolist() == [300, 301, 310]
    assert (layer.sets.tolist(), layer.weight.tolist()) == ([[False, False, True], [True, True, False]], [0.2, 0.6])
    found = place(given, Terms(3))
    assert [(p.experts, pytest.approx(p.wait_us), pytest.approx(p.by_class)) for p in found.curve] == [
        (0, 24.8, (15.5, 31.0)),
        (2, 6.2, (15.5, 0.0)),
        (3, 0.0, (0.0, 0.0)),
    ]
    assert found.chosen == ((3, 300), (3, 301), (3, 310))


def test_the_posts_wait():
    """31 µs in each of 38 layers is 1.18 ms a step."""
    given = uses(*[[({0}, 31.0)]] * 38)
    assert place(given, Terms(0)).curve[0].wait_us == pytest.approx(1178.0)


def test_counts_stand_for_sets_drawn_independently(tmp_path: Path):
    """Expert 4 in all 50 calls of 100 steps, 5 in a fifth of them: moving 4 removes the calls that 5 is not in."""
    path = tmp_path / "counts.csv"
    path.write_text("class,layer,expert,uses,calls\ncode,0,4,50,50\ncode,0,5,10,50\n")
    given = expert_use(csv_uses(path), Waits({}, every=20.0), steps=100)
    assert not given.sets_known
    found = place(given, Terms(2))
    assert found.chosen == ((0, 4), (0, 5))
    assert [point.wait_us for point in found.curve] == [pytest.approx(10.0), pytest.approx(2.0, abs=0.3), 0.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no CSV of expert uses"),
        ("class,step,layer,expert,rows\n", "names no use"),
        ("layer,expert\n1,2\n", "no column 'class'"),
        ("class,step,layer,expert\na,0,x,1\n", "line 2: column 'layer'"),
        ("class,step,layer,expert\na,,1,1\n", "line 2: column 'step'"),
        ("class,step,layer,expert\na,0,1,1.5\n", "line 2: column 'expert'"),
        ("class,step,layer,expert\na,0,9,1\n", "layer 9, for which no join wait is known"),
        ("class,layer,expert,uses,calls\na,0,1,1,1\n", "give --steps N"),
        ("class,layer,expert,uses,calls\na,0,1,3,2\n", "line 2: an expert cannot be used in more calls"),
    ],
    ids=range(9),
)
def test_files_that_do_not_do(text: str, message: str, tmp_path: Path):
    path = tmp_path / "use.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        expert_use(csv_uses(path), Waits({3: 1.0}))


def test_moving_pays_after_some_steps():
    """10 experts of 20 MB over 50 GB/s: 4 ms; at 200 µs saved a step that is 20 steps."""
    placed = Placed(tuple((0, e) for e in range(10)), place(uses([({0}, 200.0)]), Terms(1)).curve)
    cost = relocation(placed, expert_bytes=20_000_000, link_bytes_per_s=50e9)
    assert (cost.bytes, cost.time_us, cost.break_even_steps) == (200_000_000, pytest.approx(4000.0), 20)


def test_moving_for_nothing_never_pays():
    cost = relocation(place(uses([({0, 1}, 9.0)]), Terms(1)), expert_bytes=1, link_bytes_per_s=1e9)
    assert (cost.bytes, cost.break_even_steps) == (0, None)
