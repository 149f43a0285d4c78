"""Which cold experts the calls of a run used, and what each call made the main card wait.

    uses = expert_use(joined(tables), read_waits(path), steps=None)       # tables: use_table.py, waits: layer_waits.py

Uses by call give each call's set of experts. Counts give none: sets are then drawn, each expert by its share of the
calls as if experts were used independently of one another (`sets_known` False; figures from them are simulated).
Experts that belong together would then seem to need more moves than they do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from stepprof.analyses.placement.credit import Basis, Credit, Credited, credit_of
from stepprof.analyses.placement.layer_waits import Waits
from stepprof.analyses.placement.use_table import UseTable
from stepprof.profiler.errors import InputError

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

UNKNOWN = -1  # step of a call that is drawn
DRAWN = 1_000  # sets drawn for a class and layer where only counts are known


@dataclass(frozen=True)
class Layer:
    """Calls of a layer with the same experts and class, S of them distinct; E cold experts were used."""

    layer: int
    experts: Int  # [E] numbers, ascending
    sets: Bool  # [S, E]
    class_: Int  # [S]
    weight: Float  # [S] calls a step, over the steps of all classes
    wait_us: Float  # [S] of one call, the mean of those counted together
    classes: int


@dataclass(frozen=True)
class ExpertUse:
    """All layers, ascending; `steps` of each class."""

    classes: tuple[str, ...]
    steps: tuple[int, ...]
    layers: tuple[Layer, ...]
    sets_known: bool
    credited: Credited = field(default_factory=Credited)
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(frozen=True)
class _Calls:
    """Calls of a layer, S of them; `step` is UNKNOWN and `count` more than one call where they are drawn."""

    experts: Int  # [E] numbers, ascending
    sets: Bool  # [S, E]
    class_: Int  # [S]
    step: Int  # [S]
    count: Float  # [S]


def expert_use(table: UseTable, waits: Waits, steps: int | None = None) -> ExpertUse:
    """Layer by layer; `steps` of each class where uses are counts. InputError where waits or steps are not known."""
    rows = table.rows
    classes = tuple(sorted(rows["class"].unique()))
    if table.counted and steps is None:
        raise InputError(f"{table.source} has counts only and does not say over how many steps: give --steps N.")
    known = rows.groupby("class")["step"].nunique() if not table.counted else None
    total = tuple(int(steps or known[name]) for name in classes)  # pyright: ignore[reportOptionalSubscript]
    used = rows.dropna(subset=["layer", "expert"])
    calls_of, credit = _drawn_calls if table.counted else _known_calls, credit_of(table, waits)
    layers, calls = list[Layer](), Counter[Basis]()
    for number, mine in used.groupby("layer"):
        found = calls_of(mine, classes)
        wait, counted = _waits(credit, int(number), found)  # pyright: ignore[reportArgumentType]
        layers.append(_layer(int(number), found, wait, len(classes), sum(total)))  # pyright: ignore[reportArgumentType]
        calls.update(counted)
    credited = Credited(round(calls["own"]), round(calls["by_experts"]), round(calls["by_layer"]))
    return ExpertUse(classes, total, tuple(layers), not table.counted, credited, credit.warnings(credited))


def _waits(credit: Credit, layer: int, calls: _Calls) -> tuple[Float, Counter[Basis]]:
    """The wait of each call in µs, and how many calls rest on what."""
    sizes = calls.sets.sum(1)
    found = [credit.of(layer, int(step), int(size)) for step, size in zip(calls.step, sizes, strict=True)]
    calls_on = Counter[Basis]()
    for (_, basis), count in zip(found, calls.count.tolist(), strict=True):
        calls_on[basis] += count
    return np.array([wait for wait, _ in found], np.float64), calls_on


def _layer(number: int, calls: _Calls, wait_us: Float, classes: int, steps: int) -> Layer:
    """Calls with equal experts and class as one, with all their calls and the mean of their waits."""
    keys, group = np.unique(np.column_stack([calls.class_, calls.sets]), axis=0, return_inverse=True)
    count = np.bincount(group.ravel(), calls.count, len(keys))
    wait = np.bincount(group.ravel(), calls.count * wait_us, len(keys)) / count
    sets, class_ = keys[:, 1:].astype(bool), keys[:, 0].astype(np.int64)
    return Layer(number, calls.experts, sets, class_, count / steps, wait, classes)


def _known_calls(rows: pd.DataFrame, classes: tuple[str, ...]) -> _Calls:
    """The calls themselves."""
    experts, expert = np.unique(rows["expert"].to_numpy(np.int64), return_inverse=True)
    call, keys = pd.factorize(pd.MultiIndex.from_frame(rows[["class", "step"]]))
    sets = np.zeros((len(keys), len(experts)), bool)
    sets[call, expert] = True
    names = {name: i for i, name in enumerate(classes)}
    class_, step = np.array([(names[name], step) for name, step in keys], np.int64).T
    return _Calls(experts, sets, class_, step, np.ones(len(keys)))


def _drawn_calls(rows: pd.DataFrame, classes: tuple[str, ...]) -> _Calls:
    """From counts: DRAWN calls of each class, each with one expert at least."""
    experts = np.unique(rows["expert"].to_numpy(np.int64))
    generator = np.random.default_rng(0)
    parts: list[tuple[Bool, Int, Float]] = []
    for i, name in enumerate(classes):
        mine = rows[rows["class"] == name]
        if (calls := float(mine["calls"].max() if len(mine) else 0)) == 0:
            continue
        share = np.zeros(len(experts))
        share[np.searchsorted(experts, mine["expert"].to_numpy(np.int64))] = mine["uses"].to_numpy() / calls
        sets = generator.random((DRAWN, len(experts))) < share
        sets = sets[sets.any(1)]
        if len(sets):
            parts.append((sets, np.full(len(sets), i), np.full(len(sets), calls / len(sets))))
    if not parts:
        parts = [(np.zeros((0, len(experts)), bool), np.zeros(0, np.int64), np.zeros(0))]
    sets, class_, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Calls(experts, sets, class_, np.full(len(sets), UNKNOWN), count)
