"""A scrubbed copy reads as before and tells nothing of the machine."""

import gzip
import json
import shutil
import sqlite3

import pytest

from stepprof.profiler.demo import TRACE
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, import_run, summary
from stepprof.profiler.scrub import clean_text, scrub
from stepprof.profiler.store import create, open_run


def read(path, out):
    import_run(path, out, Extras())
    store = open_run(out)
    found = summary(store), store.rows("SELECT text, count(*) FROM op JOIN name USING (name_id) GROUP BY 1 ORDER BY 1")
    store.close()
    return {**found[0], "run": ""}, found[1]


@pytest.mark.parametrize(("text", "kept"), [
    ("/home/me/models/a.py(12): forward", "<path>/a.py(12): forward"),
    ("mail me@example.com at 10.0.0.1:80", "mail <email> at <address>"),
    ("GPU-01234567-89ab-cdef-0123-456789abcdef", "<uuid>"),
    ("hf_abcdefghijkl", "<secret>"),
    ("layer/3/attention", "layer/3/attention"),
    ("sidecar/0/copy_in rows=2", "sidecar/0/copy_in rows=2"),
    ("void f<(int)4, at::native::g>(int, T2)", "void f<(int)4, at::native::g>(int, T2)"),
    ("a / b and c/d", "a / b and c/d"),
])  # fmt: skip
def test_texts(text, kept):
    assert clean_text(text) == kept


def test_nsys_export(tmp_path):
    removed = scrub(TRACE, tmp_path / "out.sqlite")
    assert read(tmp_path / "out.sqlite", tmp_path / "a.duckdb")[1] == read(TRACE, tmp_path / "b.duckdb")[1]
    assert any(line.endswith("strings that no kept row names") for line in removed)
    with sqlite3.connect(tmp_path / "out.sqlite") as con:
        columns = [row[1] for row in con.execute("PRAGMA table_info(TARGET_INFO_GPU)")]
    assert "uuid" not in columns and "busLocation" not in columns


def test_nsys_settings_of_the_machine_are_left_out(tmp_path):
    with gzip.open(TRACE) as packed, (tmp_path / "in.sqlite").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    with sqlite3.connect(tmp_path / "in.sqlite") as con:
        con.execute("CREATE TABLE SETTINGS_OF_THE_MACHINE (value TEXT)")
        con.execute("INSERT INTO SETTINGS_OF_THE_MACHINE VALUES ('secret-host')")
        con.execute("INSERT INTO StringIds VALUES (99999999, 'secret-host')")
        con.execute("UPDATE NVTX_EVENTS SET text = '/home/secret-host/x.py' WHERE text = 'lm_head'")
    removed = scrub(tmp_path / "in.sqlite", tmp_path / "out.sqlite")
    assert "table SETTINGS_OF_THE_MACHINE (1 rows)" in removed
    assert b"secret-host" not in (tmp_path / "out.sqlite").read_bytes()


def test_kineto(tmp_path):
    event = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1.0, "dur": 2.0, "pid": 0, "tid": 7, "args": {"device": 0}}
    said = {"ph": "X", "cat": "user_annotation", "name": "/home/me/x.py: f", "ts": 1.0, "dur": 2.0, "pid": 9, "tid": 9}
    document = {"schemaVersion": 1, "host_name": "box", "distributedInfo": {"rank": 1, "hosts": "box"},
                "traceEvents": [event, said], "traceName": "/home/me/t.json"}  # fmt: skip
    (tmp_path / "in.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    removed = scrub(tmp_path / "in.json.gz", tmp_path / "out.json.gz")
    kept = gzip.decompress((tmp_path / "out.json.gz").read_bytes()).decode()
    assert "box" not in kept and "/home/me" not in kept
    assert json.loads(kept)["traceEvents"][0] == event
    assert removed == ["metadata host_name", "metadata traceName", "metadata distributedInfo.hosts",
                       "paths, addresses or ids in 1 texts"]  # fmt: skip


def test_run_file(tmp_path):
    with create(tmp_path / "in.duckdb") as store:
        store.con.execute("INSERT INTO run VALUES ('source', '/home/me/x'), ('format', 'kineto-json')")
        store.con.execute("INSERT INTO manifest VALUES ('command', 'python x'), ('tracing_inflation', '1.1')")
        store.con.execute("INSERT INTO name VALUES (1, '/home/me/range'), (2, 'kernel')")
        store.con.execute("INSERT INTO process VALUES (5, 5, 0)")
    removed = scrub(tmp_path / "in.duckdb", tmp_path / "out.duckdb")
    store = open_run(tmp_path / "out.duckdb")
    assert store.rows("FROM manifest") == [("tracing_inflation", "1.1")]
    assert store.rows("FROM name ORDER BY 1") == [(1, "<path>/range"), (2, "kernel")]
    assert store.fact("source") is None and store.fact("format") == "kineto-json"
    store.close()
    assert "manifest command" in removed and "run source" in removed


def test_a_whole_run_reads_as_before(tmp_path):
    import_run(TRACE, tmp_path / "in.duckdb", Extras())
    scrub(tmp_path / "in.duckdb", tmp_path / "out.duckdb")
    before, after = (open_run(tmp_path / name) for name in ("in.duckdb", "out.duckdb"))
    for table in ("op", "api", "range", "graph_node", "device"):
        query = f"SELECT count(*), sum(hash({table})) FROM {table}"
        assert before.rows(query) == after.rows(query)
    before.close()
    after.close()


def test_an_existing_file_is_not_replaced(tmp_path):
    (tmp_path / "out.sqlite").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        scrub(TRACE, tmp_path / "out.sqlite")
    assert (tmp_path / "out.sqlite").read_text() == "mine"
