"""Record files of the collector cut at every byte of their last record, whichever kind it is: all before stays."""

import duckdb
import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.cupti_records import load_records
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.ingest.record_file import HEAD, RecordFile
from stepprof.profiler.ingest.record_rows import END, ROWS, TEXT
from stepprof.profiler.store import SCHEMA, Store, open_run
from tests.profiler.ingest.record_bytes import KINDS, LAST_TEXTS, all_before, record, rows_of


def read(path) -> tuple[list[tuple[int, list]], bool, bool]:
    """Kind and rows of each record, then whether the file was cut and whether it ended in order."""
    records = RecordFile(path)
    found = [(kind, rows if kind == TEXT else list(map(bytes, rows))) for kind, rows in records]
    return found, records.cut, records.ended


def tables(path) -> dict[str, list]:
    """All rows of all tables that an import of the file fills, in any order."""
    store = Store(duckdb.connect(), path)
    store.con.execute("".join(line for line in SCHEMA.read_text().splitlines(True) if line[:7] != "COMMENT"))
    load_records(path, store)
    names = [name for (name,) in store.rows("SELECT table_name FROM duckdb_tables() WHERE NOT temporary")]
    found = {name: sorted(store.rows(f"FROM {name}"), key=repr) for name in names}
    store.close()
    return found


@pytest.fixture
def file(tmp_path):
    return tmp_path / "42.steprec"


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
def test_every_byte_of_the_last_record(file, kind):
    before, rows = all_before(kind), rows_of(kind)
    file.write_bytes(before)
    whole, cut, ended = read(file)
    assert [found for found, _ in whole] == [TEXT, *(k for k in ROWS if k not in (kind, END))]
    assert (cut, ended) == (False, False)
    last = record(kind, rows)
    ends = [HEAD.size + len(b"".join(rows[: i + 1])) for i in range(len(rows))]
    for size in range(1, len(last)):
        file.write_bytes(before + last[:size])
        found, cut, ended = read(file)
        kept = rows[: sum(end <= size for end in ends)]
        if kind == TEXT:
            kept = LAST_TEXTS[: len(kept)]
        assert found == whole + [(kind, kept)] * (size >= HEAD.size), size
        assert (cut, ended) == (True, False), size
    file.write_bytes(before + last)
    assert read(file)[1:] == (False, kind == END)


@pytest.mark.parametrize("kind", KINDS, ids=KINDS.get)
def test_an_import_has_everything_before_the_cut(file, kind):
    before, rows = all_before(kind), rows_of(kind)
    row = len(rows[0])
    for kept, sizes in ((0, (3, HEAD.size + row // 2)), (1, (HEAD.size + row + 1,))):
        if kept >= len(rows):
            continue  # the end has one row
        file.write_bytes(before + (record(kind, rows[:kept]) if kept else b""))
        expected = tables(file)
        for size in sizes:
            file.write_bytes(before + record(kind, rows)[:size])
            assert tables(file) == expected, size


def test_what_the_whole_file_holds(file):
    file.write_bytes(all_before(END) + record(END, rows_of(END)))
    found = tables(file)
    assert {name: len(rows) for name, rows in found.items() if rows and name not in ("run", "clock", "name")} == {
        "device": 2, "op": 4, "api": 2, "range": 1, "graph_node": 2, "graph_edge": 2,
        "event_record": 2, "event_wait": 2, "manifest": 3, "warning": 2,
    }  # fmt: skip
    assert [(code, count) for code, count, _ in found["warning"]] == [("edges_unread", 2), ("records_dropped", 7)]
    assert ("cupti_overhead_ns", "12") in found["manifest"]


@pytest.mark.parametrize("sizes", [(0,), (1, 31), (0, 8, 31)])
def test_a_file_cut_inside_its_header_is_counted_beside_others(tmp_path, sizes):
    folder = tmp_path / "records"
    folder.mkdir()
    whole = all_before(END) + record(END, rows_of(END))
    (folder / "5.steprec").write_bytes(whole)
    for size in sizes:
        (folder / f"{size}.steprec").write_bytes(whole[:size])

    import_run(folder, tmp_path / "run.duckdb", Extras())

    store = open_run(tmp_path / "run.duckdb")
    assert store.value("SELECT count(*) FROM op") == 4
    assert store.rows("SELECT count FROM warning WHERE code = 'record_file_cut'") == [(len(sizes),)]
    store.close()


@pytest.mark.parametrize("size", [8, 31])
def test_files_cut_inside_their_headers_alone_are_one_sentence(tmp_path, size):
    folder = tmp_path / "records"
    folder.mkdir()
    for name in ("1.steprec", "2.steprec"):
        (folder / name).write_bytes(all_before(END)[:size])
    for given in (folder, folder / "1.steprec"):
        with pytest.raises(InputError, match=r"1\.steprec ends inside its header: record the program again\.$"):
            import_run(given, tmp_path / "run.duckdb", Extras())
    assert not (tmp_path / "run.duckdb").exists()
