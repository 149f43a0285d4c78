"""Draft logs as CSV: what is read, and the line that is at fault."""

import pytest

from stepprof.analyses.speculation.draft_log import logged_records
from stepprof.profiler.errors import InputError


def test_columns_in_any_order(tmp_path):
    (tmp_path / "log.csv").write_text("kept,note,drafted,class,step_ms\n4,x,5,code,11.5\n1,,5,prose,10\n")
    found = logged_records(tmp_path / "log.csv")
    assert (found.kept.tolist(), found.drafted.tolist(), found.classes) == ([4, 1], [5, 5], ["code", "prose"])
    assert found.period_ns is not None and found.period_ns.tolist() == [11_500_000, 10_000_000]


def test_times_only_where_every_line_has_one(tmp_path):
    (tmp_path / "log.csv").write_text("drafted,kept,step_ms\n5,4,11.5\n5,1,\n")
    assert logged_records(tmp_path / "log.csv").period_ns is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column drafted and kept, it has nothing"),
        ("drafted,taken\n", "no column kept, it has drafted, taken"),
        ("drafted,kept\n", "holds no step"),
        ("drafted,kept\n5,4\n5,x\n", "line 3: invalid literal"),
        ("drafted,kept\n5\n", "line 2: invalid literal"),
        ("drafted,kept\n5,7\n", "line 2: kept 7 of 5 drafted is not possible"),
        ("drafted,kept,step_ms\n5,4,-1\n", "line 2: .* step_ms is not above 0"),
        ("drafted,kept,step_ms\n5,4,inf\n", "line 2: cannot convert"),
    ],
)
def test_faults_name_the_line(tmp_path, text, said):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        logged_records(tmp_path / "log.csv")


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        logged_records(tmp_path / "missing.csv")
    (tmp_path / "log.csv").write_bytes(b"drafted,kept\n\xff\xfe,1\n")
    with pytest.raises(InputError, match="is not CSV text"):
        logged_records(tmp_path / "log.csv")
