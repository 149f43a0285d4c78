"""A scrubbed run file holds none of the bytes that it says are gone, and answers as before."""

import json
import os
from pathlib import Path

import duckdb
import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.profiler.demo import EDGES, TRACE
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.scrub import scrub
from stepprof.profiler.store import create, open_run

SECRETS = {"command": "hunter2-command", "git_revision": "f00dfeed", "launch": "cafe0123", "run": "beef4567",
           "audit": "audited-box", "file_hashes": "deadbeef", "environment": "SALTED", "later_entry": "unheard-of"}  # fmt: skip
BIG = 1_795_992_601_000_000_000  # a time of day, ns


def read(path):
    """Every text of a run file."""
    con = duckdb.connect(str(path), read_only=True)
    columns = con.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal AND data_type LIKE 'VARCHAR%'"
    )
    texts = [
        con.execute(f'SELECT "{column}"::VARCHAR FROM "{table}"').fetchall() for table, column in columns.fetchall()
    ]
    con.close()
    return " ".join(str(text) for rows in texts for (text,) in rows)


def scrubbed(tmp_path):
    return scrub(tmp_path / "in.duckdb", tmp_path / "out.duckdb"), open_run(tmp_path / "out.duckdb")


def test_what_is_removed_never_enters_the_file(tmp_path):
    with create(tmp_path / "in.duckdb") as store:
        store.con.executemany("INSERT INTO manifest VALUES (?, ?)", list(map(list, SECRETS.items())))
        store.con.execute(
            "INSERT INTO manifest VALUES ('tracing_inflation', '1.1'), ('arm', 'base'), ('window', 'steps 1:2')"
        )
        store.con.execute("INSERT INTO run VALUES ('source', 'private-name.sqlite'), ('source_hash', '0badc0de')")
        store.con.execute("INSERT INTO run VALUES ('format', 'kineto-json'), ('labels_from', 'other-name.sqlite')")
        store.con.execute("INSERT INTO warning VALUES ('w', 1, 'Changes in private-name.sqlite were not read.')")
        store.con.execute("INSERT INTO device BY NAME SELECT 0 AS device, 'GPU' AS name, 'uuid 5eed' AS identity")
        store.con.execute(f"INSERT INTO clock VALUES (0, {BIG}, 'realtime')")
    removed, store = scrubbed(tmp_path)
    assert store.rows("FROM manifest ORDER BY key") == [
        ("arm", "base"), ("tracing_inflation", "1.1"), ("window", "steps 1:2"),
    ]  # fmt: skip
    assert store.rows("FROM run ORDER BY key") == [("format", "kineto-json"), ("schema_version", "3")]
    assert store.rows("SELECT text FROM warning") == [("Changes in <name> were not read.",)]
    assert store.rows("FROM clock") == [(0, None, "realtime")]
    store.close()
    for path, there in ((tmp_path / "in.duckdb", True), (tmp_path / "out.duckdb", False)):
        content, texts = path.read_bytes(), read(path)
        for secret in (*SECRETS.values(), "private-name", "other-name", "0badc0de", "5eed"):
            assert (secret in texts, secret.encode() in content) == (there, there), secret
    assert {"manifest command", "manifest later_entry", "run source", "run source_hash"} <= set(removed)


def test_every_column_of_texts_is_cleaned(tmp_path):
    """Whatever table.sql gains: a text in it is cleaned."""
    values = {"VARCHAR": "'see /home/alice/x'", "VARCHAR[]": "['see /home/alice/x', 'step/1']", "BOOLEAN": "true",
              "INTEGER[]": "[1]"}  # fmt: skip
    with create(tmp_path / "in.duckdb") as store:
        found = store.rows(
            "SELECT table_name, list(data_type ORDER BY column_index) FROM duckdb_columns() WHERE NOT internal GROUP BY 1"
        )
        for table, types in found:
            cells = [values.get(kind, "'kernel'" if kind.startswith("ENUM") else "1") for kind in types]
            store.con.execute(f'INSERT INTO "{table}" VALUES ({", ".join(cells)})')
        store.con.execute("UPDATE run SET key = 'tool_version' WHERE key LIKE 'see%'")
        store.con.execute("UPDATE manifest SET key = 'window'")
    _, store = scrubbed(tmp_path)
    assert store.rows("FROM carried_label") == [(1, ["see <path>", "step/1"])]
    assert store.value("SELECT payload FROM range") == "see <path>"
    assert all(store.value(f'SELECT count(*) FROM "{table}"') for table, _ in found)
    store.close()
    assert "alice" in read(tmp_path / "in.duckdb") and "alice" not in read(tmp_path / "out.duckdb")


