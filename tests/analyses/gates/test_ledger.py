"""The ledger: each line follows the one before, and whoever changes one is found out."""

import json
import resource

import pytest

from stepprof.analyses.gates.ledger import NOTHING, read_ledger, seal
from stepprof.profiler.errors import InputError, Refused


@pytest.fixture
def path(tmp_path):
    ledger = read_ledger(tmp_path / "new" / "ledger.jsonl", make=True)
    for n in range(3):
        ledger.append("launch", {"name": "g", "n": n})
    return ledger.path


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_lines_are_chained(path):
    ledger = read_ledger(path)
    assert [entry.body["n"] for entry in ledger.entries] == [0, 1, 2]
    assert [entry.prev for entry in ledger.entries] == [NOTHING, *(entry.hash for entry in ledger.entries[:2])]
    assert ledger.head == ledger.entries[2].hash
    for row in lines(path):
        assert row["hash"] == seal(row["prev"], row["time"], row["kind"], row["body"])


def test_a_changed_byte(path):
    path.write_bytes(path.read_bytes().replace(b'"n": 1', b'"n": 7'))
    with pytest.raises(Refused, match=r"line 2: was changed: its hash is not that of its text"):
        read_ledger(path)


def test_moved_lines(path):
    first, second, third = lines(path)
    write(path, [first, third, second])
    with pytest.raises(Refused, match=r"line 2: does not follow line 1: entries were moved or removed"):
        read_ledger(path)


def test_a_line_taken_out(path):
    first, _, third = lines(path)
    write(path, [first, third])
    with pytest.raises(Refused, match="line 2: does not follow line 1"):
        read_ledger(path)


def test_a_back_dated_line(path):
    """Sealed anew, so that the hashes are right: the time still gives it away."""
    rows = lines(path)
    row = rows[2] | {"time": rows[1]["time"] - 3600}
    rows[2] = row | {"hash": seal(row["prev"], row["time"], row["kind"], row["body"])}
    write(path, rows)
    with pytest.raises(Refused, match="line 3: is older than the line before: it was back-dated"):
        read_ledger(path)


def test_a_ledger_written_anew_or_cut_is_found_by_the_kept_head(path):
    kept = read_ledger(path).head
    read_ledger(path).check_head(kept)
    read_ledger(path).check_head(kept[:12])
    write(path, lines(path)[:2])
    with pytest.raises(Refused, match="entries were changed or cut off since it was kept"):
        read_ledger(path).check_head(kept)


@pytest.mark.parametrize("text", ["{}\n", "[]\n", "not json\n", '{"prev": 1}\n', "\n"])
def test_what_is_no_entry(path, text):
    with path.open("a") as file:
        file.write(text)
    with pytest.raises(Refused, match="line 4: is no entry of a ledger: it was changed"):
        read_ledger(path)


def test_an_unfinished_line_is_cut_off_at_the_next_append(path):
    with path.open("a") as file:
        file.write('{"prev": "ab')
    ledger = read_ledger(path)
    assert (len(ledger.entries), ledger.torn) == (3, 12)
    ledger.append("look", {"name": "g"})
    assert [entry.kind for entry in read_ledger(path).entries] == ["launch"] * 3 + ["look"]
    assert read_ledger(path).torn == 0


def test_a_full_disk_leaves_the_ledger_as_it_was(path):
    before, ledger = path.read_bytes(), read_ledger(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))  # the line begins to fit
    try:
        with pytest.raises(InputError, match=r"took no more \(File too large\), so nothing was noted: free space"):
            ledger.append("look", {"name": "g"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    ledger.append("look", {"name": "g"})
    assert len(read_ledger(path).entries) == 4


def test_two_who_append_do_not_overwrite_each_other(path):
    one, other = read_ledger(path), read_ledger(path)
    one.append("look", {"name": "one"})
    other.append("look", {"name": "other"})
    assert [entry.body.get("name") for entry in read_ledger(path).entries[3:]] == ["one", "other"]


def test_a_file_that_was_replaced_meanwhile(path):
    ledger = read_ledger(path)
    write(path, lines(path)[:1])
    with pytest.raises(Refused, match="was changed while it was in use"):
        ledger.append("look", {"name": "g"})


def test_a_ledger_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="register a gate first"):
        read_ledger(tmp_path / "none.jsonl")
