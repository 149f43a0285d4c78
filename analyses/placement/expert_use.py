"""Which cold experts the calls of a run used, and what each call made the main card wait.

    uses = expert_use(joined(tables), Waits(per_layer={3: 31.0}), steps=None)       # tables: use_table.py

Uses by call give each call's set of experts. Counts give none: sets are then drawn, each expert by its share of the
calls as if experts were used independently of one another (`sets_known` False; figures from them are simulated).
Experts that belong together would then seem to need more moves than they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.placement.use_table import UseTable
from stepprof.profiler.errors import InputError

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

DRAWN = 1_000  # sets drawn for a class and layer where only counts are known


@dataclass(frozen=True)
class Waits:
    """Mean join wait of a call in µs, by layer; `every` where a layer is not named (None: it must be)."""

    per_layer: Mapping[int, float]
    every: float | None = None
    traced: bool = False  # told by a trace, whose steps tracing made longer by `inflation`
    inflation: TracingInflation | None = None


@dataclass(frozen=True)
class Layer:
    """Calls of a layer with the same experts and class, S of them distinct; E cold experts were used."""

    layer: int
    experts: Int  # [E] numbers, ascending
    sets: Bool  # [S, E]
    class_: Int  # [S]
    weight: Float  # [S] calls a step, over the steps of all classes
    wait_us: Float  # [S] of one call
    classes: int


@dataclass(frozen=True)
class ExpertUse:
    """All layers, ascending; `steps` of each class."""

    classes: tuple[str, ...]
    steps: tuple[int, ...]
    layers: tuple[Layer, ...]
    sets_known: bool


def expert_use(table: UseTable, waits: Waits, steps: int | None = None) -> ExpertUse:
    """Layer by layer; `steps` of each class where uses are counts. InputError where waits or steps are not known."""
    rows = table.rows
    classes = tuple(sorted(rows["class"].unique()))
    if table.counted and steps is None:
        raise InputError(f"{table.source} has counts only and does not say over how many steps: give --steps N.")
    known = rows.groupby("class")["step"].nunique() if not table.counted else None
    total = tuple(int(steps or known[name]) for name in classes)  # pyright: ignore[reportOptionalSubscript]
    used = rows.dropna(subset=["layer", "expert"])
    make = _drawn_layer if table.counted else _known_layer
    layers: list[Layer] = []
    for number, mine in used.groupby("layer"):
        layer = int(number)  # pyright: ignore[reportArgumentType]
        sets, class_, weight, experts = make(mine, classes)
        wait = _wait(table.source, waits, layer)
        weight = weight / sum(total)
        layers.append(Layer(layer, experts, sets, class_, weight, np.full(len(sets), wait), len(classes)))
    return ExpertUse(classes, total, tuple(layers), not table.counted)


def _wait(source: str, waits: Waits, layer: int) -> float:
    wait = waits.per_layer.get(layer, waits.every)
    if wait is None:
        raise InputError(f"{source} uses layer {layer}, for which no join wait is known: add it, or give --wait-us.")
    return wait


def _known_layer(rows: pd.DataFrame, classes: tuple[str, ...]) -> tuple[Bool, Int, Float, Int]:
    """(sets [S, E], class [S], calls [S], experts [E]) of a layer's calls; equal ones are counted together."""
    experts, expert = np.unique(rows["expert"].to_numpy(np.int64), return_inverse=True)
    call, keys = pd.factorize(pd.MultiIndex.from_frame(rows[["class", "step"]]))
    sets = np.zeros((len(keys), len(experts)), bool)
    sets[call, expert] = True
    names = {name: i for i, name in enumerate(classes)}
    class_ = np.array([names[key[0]] for key in keys], np.int64)
    unique, counts = np.unique(np.column_stack([class_, sets]), axis=0, return_counts=True)
    return unique[:, 1:].astype(bool), unique[:, 0].astype(np.int64), counts.astype(np.float64), experts


def _drawn_layer(rows: pd.DataFrame, classes: tuple[str, ...]) -> tuple[Bool, Int, Float, Int]:
    """As `_known_layer`, from counts: DRAWN calls of each class, each with one expert at least."""
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
        return np.zeros((0, len(experts)), bool), np.zeros(0, np.int64), np.zeros(0), experts
    sets, class_, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return sets, class_, weight, experts