def test_processes_and_threads_are_numbered_in_order(tmp_path):
    with create(tmp_path / "in.duckdb") as store:
        store.con.execute("INSERT INTO name VALUES (1, 'k')")
        store.con.execute("INSERT INTO process VALUES (7001, 7001, 0), (9402, 9402, 0)")
        for process in (9402, 7001):
            store.con.execute("INSERT INTO api VALUES (?, ?, 5, 100, 110, 1, 0)", [process, process + 300])
            store.con.execute(
                "INSERT INTO op BY NAME SELECT ? AS op_id, 'kernel' AS activity, ? AS process, 0 AS device, 7 AS stream, "
                "5 AS correlation, 120 AS start_ns, 130 AS end_ns, 1 AS name_id", [process, process]
            )  # fmt: skip
        store.con.execute("INSERT INTO range VALUES (1, 9402, 9702, 8888, 90, 140, 1, NULL, NULL, NULL, true, false)")
        store.con.execute("INSERT INTO graph_node VALUES (7001, 3, NULL, 7301, 100)")
        store.con.execute(
            "INSERT INTO graph_edge VALUES (NULL, 3, 4, 'full', 'recorded', 1), (7001, 3, 4, 'full', 'order', 1)"
        )
    removed, store = scrubbed(tmp_path)
    assert store.rows("SELECT process, pid FROM process ORDER BY 1") == [(1, None), (2, None)]
    assert store.rows("SELECT process, thread FROM api ORDER BY 1") == [(1, 1), (2, 3)]  # 7301, 8888, 9702
    assert store.rows("SELECT process, count(*) FROM op JOIN api USING (process, correlation) GROUP BY 1 ORDER BY 1") == [
        (1, 1), (2, 1),
    ]  # fmt: skip
    assert store.rows("SELECT process, thread, end_thread, start_ns, end_ns FROM range") == [(2, 3, 2, 0, 50)]
    assert store.rows("SELECT process, thread, start_ns FROM graph_node") == [(1, 1, 10)]
    assert sorted(store.rows("SELECT process FROM graph_edge"), key=str) == [(1,), (None,)]
    assert "process and thread ids (numbered anew)" in removed
    store.close()


def test_a_thread_that_stands_in_for_a_stream(tmp_path):
    with create(tmp_path / "in.duckdb") as store:
        store.con.execute("INSERT INTO warning VALUES ('cpu_stand_in', 1, 'No GPU was used.')")
        store.con.execute("INSERT INTO api VALUES (7001, 7301, 5, 100, 110, 1, 0)")
        store.con.execute(
            "INSERT INTO op BY NAME SELECT 1 AS op_id, 'kernel' AS activity, 7001 AS process, 0 AS device, 7301 AS stream, "
            "5 AS correlation, 100 AS start_ns, 110 AS end_ns, 1 AS name_id"
        )
    _, store = scrubbed(tmp_path)
    assert store.rows("SELECT process, stream FROM op") == [(1, 1)]
    store.close()


def test_times_count_from_the_first(tmp_path):
    """Records of a capture, and samples, carry the time of day: base time 0, realtime ns."""
    with create(tmp_path / "in.duckdb") as store:
        store.con.execute("INSERT INTO clock VALUES (0, 0, 'realtime')")
        store.con.execute(
            f"INSERT INTO range VALUES (1, 5, 5, NULL, {BIG}, {BIG + 40}, 1, NULL, NULL, NULL, true, false)"
        )
        store.con.execute(
            f"INSERT INTO counter VALUES ({BIG - 10}, 0, 'power_w', 300), ({BIG + 30}, 0, 'power_w', 310)"
        )
        store.con.execute(f"INSERT INTO resident_call VALUES (0, 1, 2, {BIG + 5}, NULL, {BIG + 9}, 3)")
    _, store = scrubbed(tmp_path)
    assert store.rows("SELECT start_ns, end_ns FROM range") == [(0, 40)]
    assert store.rows("SELECT time_ns FROM counter ORDER BY 1") == [(-10,), (30,)]
    assert store.rows("SELECT seen_ns, gated_ns, answered_ns FROM resident_call") == [(5, None, 9)]
    store.close()


