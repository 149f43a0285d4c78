"""A run file -> a copy without who, where, when and with which arguments: all tables, fewer facts, cleaned names."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from stepprof.profiler.errors import InputError
from stepprof.profiler.scrub_text import TextCleaner
from stepprof.profiler.store import Store, create, open_run

SQL = Path(__file__).with_suffix(".sql")
KEPT_FACTS = {"format", "tool", "tool_version", "graph_trace_rows", "rank", "clock_residual_ns", "labels_aligned_share"}
KEPT_ENTRIES = re.compile(
    r"stepprof_version|python_version|torch_version|machine|cuda_of_driver|backend|window|exit_code|processes"
    r"|(control-(before|after)_)?(driver_version|gpus|sm_clock_mhz|power_w)"
    r"|tracing_inflation(_low|_high)?|inflation_(span|prologue)|step_measure|(traced|control)_step(_p50)?_ns"
    r"|dropped_records|cupti_overhead_ns"
)
# values that nothing can mean; tables or columns that are not those of a run file
UNREADABLE = (duckdb.DataError, duckdb.InvalidInputException, duckdb.BinderException, duckdb.CatalogException)
PLAIN_WORD = re.compile(r"[A-Za-z][\w.-]{0,31}")
SOURCES = "SELECT value FROM source.run WHERE key IN ('source', 'labels_from')"
TEXTS = """
SELECT text FROM source.name UNION SELECT payload FROM source.range UNION SELECT text FROM source.warning
UNION SELECT value FROM source.manifest UNION SELECT value FROM source.run
"""


def scrub_run(trace: Path, out: Path, clean: TextCleaner) -> list[str]:
    """Write the copy, say what it lacks."""
    open_run(trace).close()  # refuses what is no run file of this version
    with create(out) as store:
        try:
            return _filled(store, trace, clean)
        except UNREADABLE as fault:
            what = str(fault).splitlines()[0][:160]
            raise InputError(f"{trace} is damaged ({what}): import the trace again.") from None


def _filled(store: Store, trace: Path, clean: TextCleaner) -> list[str]:
    quoted = str(trace.absolute()).replace("'", "''")
    store.con.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
    files = [name for (value,) in store.rows(SOURCES) for name in (value or "").split(" + ")]
    clean.learn((text for (text,) in store.rows(TEXTS)), files)
    store.con.create_function("cleaned", clean, ["VARCHAR"], "VARCHAR")  # pyright: ignore[reportArgumentType]
    facts = store.rows("SELECT key FROM source.run WHERE key <> 'schema_version' ORDER BY key")
    entries = store.rows("SELECT key, value FROM source.manifest ORDER BY key")
    kept_facts = [key for (key,) in facts if key in KEPT_FACTS]
    kept_entries = [key for key, value in entries if _harmless(key, value, clean)]
    store.con.execute("SET VARIABLE facts = ?::VARCHAR[]", [kept_facts])
    store.con.execute("SET VARIABLE entries = ?::VARCHAR[]", [kept_entries])
    store.con.execute(SQL.read_text())
    store.con.execute("DETACH source")
    removed = [f"run {key}" for (key,) in facts if key not in kept_facts]
    removed += [f"manifest {key}" for key, _ in entries if key not in kept_entries]
    return [*removed, "process and thread ids (numbered anew)", "which GPUs they were", "the time of day"]


def _harmless(key: str, value: str | None, clean: TextCleaner) -> bool:
    """An entry that tells how a run was made and not by whom; of its arm a plain word."""
    if key == "arm":
        return value is not None and PLAIN_WORD.fullmatch(value) is not None and clean(value) == value
    return KEPT_ENTRIES.fullmatch(key) is not None
