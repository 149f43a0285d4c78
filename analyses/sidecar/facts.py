"""Rows and experts of calls, and which calls were skipped: told by the server, else by marks.

counts = call_counts(store, scene, step, layer)
counts.rows       # UNKNOWN where nobody says
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.members import Scene
from stepprof.analyses.sidecar.stretches import Stretches
from stepprof.analyses.steps import Steps
from stepprof.profiler.store import Store

NO_STEP = re.compile(r"\w+=\S*|\([^)]*\)")
FACT_SQL = """
SELECT step, layer::BIGINT AS layer, max(coalesce(rows, -1))::BIGINT AS rows,
    max(coalesce(experts, -1))::BIGINT AS experts, bool_or(coalesce(skipped, false)) AS skipped
FROM call_fact WHERE step BETWEEN ? AND ? GROUP BY ALL ORDER BY step, layer
"""


@dataclass(frozen=True)
class CallFacts:
    """Facts of calls in chosen steps; `step` is the index of the step in the trace."""

    step: Ints
    layer: Ints
    rows: Ints
    experts: Ints
    skipped: Bools

    def of(self, step: Ints, layer: Ints) -> Ints:
        """The fact about each call, UNKNOWN where there is none."""
        if len(self.step) == 0 or len(step) == 0:
            return np.full(len(step), UNKNOWN, dtype=np.int64)
        width = max(int(self.layer.max()), int(layer.max())) + 2
        key, wanted = self.step * width + self.layer, step * width + layer
        order = np.argsort(key, kind="stable")
        place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        return np.where((key[order][place] == wanted) & (layer != UNKNOWN), order[place], UNKNOWN)


def step_numbers(steps: Steps) -> list[int]:
    """The number in each step's mark (step/7 is 7); where these do not rise from step to step, the steps count from 0.

    What is told as word=number (a batch's size) or in brackets (a count of contexts) is no step's number.
    """
    texts = [NO_STEP.sub("", label or "") for label in steps.label]
    found = [re.search(r"\d{1,15}", text) for text in texts]
    numbers = [int(m[0]) for m in found if m]
    rising = all(a < b for a, b in pairwise(numbers)) and len(numbers) == len(texts)
    return numbers if rising else list(range(len(texts)))


def call_facts(store: Store, steps: Steps, chosen: Sequence[int]) -> CallFacts:
    """Facts of the chosen steps."""
    numbers = np.array(step_numbers(steps), dtype=np.int64)[list(chosen)]
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, -1)
    table = store.arrays(FACT_SQL, low, high)
    order = np.argsort(numbers, kind="stable")
    number = np.asarray(table["step"], dtype=np.int64)
    place = np.minimum(np.searchsorted(numbers[order], number), max(len(numbers) - 1, 0))
    mine = numbers[order][place] == number if len(number) else np.zeros(0, bool)
    layer, rows, experts = (np.asarray(table[key], dtype=np.int64)[mine] for key in ("layer", "rows", "experts"))
    step = np.array(chosen, dtype=np.int64)[order][place[mine]]
    return CallFacts(step, layer, rows, experts, table["skipped"].astype(bool)[mine])


def marked_at_capture(scene: Scene, stretches: Stretches) -> bool:
    """Whether marks that tell rows were open when a graph was captured: its replays may have other numbers."""
    op = stretches.op[stretches.op != UNKNOWN]
    told = scene.marks.rows[scene.found.labels.of_op[op]] != UNKNOWN
    return bool((told & scene.found.ops.in_graph[op]).any())


def marked_counts(scene: Scene, stretches: Stretches, count: int) -> tuple[Ints, Ints]:
    """Rows and experts that the marks around each call's ops carry."""
    rows, experts = (np.full(count, UNKNOWN, dtype=np.int64) for _ in range(2))
    known = stretches.op != UNKNOWN
    label = scene.found.labels.of_op[stretches.op[known]]
    np.maximum.at(rows, stretches.call[known], scene.marks.rows[label])
    np.maximum.at(experts, stretches.call[known], scene.marks.experts[label])
    return rows, experts
