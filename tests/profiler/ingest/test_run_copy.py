"""A run file takes facts, costs, edges and stamps as a copy; nothing else of it changes, and the run itself never."""

import gzip
import shutil
from pathlib import Path

import duckdb
import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, create, open_run
from tests.trace_builder import TraceBuilder

FACTS = ["SELECT step, kept FROM step_fact", "SELECT step, layer, rows FROM call_fact"]


def run(folder: Path) -> Path:
    """A run with a manifest, a warning, a cost, and facts that say one row."""
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(15, 16)).capture_node(4, 1)
    trace.add("manifest", key="tracing_inflation", value="1.25").add("op_cost", label="a", bytes_read=7)
    trace.add("step_fact", step=0, kept=1).add("call_fact", step=0, layer=0, rows=1)
    source = trace.store()
    source.warn("resident_call_outside", 2, "two lie outside")
    path = folder / "run.duckdb"
    with create(path) as store:
        for (table,) in source.rows("SELECT table_name FROM duckdb_tables() WHERE NOT temporary"):
            rows = source.con.table(table).to_arrow_table()
            key = "WHERE key <> 'schema_version'" if table == "run" else ""
            store.con.register("rows", rows)
            store.con.execute(f'INSERT INTO "{table}" SELECT * FROM rows {key}')
            store.con.unregister("rows")
    return path


def altered(path: Path, sql: str) -> Path:
    con = duckdb.connect(str(path))
    con.execute(sql)
    con.close()
    return path


def side_file(folder: Path, *lines: str) -> Path:
    path = folder / "side.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def copied(run: Path, extras: Extras) -> Store:
    out = run.with_name("copy.duckdb")
    import_run(run, out, extras, force=True)
    return open_run(out)


def test_facts_replace_those_of_the_run_and_nothing_else(tmp_path: Path):
    first = run(tmp_path)
    before = first.read_bytes()
    store = copied(
        first, Extras(facts=side_file(tmp_path, '{"step": 0, "kept": 3}', '{"step": 0, "layer": 2, "rows": 5}'))
    )
    assert [store.rows(sql) for sql in FACTS] == [[(0, 3)], [(0, 2, 5)]]
    assert store.rows("SELECT label, bytes_read FROM op_cost") == [("a", 7)]
    assert store.rows("SELECT start_ns, end_ns FROM op") == [(20, 30)]
    assert store.rows("SELECT value FROM manifest") == [("1.25",)]
    assert store.rows("SELECT count(*) FROM run WHERE key = 'schema_version'") == [(1,)]
    assert first.read_bytes() == before


def test_costs_leave_facts_alone(tmp_path: Path):
    store = copied(run(tmp_path), Extras(costs=side_file(tmp_path, '{"label": "b", "bytes_read": 9}')))
    assert store.rows("SELECT label, bytes_read FROM op_cost") == [("b", 9)]
    assert [store.rows(sql) for sql in FACTS] == [[(0, 1)], [(0, 0, 1)]]


def test_stamps_replace_stamps_and_what_was_said_of_them(tmp_path: Path):
    stamp = '{"resident": true, "round": 1, "layer": 0, "seen_ns": 20, "answered_ns": 25}'
    first = altered(run(tmp_path), "UPDATE clock SET epoch_ns = 0")
    store = copied(first, Extras(resident=side_file(tmp_path, stamp)))
    assert store.rows("SELECT round, seen_ns FROM resident_call") == [(1, 20)] and store.warnings() == []


def test_edges_are_those_of_the_nodes_made_at_capture(tmp_path: Path):
    nodes = "INSERT INTO graph_node (process, node, origin) VALUES (0, 9, 4); UPDATE op SET origin_node = 4"
    first = altered(run(tmp_path), nodes)
    store = copied(first, Extras(edges=side_file(tmp_path, "E 1 9 5")))
    assert store.rows("SELECT from_node, to_node FROM graph_edge") == [(4, 5)]


@pytest.mark.parametrize(("sql", "said"), [
    ("UPDATE run SET value = '99' WHERE key = 'schema_version'", "has run-file version 99"),
    ("ALTER TABLE op RENAME start_ns TO begin_ns", "is damaged"),
    ("DROP TABLE op", "is damaged"),
])  # fmt: skip
def test_a_run_of_another_form_is_one_sentence(tmp_path: Path, sql: str, said: str):
    first, out = altered(run(tmp_path), sql), tmp_path / "copy.duckdb"
    with pytest.raises(InputError, match=said) as fault:
        import_run(first, out, Extras(facts=side_file(tmp_path, '{"step": 0}')))
    assert "\n" not in str(fault.value) and not out.exists()


def test_facts_of_steps_alone_leave_those_of_calls(tmp_path: Path):
    store = copied(run(tmp_path), Extras(facts=side_file(tmp_path, '{"step": 0, "kept": 2}')))
    assert [store.rows(sql) for sql in FACTS] == [[(0, 2)], [(0, 0, 1)]]


def test_edges_given_again_replace_those_given_before(tmp_path: Path):
    first = altered(
        run(tmp_path), "UPDATE op SET origin_node = 4; INSERT INTO graph_edge VALUES (0, 1, 2, 'full', 'recorded', 1)"
    )
    store = copied(first, Extras(edges=side_file(tmp_path, "E 1 4 5")))
    store.close()
    second = first.with_name("copy.duckdb").rename(tmp_path / "second.duckdb")
    store = copied(second, Extras(edges=side_file(tmp_path, "E 1 4 6")))
    assert store.rows("SELECT process, from_node, to_node FROM graph_edge ORDER BY from_node") == [
        (0, 1, 2),
        (None, 4, 6),
    ]


def test_a_run_that_was_overwritten_is_one_sentence(tmp_path: Path):
    """Wherever: either all that is needed can still be read, or one sentence says that it cannot."""
    first, facts = run(tmp_path), side_file(tmp_path, '{"step": 0}')
    whole, said = first.read_bytes(), set[str]()
    for at in range(12_288, len(whole), len(whole) // 12):
        first.write_bytes(whole[:at] + bytes([255]) * 20_000 + whole[at + 20_000 :])
        try:
            import_run(first, tmp_path / "copy.duckdb", Extras(facts=facts), force=True)
        except InputError as fault:
            assert "\n" not in str(fault)
            said.add("damaged" if "is damaged (" in str(fault) else "not readable")
    assert "damaged" in said


def test_a_packed_run_takes_facts_too(tmp_path: Path):
    first = run(tmp_path)
    packed = tmp_path / "run.duckdb.gz"
    packed.write_bytes(gzip.compress(first.read_bytes()))
    store = copied(packed, Extras(facts=side_file(tmp_path, '{"step": 0, "kept": 3}')))
    assert store.rows(FACTS[0]) == [(0, 3)]


def test_with_nothing_to_add_and_onto_itself_it_is_refused(tmp_path: Path):
    first = run(tmp_path)
    with pytest.raises(
        InputError, match=r"is a run file already: use it as it is, or name what to add \(--facts, --costs"
    ):
        import_run(first, tmp_path / "copy.duckdb", Extras())
    shutil.copy(first, tmp_path / "same.duckdb")
    with pytest.raises(InputError, match="is the trace itself"):
        import_run(first, first, Extras(facts=side_file(tmp_path, '{"step": 0}')), force=True)
    assert first.read_bytes() == (tmp_path / "same.duckdb").read_bytes()
