"""Several files of one run -> one run file: processes that were recorded apart, or ranks.

    import_merged([Path("main.sqlite"), Path("sidecar.sqlite")], out, Extras())

Each file is imported by itself and then appended with ids of its own (merge.sql). Times
are put on one clock (clocks.py), GPUs are told apart (same_devices.py). A run file may be
one of the files; edges belong to the first one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import duckdb
import pyarrow as pa

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.clocks import Alignment, Fit, align_clocks, name_of, span
from stepprof.profiler.ingest.formats import is_run_file
from stepprof.profiler.ingest.importer import Extras, add_extras, import_run, refuse_own_output
from stepprof.profiler.ingest.same_devices import Devices
from stepprof.profiler.store import Store, create, open_run

HERE = Path(__file__).parent
JOINED = ("format", "tool", "tool_version", "source", "source_hash", "rank")
PROCESSES = " UNION ".join(
    f"SELECT process FROM {table}"
    for table in ("process", "op", "api", "range", "graph_node", "graph_edge", "event_record", "event_wait")
)
NODES = " UNION ".join(
    f"SELECT {column} AS node FROM {{0}}{table}"
    for table, column in (
        ("op", "graph_node"), ("op", "origin_node"), ("graph_node", "node"), ("graph_node", "origin"),
        ("graph_edge", "from_node"), ("graph_edge", "to_node"),
    )
)  # fmt: skip


def import_merged(
    traces: Sequence[Path],
    out: Path,
    extras: Extras,
    force: bool = False,
    marker: str | None = None,
    finish: Callable[[Store], object] | None = None,
) -> None:
    """Read files of one run into the run file `out`; `marker` names ranges that align their clocks."""
    for trace in traces:
        refuse_own_output(trace, out)
    with ExitStack() as stack:
        store = stack.enter_context(create(out, force))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stepprof-merge-")))
        parts = [stack.enter_context(_part(trace, folder / f"{i}.duckdb")) for i, trace in enumerate(traces)]
        _check(parts)
        alignment = align_clocks(parts, marker)
        devices = Devices()
        for part, shift in zip(parts, alignment.shift, strict=True):
            _append(store, part, shift, devices)
        _describe(store, parts, alignment)
        store.con.execute((HERE / "origin.sql").read_text())
        add_extras(store, extras)
        if finish is not None:
            finish(store)


@contextmanager
def _part(trace: Path, run: Path) -> Generator[Store]:
    """A file as an open run."""
    if is_run_file(trace):
        run = trace
    else:
        import_run(trace, run, Extras())
    part = open_run(run)
    try:
        yield part
    finally:
        part.close()


def _check(parts: list[Store]) -> None:
    """No file twice: its ops would count twice."""
    seen: dict[str, str] = {}
    for part in parts:
        source = part.fact("source_hash") or str(part.path)
        if source in seen:
            raise InputError(f"{name_of(part)} and {seen[source]} are the same trace: give each file once.")
        seen[source] = name_of(part)


def _append(store: Store, part: Store, shift: int, devices: Devices) -> None:
    """Copy the rows of a part with ids that no other part has."""
    chosen, ambiguous = devices.add(part)
    used = {p for (p,) in store.rows("SELECT process FROM process")}
    processes = [p for (p,) in part.rows(f"SELECT * FROM ({PROCESSES}) WHERE process IS NOT NULL ORDER BY 1")]
    _mapping(store, "_process", _free_ids(processes, used))
    _mapping(store, "_device", chosen)
    try:
        _copy(store, part, shift)
    except duckdb.DataError as fault:  # numbers near the end of 64 bits
        said = str(fault).splitlines()[0][:120]
        raise InputError(f"{name_of(part)} cannot be merged ({said}): import it by itself.") from None
    moved = ", ".join(f"{own} is now {chosen[own]}" for own in ambiguous)
    text = (
        f"{name_of(part)}: nothing tells whether its GPUs are those of the other files; they count as others ({moved})."
    )
    store.warn("device_ambiguous", len(ambiguous), text)


def _copy(store: Store, part: Store, shift: int) -> None:
    path = str(part.path.absolute()).replace("'", "''")
    store.con.execute(f"ATTACH '{path}' AS part (READ_ONLY)")
    for key, value in {"shift": shift, **_offsets(store)}.items():
        store.con.execute(f"SET VARIABLE {key} = {value}::BIGINT")
    store.con.execute("SET VARIABLE source = ?", [name_of(part)])
    store.con.execute((HERE / "merge.sql").read_text())
    store.con.execute("DETACH part")


def _offsets(store: Store) -> dict[str, int]:
    """What is added to the ids of the next part; node ids change only where they collide."""
    shared = f"SELECT count(*) FROM ({NODES.format('part.')}) SEMI JOIN ({NODES.format('')}) USING (node)"
    return {
        "op": store.value("SELECT coalesce(max(op_id), -1) + 1 FROM op"),
        "range": store.value("SELECT coalesce(max(range_id), -1) + 1 FROM range"),
        "clock": store.value("SELECT count(*) FROM clock"),
        "node": store.value(f"SELECT max(node) + 1 FROM ({NODES.format('')})") if store.value(shared) else 0,
    }


def _free_ids(wanted: list[int], used: set[int]) -> dict[int, int]:
    """A new id for each: its own where no part before has it."""
    taken = used | set(wanted)
    free = (i for i in count(1) if i not in taken)
    return {own: own if own not in used else next(free) for own in wanted}


def _mapping(store: Store, table: str, ids: dict[int, int]) -> None:
    columns = {"old": pa.array(ids.keys(), pa.int64()), "new": pa.array(ids.values(), pa.int64())}
    store.con.register("ids", pa.table(columns))
    store.con.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM ids")
    store.con.unregister("ids")


def _describe(store: Store, parts: list[Store], alignment: Alignment) -> None:
    """Facts of the whole run, its clocks, and what is doubtful about them."""
    facts = {key: " + ".join(dict.fromkeys(filter(None, (p.fact(key) for p in parts)))) for key in JOINED}
    hidden = [int(p.fact("graph_trace_rows") or 0) for p in parts]
    facts |= {"graph_trace_rows": str(sum(hidden))} if any(hidden) else {}
    if alignment.fits:
        facts["clock_residual_ns"] = str(max(fit.residual for fit in alignment.fits))
    store.con.executemany("INSERT INTO run VALUES (?, ?)", [(key, value) for key, value in facts.items() if value])
    first = (
        parts[0].value("SELECT count(*) FROM clock") if alignment.fits else store.value("SELECT count(*) FROM clock")
    )
    aligned = "CASE WHEN clock < ? THEN source ELSE 'aligned' END"
    store.con.execute(f"UPDATE clock SET epoch_ns = ?, source = {aligned}", [alignment.epoch_ns, first])
    for fit in alignment.fits:
        store.warn("clock_aligned", fit.pairs, _fitted(fit, name_of(parts[0])))
    _warn_apart(store, parts, alignment)


def _fitted(fit: Fit, first: str) -> str:
    return (
        f"{fit.source} is on the clock of {first} by {fit.pairs} ranges, which lie up to {fit.residual / 1000:,.3f} µs "
        "apart: times of the two compare no closer than that."
    )


def _warn_apart(store: Store, parts: list[Store], alignment: Alignment) -> None:
    """Files of one run overlap in time."""
    first, last = span(parts[0])
    for part, shift in zip(parts[1:], alignment.shift[1:], strict=True):
        start, end = (moment + shift - alignment.shift[0] for moment in span(part))
        text = f"{name_of(part)} does not overlap {name_of(parts[0])} in time: are they files of one run?"
        store.warn("files_apart", int(start > last or end < first), text)
