"""Samples of several subjects taken in turn: blocks in a round robin, planned before the first of them is timed.

    costs = calibrate(stages)                            # warm by now; a few samples of each
    plan = plan_of(costs, samples, blocks, budget_s)     # OverBudget where they would not fit
    times = interleave(stages, plan)                     # µs, [blocks, samples of a block] for each subject

A stage holds the subjects that need the same thing to run (a sidecar, say); only one stage is open at a time, and
the order of the stages turns by one from block to block, so that none is always the first.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepprof.kernels.bench.file import BenchFault

MARGIN = 1.1  # what a calibration is multiplied by, since single samples are slow now and then


class OverBudget(BenchFault):
    """The timing phase would not fit its budget; nothing was timed."""


@dataclass(frozen=True)
class Subject:
    """One thing at one size; `sample(i)` runs it for the i-th time and gives microseconds."""

    name: str
    rows: int
    mode: str
    sample: Callable[[int], float]

    @property
    def key(self) -> tuple[str, int, str]:
        """What tells it from others."""
        return self.name, self.rows, self.mode


@dataclass(frozen=True)
class Stage:
    """Subjects that are timed while this is open."""

    subjects: Sequence[Subject]
    open: Callable[[], None] = lambda: None
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Costs:
    """Seconds by the host's clock: of a sample of each subject, and of opening and closing all stages once."""

    sample_s: float  # sum over subjects of one sample each
    turn_s: float


@dataclass(frozen=True)
class Plan:
    """The size of the timing phase, fixed before it starts."""

    blocks: int
    samples: int  # of a subject in a block
    expected_s: float
    budget_s: float | None

    def document(self, subjects: int) -> dict[str, Any]:
        """As a bench file keeps it."""
        return {
            "blocks": self.blocks,
            "samples_a_block": self.samples,
            "samples": self.blocks * self.samples * subjects,
            "expected_s": round(self.expected_s, 3),
            "budget_s": self.budget_s,
        }


def calibrate(stages: Sequence[Stage], samples: int = 5) -> Costs:
    """A few samples of each subject, thrown away; so it also warms what is not warm yet."""
    sampling = turning = 0.0
    for stage in stages:
        start = time.perf_counter()
        stage.open()
        turning += time.perf_counter() - start
        for subject in stage.subjects:
            subject.sample(0)
            start = time.perf_counter()
            for i in range(samples):
                subject.sample(i)
            sampling += (time.perf_counter() - start) / samples
        start = time.perf_counter()
        stage.close()
        turning += time.perf_counter() - start
    return Costs(sampling, turning)


def plan_of(costs: Costs, samples: int, blocks: int, budget_s: float | None = None, fit: bool = False) -> Plan:
    """`samples` of each subject in so many blocks (fewer where there are fewer samples).

    Where that would take longer than `budget_s`: OverBudget, or with `fit` as many samples a block as do fit.
    """
    blocks = max(1, min(blocks, samples))
    turns = MARGIN * costs.turn_s * blocks
    each = -(-samples // blocks)
    expected = turns + MARGIN * costs.sample_s * (each + 1) * blocks
    if budget_s is None or expected <= budget_s:
        return Plan(blocks, each, expected, budget_s)
    room = int((budget_s - turns) / (MARGIN * costs.sample_s * blocks)) - 1
    if not fit or room < 1:
        most = max(0, room) * blocks
        way_out = f"--budget {math.ceil(expected)}" + (f", or --fit for {most:,} samples of each" if most else "")
        raise OverBudget(
            f"{each * blocks:,} samples of each would take about {expected:.1f} s, the budget is {budget_s:g} s; "
            f"nothing was timed: give {way_out}."
        )
    return Plan(blocks, room, turns + MARGIN * costs.sample_s * (room + 1) * blocks, budget_s)


def interleave(stages: Sequence[Stage], plan: Plan) -> dict[tuple[str, int, str], np.ndarray]:
    """Microseconds of every sample by subject; the first sample of each block is thrown away."""
    keys = [subject.key for stage in stages for subject in stage.subjects]
    assert len(set(keys)) == len(keys), f"{keys=}"
    times = {key: np.empty((plan.blocks, plan.samples)) for key in keys}
    for block in range(plan.blocks):
        turned = [stages[(block + i) % len(stages)] for i in range(len(stages))]
        for stage in turned:
            _time_stage(stage, times, block, plan.samples)
    return times


def _time_stage(stage: Stage, times: dict[tuple[str, int, str], np.ndarray], block: int, samples: int) -> None:
    stage.open()
    for subject in stage.subjects:
        first = block * samples
        subject.sample(first)
        into = times[subject.key][block]
        for i in range(samples):
            into[i] = subject.sample(first + i)
    stage.close()


def say(text: str) -> None:
    """A line of progress, on standard error."""
    print(text, file=sys.stderr, flush=True)
