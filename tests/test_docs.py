"""The documents are true: README's tree and commands, and the comments of schema.sql."""

import importlib.util
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from typer.main import get_command

from stepprof.profiler.cli import app
from tests.repository import ROOT, files

README = (ROOT / "README.md").read_text()


def tree_lines() -> list[tuple[str, str]]:
    """(path, description) of each line in README's block under "The tree"."""
    block = re.search(r"^## The tree\n.*?^```\w*\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert block, "README.md has no fenced block under '## The tree'"
    pairs = [line.split(maxsplit=1) for line in block[1].splitlines() if line.strip()]
    return [(pair[0], " ".join(pair[1:])) for pair in pairs]


def commands(name: str, command: Any) -> Iterator[tuple[str, str | None]]:
    """(full name, help) of every command below a group, groups included."""
    for part, child in getattr(command, "commands", {}).items():
        yield f"{name} {part}", child.help
        yield from commands(f"{name} {part}", child)


COMMANDS = dict(commands("stepprof", get_command(app)))


def test_tree_lists_the_tracked_files():
    listed, tracked = [path for path, _ in tree_lines()], files()
    assert {
        "not listed": sorted(set(tracked) - set(listed)),
        "not there": sorted(set(listed) - set(tracked)),
        "twice": sorted({path for path in listed if listed.count(path) > 1}),
    } == {"not listed": [], "not there": [], "twice": []}


def test_tree_describes_every_file():
    assert [path for path, description in tree_lines() if not description] == []


def test_there_are_commands():
    assert "stepprof import" in COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_command_has_help_and_is_in_readme(command: str):
    assert COMMANDS[command]
    assert re.search(rf"{command}\b", README), f"README.md does not name `{command}`"


def test_the_table_reference_is_what_the_sql_files_say():
    spec = importlib.util.spec_from_file_location("table_reference", ROOT / "docs/table_reference.py")
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert (ROOT / "docs/tables.md").read_text() == made.reference(), "run make tables"


def test_every_table_and_column_is_described():
    con = duckdb.connect()
    con.execute((ROOT / "profiler/schema.sql").read_text())
    described = con.execute("""
        SELECT table_name, comment FROM duckdb_tables()
        UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal
        UNION ALL SELECT table_name || '.' || column_name, comment FROM duckdb_columns() WHERE NOT internal
    """).fetchall()
    assert described and [name for name, comment in described if not comment] == []