def test_samples_on_the_wall_clock_beside_a_clock_of_its_own(tmp_path):
    with create(tmp_path / "in.duckdb") as store:
        store.con.execute(f"INSERT INTO clock VALUES (0, {BIG}, 'session_start')")
        store.con.execute("INSERT INTO range VALUES (1, 5, 5, NULL, 1000, 1040, 1, NULL, NULL, NULL, true, false)")
        store.con.execute(f"INSERT INTO counter VALUES ({BIG + 1010}, 0, 'power_w', 300)")
    _, store = scrubbed(tmp_path)
    assert store.rows("SELECT time_ns FROM counter") == [(10,)]
    store.close()


def test_only_a_plain_arm_stays(tmp_path):
    for number, (arm, kept) in enumerate([("base", True), ("k=3 /home/alice", False), ("a@b.com", False)]):
        with create(tmp_path / f"{number}.duckdb") as store:
            store.con.execute("INSERT INTO manifest VALUES ('arm', ?)", [arm])
        removed = scrub(tmp_path / f"{number}.duckdb", tmp_path / f"{number}.out.duckdb")
        assert ("manifest arm" not in removed) == kept


def test_a_run_file_that_lacks_a_newer_column(tmp_path):
    with create(tmp_path / "in.duckdb") as store:
        store.con.execute("ALTER TABLE call_fact DROP COLUMN expert_numbers")
        store.con.execute("INSERT INTO call_fact VALUES (3, 7, 2, 3, false)")
    _, store = scrubbed(tmp_path)
    assert store.rows("FROM call_fact") == [(3, 7, 2, 3, False, None)]
    store.close()


def test_a_whole_run_answers_as_before(tmp_path):
    import_run(TRACE, tmp_path / "in.duckdb", Extras(edges=EDGES))
    _, after = scrubbed(tmp_path)
    before = open_run(tmp_path / "in.duckdb")
    first = before.value("SELECT min(start_ns) FROM api")
    for table, shifted in (("op", "start_ns, end_ns"), ("api", "start_ns, end_ns"), ("range", "start_ns, end_ns")):
        others = [c for (c,) in before.rows("SELECT column_name FROM duckdb_columns() WHERE table_name = ?", table)]
        same = ", ".join(c for c in others if c not in (*shifted.split(", "), "process", "thread", "end_thread"))
        query = f"SELECT count(*), sum(hash({same}, start_ns - ?, end_ns - ?)) FROM {table}"
        assert before.rows(query, first, first) == after.rows(query, 0, 0)
    assert after.rows("SELECT DISTINCT process FROM op UNION FROM (SELECT thread FROM range)") == [(1,)]
    answers = [breakdown(attribute(store)) for store in (before, after)]
    assert str(answers[0]) == str(answers[1])
    before.close()
    after.close()


@pytest.mark.parametrize("change", [
    "ALTER TABLE op ADD COLUMN extra INTEGER", "ALTER TABLE counter ADD COLUMN extra INTEGER",
    "ALTER TABLE range RENAME COLUMN end_ns TO ended", "ALTER TABLE manifest RENAME COLUMN value TO meaning", "DROP TABLE clock",
])  # fmt: skip
def test_other_columns_than_those_of_a_run_file_are_one_sentence(stepprof, change):
    with create(Path("in.duckdb")) as store:
        store.con.execute(change)
    done = stepprof("scrub", "in.duckdb", "-o", "out.duckdb")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith("stepprof: in.duckdb is damaged (")
    assert done.stderr.endswith("): import the trace again.\n")
    assert os.listdir() == ["in.duckdb"]


def test_values_that_nothing_can_mean_are_one_sentence(stepprof):
    with create(Path("in.duckdb")) as store:
        store.con.execute(
            "INSERT INTO range VALUES (1, 5, 5, NULL, ?, ?, 1, NULL, NULL, NULL, true, false)",
            [-(1 << 62), (1 << 62) + 9],
        )
    done = stepprof("scrub", "in.duckdb", "-o", "out.duckdb")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("stepprof: in.duckdb is damaged")
    assert sorted(os.listdir()) == ["in.duckdb"] and json.dumps(done.stdout) == '""'
