"""Which join wait each call of the uses is credited: its own, else that of calls like it, else its layer's mean.

    credit = credit_of(table, waits)
    credit.of(layer=0, step=4, experts=2)      # (wait in µs, "own")

Waits by call (call_waits.py) know a step by its index in the trace, uses by the number that the server gave it. Both
are taken for the same number only where nothing speaks against it and something for it: the uses have every step of
the waits, calls in both have as many experts in one as in the other, and in some layer that number changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from stepprof.analyses.placement.call_waits import CallWaits
from stepprof.analyses.placement.layer_waits import Waits
from stepprof.analyses.placement.use_table import UseTable
from stepprof.profiler.errors import InputError

Basis = Literal["own", "by_experts", "by_layer"]

WAY_OUT = "give --waits the CSV of calls that stepprof breakdown TRACE --sidecar --csv FILE writes"
UPPER_BOUND = "those of few experts wait less, so what moving their experts saves is an upper bound"


@dataclass(frozen=True)
class Credited:
    """How many calls are credited their own wait, the mean of calls with as many experts, a mean of all."""

    own: int = 0
    by_experts: int = 0
    by_layer: int = 0


@dataclass(frozen=True)
class Credit:
    """Waits for the calls of a source; `not_own` says why no call is credited its own, None where calls are."""

    source: str
    waits: Waits
    not_own: str | None

    def of(self, layer: int, step: int, experts: int) -> tuple[float, Basis]:
        """The wait in µs of a call, and what it rests on; InputError where nobody tells."""
        if (told := self.waits.calls) is not None:
            if self.not_own is None and (own := told.calls.get((step, layer))) is not None:
                return own.wait_us, "own"
            if (alike := told.by_experts.get((layer, experts))) is not None:
                return alike, "by_experts"
        wait = self.waits.per_layer.get(layer, self.waits.every)
        if wait is None:
            way_out = "add it, or give --wait-us"
            raise InputError(f"{self.source} uses layer {layer}, for which no join wait is known: {way_out}.")
        return wait, "by_layer"

    def warnings(self, credited: Credited) -> list[dict[str, Any]]:
        """What to be careful with, each with a code and the number of calls."""
        texts = {"waits_by_experts": self._experts_text(), "waits_by_layer": self._layer_text(credited.by_layer)}
        counts = {"waits_by_experts": credited.by_experts, "waits_by_layer": credited.by_layer}
        return [
            {"code": code, "count": counts[code], "text": text} for code, text in texts.items() if text and counts[code]
        ]

    def _experts_text(self) -> str | None:
        if self.waits.calls is None or self.not_own is None:
            return None
        means = "the mean of calls with as many experts in its layer"
        return f"no call is credited its own wait of {self.waits.calls.source}, but {means}: {self.not_own}"

    def _layer_text(self, calls: int) -> str:
        told = self.waits.calls
        if told is None:
            mean = "its layer's mean wait" if self.waits.per_layer else "the same wait (--wait-us)"
            return f"every call is credited {mean}: {UPPER_BOUND}; {WAY_OUT}"
        if not told.by_experts:
            return f"every call is credited its layer's mean wait: {UPPER_BOUND}; {told.source}: {self.not_own}"
        lacking = f"{told.source} has no calls with as many experts in their layer"
        return f"{calls:,} calls are credited their layer's mean wait, else --wait-us: {lacking}"


def credit_of(table: UseTable, waits: Waits) -> Credit:
    """How calls of these uses are credited."""
    return Credit(table.source, waits, _not_own(table, waits.calls) if waits.calls else "waits are known by layer")


def _not_own(table: UseTable, told: CallWaits) -> str | None:
    """Why steps of the uses are not those of the waits, None where they are."""
    if table.counted:
        return f"{table.source} has counts only"
    if table.files > 1:
        return f"which of the {table.files} files of uses it belongs to is not known: give that file alone"
    if table.rows.groupby("step")["class"].nunique().max() > 1:
        return f"{table.source} has steps of several classes under one number"
    steps = {step for step, _ in told.calls}
    if lost := len(steps - set(table.rows["step"].astype(int))):
        return f"{table.source} lacks {lost:,} of its {len(steps):,} steps, so their numbers are not the same"
    return _numbers_differ(_experts(table.rows), told)


def _experts(rows: pd.DataFrame) -> dict[tuple[int, int], int]:
    """How many experts each call used, by (step, layer)."""
    used = rows.dropna(subset=["layer", "expert"])
    calls = used.groupby([used["step"].astype(int), used["layer"].astype(int)])["expert"].nunique()
    return {(int(step), int(layer)): int(count) for (step, layer), count in calls.items()}  # pyright: ignore


def _numbers_differ(used: Mapping[tuple[int, int], int], told: CallWaits) -> str | None:
    """Whether calls have other numbers of experts in the uses, or none that could tell one step from another."""
    known = {key: call.experts for key, call in told.calls.items() if call.experts is not None}
    if not known:
        return "it does not tell how many experts its calls had (import the trace with --facts)"
    if unlike := sum(used.get(key) != experts for key, experts in known.items()):
        return f"{unlike:,} of its {len(known):,} calls have another number of experts in the uses"
    if len({(layer, experts) for (_, layer), experts in known.items()}) == len({layer for _, layer in known}):
        return "calls of a layer all have as many experts, so nothing shows that its steps are those of the uses"
    return None
