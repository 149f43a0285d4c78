"""stepprof speculate as a user or a script meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stepprof.profiler.cli import app
from stepprof.profiler.demo import TRACE
from stepprof.profiler.errors import StepprofError, UsageError


def out(*words: object) -> str:
    done = CliRunner().invoke(app, ["speculate", *map(str, words)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


POSTS = ("--kept", "5.27", "--step-ms", "11.07", "--k", "5", "--row-ms", "0.335")


def test_document():
    found = json.loads(out(*POSTS, "--to", "3,7", "--block", "5", "--json"))
    lane = found["lanes"][0]
    assert lane["class"] is None and lane["tokens_per_s"]["kind"] == "quoted"
    three, seven = lane["forecasts"]
    assert three["tokens_per_s"]["value"] == pytest.approx(355.6, abs=0.05)
    assert seven["kept"]["value"] is None and seven["beyond_block"]
    assert [w["code"] for w in found["warnings"]] == ["constant_acceptance", "beyond_block"]


def test_terminal():
    text = out(*POSTS, "--to", "3,7", "--block", "5", "--rate", "703", "--table", "9,8,7.5")
    assert "kept 5.270 a step (quoted) ÷ 11.070 ms (quoted) = 476.1 tokens/s (quoted)" in text
    assert "5.270 … 6.682" in text and "355.6" in text
    assert "! beyond the block the draft was trained for: an extrapolation" in text
    assert "703 tokens/s take a step of 7.496 ms with the same kept tokens" in text
    assert [line.split() for line in text.splitlines() if line.startswith("    8.00")] == [["8.00", "658.8"]]
    assert max(len(line) for line in text.splitlines() if not line.startswith("warning")) <= 80


def test_a_log_and_a_trace_without_facts(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path))
    rows = "".join(f"{k},{kept},code,{9 + k}\n" for k, kept in [(2, 3), (1, 2)] * 8)
    (tmp_path / "log.csv").write_text("drafted,kept,class,step_ms\n" + rows)
    text = out("--draft", tmp_path / "log.csv")
    assert "draft row   1.000 (1.000 … 1.000) ms each, measured" in text and "code" in text
    assert "÷ 8.821 ms (measured)" in out(TRACE, "--kept", 3, "--k", 3)
    with pytest.raises(StepprofError, match="import it with --facts"):
        out(TRACE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give a TRACE with facts"),
        (("x.duckdb", "--draft", "y.csv"), "exclude each other"),
        (("--kept", "nan", "--k", "1"), "must be above 0"),
        (("--kept", "1", "--k", "1", "--to", "1.5"), "whole numbers"),
        (("--kept", "1", "--k", "1", "--to", "a"), "numbers with commas"),
        (("--kept", "1", "--k", "1", "--table", "0"), "above 0"),
    ],
)
def test_usage(words, said):
    with pytest.raises(UsageError, match=said):
        out(*words)


def test_a_real_capture_with_facts(tmp_path: Path):
    lines = [{"step": n, "drafted": 3, "kept": 1 + n % 4, "batch": 1, "class": "code"} for n in range(8)]
    (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    run = tmp_path / "run.duckdb"
    CliRunner().invoke(app, ["import", str(TRACE), "-o", str(run), "--facts", str(tmp_path / "facts.jsonl")])
    found = json.loads(out(run, "--json"))
    steps = json.loads(CliRunner().invoke(app, ["steps", str(run), "--json"]).stdout)["steps"]
    lane = found["lanes"][0]
    # the last of the eight steps has no period: kept 1 2 3 4 1 2 3 of the others
    assert (lane["steps"], lane["kept"]["value"], lane["k"]) == (7, pytest.approx(16 / 7), 3)
    assert lane["acceptance"] == [pytest.approx(5 / 7), pytest.approx(3 / 7), pytest.approx(1 / 7)]
    spent = sum(step["period_ns"] for step in steps[:-1])
    assert lane["tokens_per_s"] == {"value": pytest.approx(16e9 / spent), "kind": "measured", "low": None, "high": None}
    assert found["left_out"] == {"no period: last, incomplete, warm-up, or the next step is not on record": 1}
    assert found["row_ms"] is None and "drafted equally many" in found["row_ms_reason"]
