"""stepprof compare-outputs as a user or a script meets it."""

import json

from typer.testing import CliRunner

from stepprof.profiler.cli import app
from stepprof.profiler.commands.outputs import spelled
from stepprof.profiler.errors import CheckFailed, Refused, UsageError
from tests.analyses.compare.test_compared_outputs import posts, spread, write


def test_controls_may_stand_in_a_row():
    words = ["compare-outputs", "a", "b", "--controls", "c", "d", "--check"]
    assert spelled(words) == ["compare-outputs", "a", "b", "--controls", "c", "--controls", "d", "--check"]
    assert spelled(["compare-outputs", "a", "--controls"]) == ["compare-outputs", "a", "--controls"]
    assert spelled(["steps", "--controls", "c", "d"]) == ["steps", "--controls", "c", "d"]


def out(*words: object):
    return CliRunner().invoke(app, ["compare-outputs", *map(str, words)])


def test_check_passes_or_fails_with_its_code(tmp_path):
    a, b, c = posts(tmp_path, spread(2176))
    same = out(a, b, "--controls", c, "--check", "--json")
    found = json.loads(same.stdout)
    assert same.exit_code == 0 and found["regression"] is False and found["controls"][0]["flips"] == 2121
    a, b, c = posts(tmp_path, spread(4400))
    worse = out(a, b, "--controls", c, "--check", "--json")
    assert json.loads(worse.stdout)["regression"] is True
    assert isinstance(worse.exception, CheckFailed) and "4.400 %" in str(worse.exception)


def test_terminal(tmp_path):
    a, b, c = posts(tmp_path, spread(2176))
    text = out(a, b, "--controls", c).stdout
    assert "2.176 % = 2,176 of 100,000 positions" in text and "no regression" in text
    assert "p0 at 0: 1 became 2" in text


def test_check_needs_controls_and_more_than_one_prompt(tmp_path):
    a = write(tmp_path / "a", p=[1])
    assert isinstance(out(a, a, "--check").exception, UsageError)
    assert isinstance(out(a, a, "--controls", a, "--check").exception, Refused)
