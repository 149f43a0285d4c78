"""Rows of a record file as the collector writes them (capture/collector.cpp): numpy types by kind.

A record holds rows of one kind; texts alone vary in length. Sizes here and there are the same.
"""

from __future__ import annotations

import numpy as np

MAGIC = b"STEPREC\0"
VERSION = 1
HEADER = np.dtype(
    [("magic", "S8"), ("version", "<u4"), ("pid", "<u4"), ("parent", "<u4"), ("mode", "<u4"), ("realtime", "<i8")]
)
TEXT, MARK, NOTE, END = 1, 3, 15, 16
PUSH, POP, START, STOP = 1, 2, 3, 4

_SPAN = [("start_ns", "<i8"), ("end_ns", "<i8")]
_GRID = [(f"grid_{axis}", "<i4") for axis in "xyz"] + [(f"block_{axis}", "<i4") for axis in "xyz"]


def _ints(names: str) -> list[tuple[str, str]]:
    return [(name, "<u4") for name in names.split()]


def _longs(names: str) -> list[tuple[str, str]]:
    return [(name, "<u8") for name in names.split()]


# kind -> (name, columns); columns named pad are not kept
ROWS: dict[int, tuple[str, np.dtype]] = {
    2: ("clock", np.dtype([(n, "<i8") for n in ("realtime", "monotonic", "cupti")] + _ints("at_end version"))),
    MARK: (
        "mark",
        np.dtype(
            [("time", "<i8"), *_longs("id payload"), *_ints("thread text domain category"), *_ints("what payload_type")]
        ),
    ),
    4: (
        "kernel",
        np.dtype(
            _SPAN
            + _longs("node")
            + _ints("correlation device context stream graph name")
            + _GRID
            + _ints("registers shared launch pad")
        ),
    ),
    5: (
        "copy",
        np.dtype(
            _SPAN
            + _longs("bytes node")
            + _ints("correlation device context stream graph")
            + [(n, "u1") for n in ("activity", "copy_kind", "src_kind", "dst_kind")]
            + [("src_device", "<i4"), ("dst_device", "<i4")]
        ),
    ),
    6: ("call", np.dtype(_SPAN + _ints("correlation thread name result"))),
    7: ("sync", np.dtype(_SPAN + _longs("sync_id") + _ints("type correlation context stream event pad"))),
    8: ("event", np.dtype(_longs("sync_id") + _ints("correlation context stream event"))),
    9: ("node", np.dtype([("time", "<i8"), *_longs("node origin"), *_ints("thread type")])),
    10: ("edge", np.dtype(_longs("from_node to_node") + _ints("edge_kind pad"))),
    11: (
        "device",
        np.dtype(
            [*_longs("bandwidth memory"), ("uuid", "V16"), *_ints("id sm_count l2_bytes name major minor")]
        ),
    ),
    12: ("context", np.dtype(_ints("context device null_stream pad"))),
    13: ("overhead", np.dtype(_SPAN + _ints("what pad"))),
    14: ("loss", np.dtype(_longs("count") + _ints("source pad"))),
    NOTE: ("note", np.dtype(_ints("code text"))),
    END: ("finish", np.dtype([("realtime", "<i8")])),
}  # fmt: skip
SIZES = {name: dtype.itemsize for name, dtype in ROWS.values()}
