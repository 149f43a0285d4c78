"""The account as tables: steps, ops with what they cost, gaps; exposed and gaps add up to the wall."""

from stepprof.analyses.account import add_account
from stepprof.analyses.attribution import attribute
from stepprof.profiler.store import Store
from tests.profiler.report.two_branches import FORMULA, HOSTILE, two_branches
from tests.real_runs import attributed, run_of


def made() -> Store:
    store = two_branches().store()
    add_account(store, attribute(store))
    return store


def test_ops_of_a_step():
    rows = made().rows(
        "SELECT name, device, lane, exposed_ns, waited_for, link FROM op_account WHERE step = 1 ORDER BY op_id"
    )
    assert rows == [
        ("a", 0, 0, 20, 4, "ordered"),
        (HOSTILE, 0, 0, 0, 5, "recorded"),
        (FORMULA, 0, 1, 30, 5, "recorded"),
        ("d", 1, 0, 8, 7, "recorded"),
        ("e", 0, 0, 16, 8, "recorded"),
    ]


def test_steps_and_gaps_add_up():
    store = made()
    assert store.rows("SELECT step, label, wall_ns, gpu_start_ns, gpu_end_ns, ops, usable FROM step") == [
        (0, "step/0", 100, 10, 90, 5, True),
        (1, "step/1", 100, 210, 290, 5, True),
    ]
    assert store.rows("SELECT class, end_ns - start_ns FROM gap WHERE step = 0 ORDER BY start_ns") == [
        ("host", 2),
        ("launch", 8),
        ("sidecar_wait", 2),
        ("sidecar_wait", 4),
        ("sync", 10),
    ]
    assert store.value("SELECT sum(exposed_ns) FROM op_account WHERE step = 0") == 100 - 26


def test_every_column_is_described():
    store = made()
    described = store.rows("""
        SELECT table_name, comment FROM duckdb_tables() WHERE temporary AND table_name IN ('step', 'op_account', 'gap')
        UNION ALL SELECT table_name || '.' || column_name, comment FROM duckdb_columns()
        WHERE table_name IN ('step', 'op_account', 'gap')
    """)
    assert len(described) == 3 + 12 + 16 + 4
    assert [name for name, comment in described if not comment] == []


def test_the_demo_capture_adds_up():
    store, found = run_of("h200x2_overlap.sqlite", edges=True), attributed("h200x2_overlap.sqlite", edges=True)
    add_account(store, found)
    exposed, gaps = (
        store.value(sql) for sql in ("SELECT sum(exposed_ns) FROM op_account", "SELECT sum(end_ns - start_ns) FROM gap")
    )
    assert (exposed + gaps, int(found.steps.wall.sum())) == (70_384_362, 70_384_362)
    for table in ("step", "op_account", "gap"):
        store.con.execute(f"DROP TABLE {table}")  # the run is shared by other tests
