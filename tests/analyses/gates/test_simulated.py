"""Two thousand simulated gates: launches that vary, steps that resemble their neighbours, a known shift.

Launches differ by SD 0.03 ms; their 100 steps by SD 0.2 ms with neighbours correlated by 0.6. Seeded.
"""

import numpy as np
import pytest

from stepprof.analyses.gates.judge import Bar, Judged, judge, judge_rounds
from stepprof.analyses.statistics import level_of_look, welch

GATES, STEPS, RHO = 2000, 100, 0.6
BETWEEN, WITHIN, STEP = 0.03, 0.2, 11.18


def medians(launches: int, shift: float, seed: int) -> np.ndarray:
    """Median step of each launch, [gates, launches]."""
    draw = np.random.default_rng(seed)
    steps = draw.normal(0, WITHIN * np.sqrt(1 - RHO**2), size=(STEPS, GATES, launches))
    steps[0] /= np.sqrt(1 - RHO**2)
    for i in range(1, STEPS):
        steps[i] += RHO * steps[i - 1]
    return np.median(steps, axis=0) + draw.normal(STEP + shift, BETWEEN, size=(GATES, launches))


def judged(bar: float, shift: float, launches: int = 4, seed: int = 1, gates: int = GATES) -> list[Judged]:
    control, candidate = medians(launches, 0.0, seed)[:gates], medians(launches, shift, seed + 1000)[:gates]
    return [judge(a.tolist(), b.tolist(), Bar(bar)) for a, b in zip(control, candidate, strict=True)]


def share(gates: list[Judged], *verdicts: str) -> float:
    return sum(one.verdict in verdicts for one in gates) / len(gates)


@pytest.fixture(scope="module")
def unchanged():
    """No effect, and a bar of 0: the hardest case."""
    return judged(bar=0.0, shift=0.0)


def test_without_an_effect_pass_ci_is_rare(unchanged):
    assert share(unchanged, "PASS_CI") <= 0.025


def test_a_gate_of_a_with_a_never_passes_a_real_bar():
    found = judged(bar=-0.1, shift=0.0, seed=7, gates=1000)
    assert share(found, "PASS_CI") == 0
    assert share(found, "PASS_POINT") <= 0.005


def test_intervals_cover_what_they_say(unchanged):
    assert 0.93 <= np.mean([one.delta.low <= 0 <= one.delta.high for one in unchanged]) <= 0.97


@pytest.mark.parametrize(("launches", "seed"), [(2, 3), (3, 4), (6, 5)])
def test_intervals_cover_a_known_shift_at_other_sizes(launches, seed):
    found = judged(bar=-0.1, shift=-0.117, launches=launches, seed=seed, gates=1000)
    covered = np.mean([one.delta.low <= -0.117 <= one.delta.high for one in found])
    assert 0.93 <= covered <= (0.97 if launches > 2 else 0.985)  # Welch on two launches an arm errs on the safe side


def test_combined_replicates_cover_too():
    """The naive error of a weighted mean would cover 91 % at three launches an arm."""
    rounds = [judged(bar=-0.1, shift=-0.117, launches=3, seed=seed, gates=1000) for seed in (21, 22)]
    both = [judge_rounds(pair, Bar(-0.1)) for pair in zip(*rounds, strict=True)]
    assert 0.93 <= np.mean([one.delta.low <= -0.117 <= one.delta.high for one in both]) <= 0.97


def test_steps_taken_for_launches_would_not_cover():
    """Why the launch is the unit: one launch an arm, its steps as if independent, covers a quarter."""
    draw = np.random.default_rng(2)
    shifts = draw.normal(0, BETWEEN * np.sqrt(2), GATES) + draw.normal(0, 2 * WITHIN * np.sqrt(2 / STEPS), GATES)
    assert np.mean(np.abs(shifts) <= 1.96 * WITHIN * np.sqrt(2 / STEPS)) < 0.75


def test_two_looks_keep_the_error():
    """Looked at after four launches an arm and again after eight."""
    control, candidate = medians(8, 0.0, 31), medians(8, 0.0, 1031)
    passed = 0
    for a, b in zip(control.tolist(), candidate.tolist(), strict=True):
        first = welch(a[:4], b[:4], level_of_look(1, 2)).high
        passed += min(first, welch(a, b, level_of_look(2, 2)).high) <= 0
    assert passed / GATES <= 0.03


def test_a_large_effect_passes():
    assert share(judged(bar=-0.1, shift=-0.3, seed=9, gates=400), "PASS_CI") > 0.98
    assert share(judged(bar=-0.1, shift=0.1, seed=10, gates=400), "FAIL") > 0.9
