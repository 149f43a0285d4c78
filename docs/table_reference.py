"""Rewrite docs/tables.md from the comments of schema.sql and account.sql: `make tables`."""

from __future__ import annotations

from pathlib import Path

import duckdb

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tables.md"
PARTS = {
    "profiler/schema.sql": "In every run file. Times are integer nanoseconds on the clock of the row's process.",
    "analyses/account.sql": "Made by `stepprof query` and `stepprof export` from the run: its steps, accounted for.",
}
HEAD = """# Tables

Written from the comments of the SQL files by `make tables`; a test keeps it true. Ask them with
`stepprof query TRACE "SELECT …"`.
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for source, about in PARTS.items():
        con = duckdb.connect()
        con.execute((ROOT / source).read_text())
        parts += [f"## {source}\n\n{about}\n", *(_table(con, name, comment) for name, comment in _tables(con))]
    return "\n".join(parts)


def _tables(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    return con.execute("SELECT table_name, comment FROM duckdb_tables() ORDER BY table_oid").fetchall()


def _table(con: duckdb.DuckDBPyConnection, name: str, comment: str) -> str:
    columns = con.execute(
        "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index",
        [name],
    ).fetchall()
    lines = [f"### {name}\n\n{comment}\n", "| column | type | what it is |", "|---|---|---|"]
    for column, kind, nullable, what in columns:
        type_ = ("activity" if kind.startswith("ENUM") else kind) + ("" if nullable else ", never NULL")
        lines.append(f"| `{column}` | {type_} | {what.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
