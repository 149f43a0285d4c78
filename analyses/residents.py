"""Ops of kernels that never leave their card, set apart before anything is computed.

A kernel that polls for requests leaves one record when it ends, and that record spans all
the steps in between. It is no work of any of them and nothing waits for its end, so
`load_ops` leaves it out: of steps, busy, work, hidden and exposed time, dependencies and the
path. Which kernels do that is a rule (rules/residents.toml; --rules adds more). What such a
kernel did meanwhile is in table resident_call, from its own stamps (import --resident).

    residents = set_apart(store, load_rules())     # fills the temporary table _resident
    residents.end - residents.start                # ns
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepprof.analyses.rules import RuleSet
from stepprof.profiler.store import Store

TABLE = """
CREATE OR REPLACE TEMP TABLE _resident AS
SELECT op_id FROM op
WHERE activity = 'kernel' AND name_id IN (SELECT unnest(?::BIGINT[]))
"""
OPS = """
SELECT op_id, start_ns, end_ns, device, text
FROM op SEMI JOIN _resident USING (op_id) JOIN name USING (name_id) ORDER BY start_ns, op_id
"""

OUTSIDE = """
SELECT count(*), max($1 - seen_ns), max(answered_ns - $2) FROM resident_call WHERE seen_ns < $1 OR answered_ns > $2
"""


@dataclass(frozen=True)
class Residents:
    """Resident ops by start; one entry each."""

    op_id: NDArray[np.int64]
    start: NDArray[np.int64]  # ns
    end: NDArray[np.int64]  # ns
    device: NDArray[np.int64]
    names: list[str]
    calls: int  # that such kernels stamped; a recording of some steps may hold these and no op

    def __len__(self) -> int:
        return len(self.op_id)


def set_apart(store: Store, rules: RuleSet) -> Residents:
    """The resident ops of a run; their ids are in the temporary table _resident from here on."""
    texts = store.rows("SELECT name_id, text FROM name WHERE name_id IN (SELECT DISTINCT name_id FROM op)")
    met = [i for i, text in texts if any(rule.regex.search(text) for rule in rules.residents)]
    store.con.execute(TABLE, [met])
    rows = store.rows(OPS) if met else []
    columns = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(4)]
    calls = int(store.value("SELECT count(*) FROM resident_call"))
    return Residents(*columns, names=[row[4] for row in rows], calls=calls)


def resident_warnings(store: Store, residents: Residents) -> list[dict[str, Any]]:
    """What was set apart, where its calls are or how to get them, and whether these fit in time."""
    count = len(residents)
    if not count:
        return []
    names = ", ".join(sorted({name[:60] for name in residents.names})[:3])
    longest = int((residents.end - residents.start).max()) / 1e6
    told = (
        f"their {residents.calls} calls are in table resident_call"
        if residents.calls
        else "import --resident FILE tells their calls (stepprof run --resident writes it)"
    )
    text = (
        f"{count} ops are resident ({names}; the longest took {longest:,.3f} ms): kernels that stay while steps pass are "
        f"kept out of steps, busy, work and path; {told}."
    )
    return [{"code": "resident", "count": count, "text": text}, *_clock_doubts(store, residents)]


def _clock_doubts(store: Store, residents: Residents) -> list[dict[str, Any]]:
    """Calls before the first record began or after the last one ended: the two clocks do not agree."""
    first, last = int(residents.start.min()), int(residents.end.max())
    count, early, late = store.rows(OUTSIDE, first, last)[0]
    if not count:
        return []
    text = (
        f"{count} resident calls lie up to {max(early, late) / 1000:,.3f} µs outside the records of resident kernels: "
        "the clock of the calls and that of the trace differ by at least as much."
    )
    return [{"code": "resident_clock", "count": count, "text": text}]
