"""Copies between the main card and others: which way each goes, and how many bytes.

copies = load_copies(store, ops, main=0)
copies.side[i]       # the card that copy i serves
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints, Ops
from stepprof.profiler.store import Store

HOST_TO_DEVICE, DEVICE_TO_HOST, PEER = 1, 2, 10  # CUPTI copy kinds
COPY_SQL = """
SELECT op_id, coalesce(bytes, 0) AS bytes, coalesce(copy_kind, -1) AS kind,
    coalesce(src_device, -1) AS src, coalesce(dst_device, -1) AS dst
FROM op WHERE activity = 'memcpy' ORDER BY op_id
"""


@dataclass(frozen=True)
class Copies:
    """One entry an op of the run."""

    side: Ints  # the other card that a copy goes to or comes from; UNKNOWN for all other ops
    inward: Bools  # from the main card, or from the host onto the other card
    bytes: Ints  # 0 where none are recorded


def load_copies(store: Store, ops: Ops, main: int) -> Copies:
    """The copies of a run. A copy that names no cards lies on the one it reads from."""
    table = {key: np.asarray(value, dtype=np.int64) for key, value in store.arrays(COPY_SQL).items()}
    side, inward, size = (np.full(len(ops), value, dtype=np.int64) for value in (UNKNOWN, 0, 0))
    _, at, row = np.intersect1d(ops.op_id, table["op_id"], return_indices=True)
    table = {key: column[row] for key, column in table.items()}
    here, kind, src, dst = ops.device[at], table["kind"], table["src"], table["dst"]
    named = (src != dst) & (np.minimum(src, dst) >= 0)
    out = np.where(named, src != main, np.where(kind == PEER, here != main, kind == DEVICE_TO_HOST))
    other = np.where(named, np.where(src == main, dst, src), np.where(here == main, UNKNOWN, here))
    crosses = named | (kind == PEER) | ((here != main) & np.isin(kind, (HOST_TO_DEVICE, DEVICE_TO_HOST)))
    side[at] = np.where(crosses, other, UNKNOWN)
    inward[at] = crosses & ~out
    size[at] = table["bytes"]
    return Copies(side, inward.astype(bool), size)
