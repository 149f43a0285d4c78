"""What the executions of one op have in common, kept once: where it ran and in which shape.

    forms = Forms()
    number = forms[form_key(event)]   # the same number for the same values
    forms.columns()                   # {"device": array, ...}, one row a form

A graph replays the same few thousand nodes again and again, so that most rows of a
trace are a form, a correlation, a name and two times.
"""

from __future__ import annotations

import re

import numpy as np

from stepprof.profiler.ingest.kineto_events import MISSING, Event, Ints

Id = int | str
FormKey = tuple[Id, Id, Id, int, int, Id, Id, int, int, int, tuple[int, int, int], tuple[int, int, int]]
SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
FORM = ("device", "context", "stream", "registers", "shared", "graph_id", *SHAPE)
WIDE = {"context", "stream", "correlation", "graph_id", "graph_node", "shared", "bytes", "thread"}
ZERO_IS_NONE = {"graph_id", "graph_node"}
UNKNOWN_DEVICE = -1
INT32_MAX = (1 << 31) - 1
DIGITS = re.compile(r"-?\d+\s*$")


class Forms(dict[FormKey, int]):
    """Forms numbered in the order of their first use."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[list[int]] = []

    def __missing__(self, key: FormKey) -> int:
        device, context, stream, in_device, in_context, pid, tid, registers, shared, graph_id, grid, block = key
        where = [_first(device, in_device, pid), _first(context, in_context), _first(stream, tid)]
        self._rows.append([*where, *map(number, (registers, shared, graph_id, *grid, *block))])
        self[key] = len(self._rows) - 1
        return self[key]

    def columns(self) -> dict[str, Ints]:
        """The values of all forms by column, MISSING where there is none."""
        table = np.array(self._rows, dtype=np.int64).reshape(-1, len(FORM))
        columns = {key: sized(key, table[:, at]) for at, key in enumerate(FORM)}
        columns["device"] = np.where(columns["device"] == MISSING, UNKNOWN_DEVICE, columns["device"])
        return columns


def form_keys(events: list[Event]) -> list[FormKey]:
    """The key of each event; a GPU row without device or stream tells them by its pid and tid."""
    return [
        (
            a.device, a.context, a.stream, a.in_device, a.in_context, event.pid, event.tid,
            a.registers, a.shared, a.graph_id, a.grid, a.block,
        )
        for event in events
        for a in (event.args,)
    ]  # fmt: skip


def number(value: Id) -> int:
    """An integer, or the one a text ends with ("stream 7"); MISSING where there is none or it is too large."""
    if isinstance(value, str):
        digits = DIGITS.search(value[-24:])
        value = int(digits[0]) if digits else MISSING
    return value if abs(value) < 1 << 63 else MISSING


def sized(key: str, values: Ints) -> Ints:
    """The values of a column, MISSING where they do not fit it."""
    if key in ZERO_IS_NONE:
        values = np.where(values == 0, MISSING, values)
    return values if key in WIDE else np.where(np.abs(values) > INT32_MAX, MISSING, values)


def _first(*values: Id) -> int:
    """The first value that is there."""
    return next((found for value in values if (found := number(value)) != MISSING), MISSING)
