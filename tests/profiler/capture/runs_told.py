"""What a run file and standard error of a capture say, for tests of the command."""

import sys

import duckdb

STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]


def warnings(path) -> dict[str, str]:
    with duckdb.connect(str(path), read_only=True) as con:
        return dict(con.execute("SELECT code, text FROM warning").fetchall())


def manifest(path) -> dict[str, str]:
    with duckdb.connect(str(path), read_only=True) as con:
        return dict(con.execute("FROM manifest").fetchall())


def one_sentence(done) -> str:
    """The last line of standard error, which must be the only one that tells a fault."""
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("stepprof: ")]
    assert lines and lines[-1].endswith("."), done.stderr
    return lines[-1]
