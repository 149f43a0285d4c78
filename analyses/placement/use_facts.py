"""Which experts each sidecar call used, as a server's facts tell it: of a run or of a facts file.

    uses_of_facts(store, "code.jsonl", stem="code").rows        # class, step, layer, expert

Facts name a step's class; steps without one are of the class `stem`, and all of them where the user names one.
"""

from __future__ import annotations

from pathlib import Path

from stepprof.analyses.placement.use_table import UseTable
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

SQL = Path(__file__).with_suffix(".sql")
NOT_NAMED = -1


def uses_of_facts(store: Store, source: str, stem: str, name: str | None = None) -> UseTable:
    """One line for each expert of a call; Refused where the facts do not name the experts."""
    calls = int(store.value("SELECT count(*) FROM call_fact"))
    if not calls:
        raise Refused(f"{source} holds no facts of sidecar calls: give a facts file, or a run imported with --facts.")
    table = store.frame(SQL.read_text())
    if unnamed := int((table["expert"] == NOT_NAMED).sum()):
        raise Refused(
            f"{source}: {unnamed:,} of {calls:,} calls do not tell which experts they used: let the facts list them "
            '("expert_numbers": [5, 7]), or give the CSV of stepprof run --expert-use.'
        )
    table["class"] = name if name is not None else table["class"].astype(object).fillna(stem)
    return UseTable(source, table)
