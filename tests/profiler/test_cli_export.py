"""stepprof export and query as a user meets them."""

import json
from pathlib import Path

from stepprof.profiler.demo import TRACE


def test_query_prints_rows_or_a_document(stepprof):
    sql = "SELECT count(*) AS n, 'a' AS text FROM op_account"
    assert stepprof("query", TRACE, sql) == (0, "n      text\n11024  a\n", "")
    code, out, _ = stepprof("query", TRACE, sql, "--json")
    assert (code, json.loads(out)) == (0, {"columns": ["n", "text"], "rows": [[11024, "a"]], "more": False})


def test_a_wrong_query_is_one_sentence(stepprof):
    code, out, err = stepprof("query", TRACE, "SELECT nope FROM op")
    assert (code, out) == (2, "")
    assert err.startswith('stepprof: the query failed: Binder Error: Referenced column "nope" not found')
    assert err.count("\n") == 1


def test_export_writes_the_chosen_steps_once(stepprof, tmp_path: Path):
    out = tmp_path / "two.csv"
    unknown = "tracing cost unknown (no untraced control on record): trust shares more than ms\n"
    done = stepprof("export", TRACE, "-o", out, "--format", "csv", "--steps", "0:2")
    assert done == (0, "", f"{out}: 2,756 ops\n{unknown}")
    assert len(out.read_text().splitlines()) == 1 + 2 * 1378
    assert stepprof("export", TRACE, "-o", out)[0] == 1
    assert stepprof("export", TRACE, "-o", out, "--force", "--step", 3)[0] == 0
    assert "traceEvents" in json.loads(out.read_text())
