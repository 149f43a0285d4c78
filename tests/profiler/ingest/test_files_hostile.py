"""What is no trace, or hides one: gzip damaged or endless, other formats, pipes, links, devices, names; no hang, no leftover."""

import gzip
import os
import resource
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from stepprof.profiler.store import SCHEMA_VERSION
from tests.profiler.ingest.commands import Stepprof
from tests.profiler.ingest.six_steps import WALL, six_steps

GIB = 1 << 30
READ = "give an nsys export (.sqlite, .sqlite.gz, a parquetdir folder) or report (.nsys-rep), a torch.profiler trace"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return six_steps().write(tmp_path_factory.mktemp("plain") / "trace.sqlite").read_bytes()


def packed(content: bytes, flip_crc: bool = False) -> bytes:
    data = bytearray(gzip.compress(content))
    data[-8] ^= flip_crc
    return bytes(data)


DAMAGED = "is a damaged gzip file ("
GZIPS = {
    "cut at the header": (lambda b: packed(b)[:5], DAMAGED),
    "cut in the middle": (lambda b: packed(b)[: len(packed(b)) // 2], DAMAGED),
    "cut in the checksum": (lambda b: packed(b)[:-4], DAMAGED),
    "wrong checksum": (lambda b: packed(b, flip_crc=True), DAMAGED),
    "noise inside": (lambda b: packed(b)[:500] + b"\xff" * 200 + packed(b)[700:], DAMAGED),
    "noise behind": (lambda b: packed(b) + b"noise", DAMAGED),
    "the magic only": (lambda b: b"\x1f\x8b", DAMAGED),
    "no method": (lambda b: b"\x1f\x8b\x07" + packed(b)[3:], DAMAGED),
    "nothing inside": (lambda b: gzip.compress(b""), "is empty: give"),
    "gzip within gzip": (lambda b: packed(packed(b)), "is gzip within gzip: unpack it once."),
    "zlib, not gzip": (zlib.compress, "is not a trace that stepprof reads: give"),
    "half a database": (lambda b: packed(b[: len(b) // 2]), "is cut off ("),
}


@pytest.mark.parametrize("case", GZIPS)
def test_a_gzip_file_is_refused(case: str, plain: bytes, tmp_path: Path, stepprof: Stepprof):
    pack, sentence = GZIPS[case]
    (tmp_path / "trace.sqlite.gz").write_bytes(pack(plain))

    answer = stepprof("breakdown", tmp_path / "trace.sqlite.gz")

    assert answer.code == 1
    assert answer.err.startswith(f"stepprof: {tmp_path}/trace.sqlite.gz {sentence}")


GOOD = {
    "zeros behind": lambda b: packed(b) + bytes(512),
    "two members": lambda b: packed(b[:10_000]) + packed(b[10_000:]),
    "an empty member first": lambda b: packed(b"") + packed(b),
    "a second database behind": lambda b: packed(b) + packed(b),
}


@pytest.mark.parametrize("case", GOOD)
def test_a_gzip_file_is_read(case: str, plain: bytes, tmp_path: Path, stepprof: Stepprof):
    (tmp_path / "trace").write_bytes(GOOD[case](plain))
    assert stepprof("breakdown", tmp_path / "trace", "--json").document["totals"]["wall_ns"] == WALL


def bomb(path: Path, head: bytes) -> Path:
    """A gzip file of about 1 MB that unpacks to `head` and 1 GiB of zeros."""
    block = gzip.compress(bytes(1 << 24), 9)
    path.write_bytes(gzip.compress(head) + block * (GIB >> 24))
    return path


@pytest.mark.parametrize("kind", ["zeros", "database"])
def test_a_gibibyte_of_zeros(kind: str, plain: bytes, tmp_path: Path):
    path = bomb(tmp_path / "bomb.gz", plain if kind == "database" else b"")
    code = "from stepprof.profiler.cli import main; main()"
    (tmp_path / "tmp").mkdir()
    env = os.environ | {"STEPPROF_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}

    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, "steps", str(path)], env=env, capture_output=True, text=True, check=False
    )

    assert time.monotonic() - started < 60
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 << 20  # KiB
    assert done.returncode == (0 if kind == "database" else 1), done.stderr
    assert os.listdir(tmp_path / "tmp") == []


def test_no_more_is_unpacked_than_there_is_room_for(
    plain: bytes, tmp_path: Path, stepprof: Stepprof, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2_000_000))

    answer = stepprof("steps", bomb(tmp_path / "trace.sqlite.gz", plain))

    assert (answer.code, answer.err) == (
        1,
        f"stepprof: {tmp_path}/trace.sqlite.gz unpacks to more than 0.0 GB, which is what {stepprof.temporary} "
        "has room for: free space there or name another folder in TMPDIR.\n",
    )


OTHERS = {
    "empty": (b"", f"is empty: {READ}"),
    "blanks": (b" \n" * 50, f"is empty: {READ}"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(100), f"is not a trace that stepprof reads: {READ}"),
    "text": (b"hello", f"is not a trace that stepprof reads: {READ}"),
    "web page": (b"<!DOCTYPE html><html>", f"is a web page: {READ}"),
    "zip": (b"PK\x03\x04" + bytes(100), "is a zip archive: unpack it first."),
    "tar": (b"trace.sqlite".ljust(257, b"\0") + b"ustar\x0000" + bytes(300), "is a tar archive: unpack it first."),
    "gzipped tar": (gzip.compress(bytes(257) + b"ustar" + bytes(300)), "is a tar archive: unpack it first."),
    "zeros": (bytes(5000), f"is not a trace that stepprof reads: {READ}"),
    "run file cut": (b"12345678DUCK" + bytes(100), "is not a readable run file ("),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_formats_are_named(case: str, tmp_path: Path, stepprof: Stepprof):
    content, sentence = OTHERS[case]
    (tmp_path / "x").write_bytes(content)

    answer = stepprof("breakdown", tmp_path / "x")

    assert answer.code == 1
    assert answer.err.startswith(f"stepprof: {tmp_path}/x {sentence}")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def to_a_loop_of_folders(path: Path) -> None:
    path.mkdir()
    (path / "again").symlink_to(path)


SPECIAL = {
    fifo: "is not a regular file",
    loop: "cannot be read (Too many levels of symbolic links): check the path.",
    dangling: "cannot be read (No such file or directory): check the path.",
    to_a_device: "is not a regular file",
    to_a_loop_of_folders: "is a folder without parquet files",
}


@pytest.mark.parametrize("make", SPECIAL, ids=lambda make: make.__name__)
@pytest.mark.parametrize("command", ["steps", "import"])
def test_what_is_no_regular_file(make, command: str, tmp_path: Path, stepprof: Stepprof):
    make(tmp_path / "x")
    words = ["-o", stepprof.cache / "run.duckdb"] if command == "import" else []

    answer = stepprof(command, tmp_path / "x", *words)

    assert answer.code == 1
    assert answer.err.startswith(f"stepprof: {tmp_path}/x {SPECIAL[make]}")


@pytest.mark.parametrize("option", ["--edges", "--facts", "--costs"])
@pytest.mark.parametrize("make", [fifo, to_a_device], ids=lambda make: make.__name__)
def test_side_files_are_regular_too(make, option: str, plain: bytes, tmp_path: Path, stepprof: Stepprof):
    (tmp_path / "trace.sqlite").write_bytes(plain)
    make(tmp_path / "side")

    answer = stepprof("import", tmp_path / "trace.sqlite", "-o", stepprof.cache / "r.duckdb", option, tmp_path / "side")

    assert (answer.code, answer.err) == (1, f"stepprof: {tmp_path}/side is not a regular file: give a file.\n")


def test_rules_are_a_regular_file(plain: bytes, tmp_path: Path, stepprof: Stepprof):
    (tmp_path / "trace.sqlite").write_bytes(plain)
    fifo(tmp_path / "rules.toml")
    answer = stepprof("steps", tmp_path / "trace.sqlite", "--rules", tmp_path / "rules.toml")
    assert (answer.code, "rules.toml: is not a regular file" in answer.err) == (1, True)


def test_edges_that_unpack_without_end(plain: bytes, tmp_path: Path, stepprof: Stepprof):
    (tmp_path / "trace.sqlite").write_bytes(plain)
    edges = bomb(tmp_path / "edges.gz", b"E 1 1 2\n")
    answer = stepprof("import", tmp_path / "trace.sqlite", "-o", stepprof.cache / "r.duckdb", "--edges", edges)
    assert (answer.code, "edges.gz holds more than 256 MiB" in answer.err) == (1, True)


def test_a_device_is_never_replaced(plain: bytes, tmp_path: Path, stepprof: Stepprof):
    (tmp_path / "trace.sqlite").write_bytes(plain)
    answer = stepprof("import", tmp_path / "trace.sqlite", "-o", "/dev/null", "--force")
    assert (answer.code, answer.err) == (
        1,
        "stepprof: /dev/null cannot be written (it is no regular file): choose another -o.\n",
    )
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    "name", [b"line\nbreak.sqlite", b"no utf-8 \xff\xfe.sqlite", b"\x1b[2Jescape", b"x" * 250, b"*?[a]", b"$(id)`id`"]
)
def test_an_odd_name_is_only_a_name(name: bytes, plain: bytes, tmp_path: Path, stepprof: Stepprof):
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(plain)

    assert stepprof("breakdown", path, "--json").document["totals"]["wall_ns"] == WALL
    text = stepprof("steps", path)
    assert text.code == 0 and "\x1b" not in text.out
    path.write_bytes(b"no trace")
    refused = stepprof("steps", path)
    assert refused.code == 1 and "\x1b" not in refused.err


def test_a_name_too_long_for_the_system(tmp_path: Path, stepprof: Stepprof):
    answer = stepprof("steps", tmp_path / ("x" * 300))
    assert (answer.code, "cannot be read (File name too long)" in answer.err) == (1, True)


def test_a_damaged_run_file_is_one_sentence(plain: bytes, tmp_path: Path, stepprof: Stepprof):
    (tmp_path / "trace.sqlite").write_bytes(plain)
    stepprof("breakdown", tmp_path / "trace.sqlite")
    content = bytearray(next(stepprof.cache.iterdir()).read_bytes())
    for at in range(3 * 4096 + 100, len(content), 4096):  # behind the headers
        content[at] ^= 0xFF
    (tmp_path / "run.duckdb").write_bytes(content)

    answer = stepprof("steps", tmp_path / "run.duckdb")

    assert answer.code == 1
    assert "run.duckdb is damaged (" in answer.err or "run.duckdb is not a readable run file (" in answer.err
    assert answer.err.endswith("import the trace again.\n")


def test_a_database_that_is_no_run_is_one_sentence(tmp_path: Path, stepprof: Stepprof):
    with duckdb.connect(str(tmp_path / "x.duckdb")) as con:
        con.execute("CREATE TABLE run AS SELECT 'schema_version' AS key, ? AS value", [str(SCHEMA_VERSION)])
    answer = stepprof("steps", tmp_path / "x.duckdb")
    assert (answer.code, "x.duckdb is damaged (Catalog Error: " in answer.err) == (1, True)
