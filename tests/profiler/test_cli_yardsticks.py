"""stepprof yardsticks as a user or a script meets it."""

import json

import pytest
from typer.testing import CliRunner

from stepprof.profiler.cli import app
from stepprof.profiler.errors import UsageError
from tests.analyses.compare.test_yardsticks import POSTS, THEIRS, figure


@pytest.fixture
def file(tmp_path):
    theirs = figure("4x | RTX", "code", 703, "coding test", **THEIRS, note="<b>best</b> case")
    (tmp_path / "y.toml").write_text(POSTS + figure("GB300", "code", 476, "coding test") + theirs)
    return tmp_path / "y.toml"


def out(*words: object) -> str:
    done = CliRunner().invoke(app, ["yardsticks", *map(str, words)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_terminal(file):
    lines = [" ".join(line.split()) for line in out(file).splitlines()]
    assert "703 4x | RTX: coding test, code" in lines
    assert "quoted, by the author, published; <b>best</b> case" in lines
    at = lines.index("0.68× 4x | RTX, code")
    assert " ".join(lines[at + 1 : at + 3]) == "476 (measured, coding test) ÷ 703 (quoted, published, coding test)"


def test_document(file):
    found = json.loads(out(file, "--json"))
    assert found["figures"][1]["class"] == "code" and found["figures"][1]["by"] == "the author"
    assert found["ratios"][0]["low"] == pytest.approx(476 / 703)


def test_markdown_stays_in_its_cells(file):
    text = out(file, "--markdown")
    row = next(line for line in text.splitlines() if "703" in line)
    assert row == (
        "| 4x \\| RTX | coding test | code |  |  | 703 (&lt;b>best&lt;/b> case) | quoted | the author | published |"
    )
    with pytest.raises(UsageError):
        out(file, "--markdown", "--json")
