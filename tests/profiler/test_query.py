"""stepprof query: SQL on a run and its account, on a connection that reaches no file."""

from pathlib import Path

import pytest

from stepprof.analyses.account import add_account
from stepprof.analyses.attribution import attribute
from stepprof.profiler.errors import UsageError
from stepprof.profiler.query import Answer, ask, wants_account
from stepprof.profiler.report.document import answer_csv
from tests.profiler.report.two_branches import FORMULA, two_branches


def test_rows_come_as_plain_values():
    store = two_branches().store()
    add_account(store, attribute(store))
    sql = "SELECT step, sum(exposed_ns) AS exposed, list(name ORDER BY op_id)[3] AS third FROM op_account GROUP BY step ORDER BY 1"
    assert ask(store, sql) == Answer(["step", "exposed", "third"], [[0, 74, FORMULA], [1, 74, FORMULA]], more=False)
    assert ask(store, sql, limit=1).more
    assert ask(store, "SELECT 'nan'::DOUBLE, 1.5::DECIMAL(3,1), DATE '2026-01-02', NULL, {'a': [1]}").rows == [
        [None, 1.5, "2026-01-02", None, {"a": [1]}]
    ]
    assert ask(store, "").rows == []


def test_only_statements_that_name_them_need_the_account():
    assert wants_account("select * from STEP") and wants_account("select 1 from op_account, op")
    assert not wants_account("select count(*) from op, step_fact")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/other.db'",
        "EXPORT DATABASE '{folder}/all'",
        "INSTALL httpfs",
        "LOAD sqlite",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA profiling_output = '{folder}/profile.json'",
        "SELECT * FROM secret_frame",
        "SELEC 1",
    ],
)
def test_no_statement_reaches_a_file(tmp_path: Path, sql: str):
    secret_frame = __import__("pandas").DataFrame({"key": ["secret"]})
    assert len(secret_frame) == 1
    (tmp_path / "secret.csv").write_text("key\nsecret\n")
    store = two_branches().store()
    with pytest.raises(UsageError, match="the query failed: "):
        ask(store, sql.format(file=tmp_path / "secret.csv", folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_a_csv_cell_is_no_formula():
    assert answer_csv(Answer(["=a", "n"], [[FORMULA, -1]], more=False)) == f"'=a,n\n'{FORMULA},-1\n"
