"""stepprof bench from end to end on the CPU: run, judged, drawn; and files from before with `bench show`."""

import argparse
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from stepprof.analyses.bench.results import read_bench
from stepprof.analyses.bench.savings import savings
from stepprof.profiler.commands.bench import run_bench
from stepprof.profiler.errors import CheckFailed, InputError, UsageError
from stepprof.profiler.report.bench_chart import bench_figure
from stepprof.profiler.report.html.beside import Bench, Beside
from stepprof.profiler.report.html.sections import sections
from stepprof.profiler.report.terminal_bench import bar_line, show_bench

POSTS = {"call": {1: 82.9, 2: 99.4, 4: 133.4, 8: 195.0}, "persistent": {1: 80.5, 2: 100.4, 4: 131.1, 8: 193.7}}


def posts(folder: Path) -> Path:
    """The posts' table as a bench file."""
    results = [
        {"name": "sidecar call", "rows": rows, "mode": mode, "p50_us": {"value": us, "kind": "quoted"}}
        for mode, table in POSTS.items()
        for rows, us in table.items()
    ]
    path = folder / "posts.json"
    path.write_text(json.dumps({"bench": "sidecar", "results": results}))
    return path


def test_the_posts_table_is_shown_and_misses_its_bar(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(CheckFailed, match="no mode saves 20 µs"):
        run_bench(["show", str(posts(tmp_path)), "--bar", "20us"])
    out = capsys.readouterr().out
    assert re.findall(r"persistent +(\d) +([+-]\d\.\d+).*┊ missed", out) == [
        ("1", "+2.40"),
        ("2", "-1.00"),
        ("4", "+2.30"),
        ("8", "+1.30"),
    ]
    assert max(map(len, out.splitlines())) <= 80


def test_a_bar_that_one_mode_meets_at_every_number_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """graph saves 50 µs at all rows; that persistent misses the bar beside it does not matter."""
    path = posts(tmp_path)
    document = json.loads(path.read_text())
    graph = [
        one | {"mode": "graph", "p50_us": {"value": one["p50_us"]["value"] - 50, "kind": "quoted"}}
        for one in document["results"][:4]
    ]
    path.write_text(json.dumps(document | {"results": document["results"] + graph}))
    assert run_bench(["show", str(path), "--bar", "20us"]) == 0
    out = capsys.readouterr().out
    assert (out.count(" met"), out.count(" missed")) == (4, 4)
    graph[3]["p50_us"]["value"] += 40  # now it saves 10 µs at 8 rows
    path.write_text(json.dumps(document | {"results": document["results"] + graph}))
    with pytest.raises(CheckFailed, match="no mode saves 20 µs at every number of rows"):
        run_bench(["show", str(path), "--bar", "20us"])


def test_savings_as_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run_bench(["show", str(posts(tmp_path)), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [round(one["saved_us"], 1) for one in document["savings"]] == [2.4, -1.0, 2.3, 1.3]


@pytest.mark.parametrize("bar", ["soon", "nan", "inf", "-5us", "0", "-infus"])
def test_a_bar_that_is_no_number_above_0(bar: str, tmp_path: Path):
    """bench show and the benches read it alike."""
    with pytest.raises(UsageError, match=f"--bar {bar}: give microseconds above 0"):
        run_bench(["show", str(posts(tmp_path)), f"--bar={bar}"])
    pytest.importorskip("torch")
    from stepprof.runtime.bench import command

    with pytest.raises(argparse.ArgumentTypeError, match=f"{bar}: give microseconds above 0"):
        command.microseconds(bar)
    assert [command.microseconds(good) for good in ("20", "20us", "0.5µs")] == [20.0, 20.0, 0.5]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("sidecar --bar nan", "argument --bar: nan: give microseconds above 0"),
        ("sidecar --budget inf", "argument --budget: inf: give seconds"),
        ("sidecar --budget=-1", "argument --budget: -1: give seconds"),
        ("determinism --budget nan", "argument --budget: nan: give seconds"),
        ("sidecar --modes graph --bar 20us", "--bar needs two --modes to compare, not graph alone"),
        ("experts --backends cutlass", "no backend 'cutlass'; there are triton, reference."),
        ("experts --rows 1,1", "bench experts takes --rows of 1 or more, each once."),
        ("gemm --backends cutlass", "no backend 'cutlass'; there are torch, triton."),
        ("gemm --rows 1,1", "bench gemm takes --rows of 1 to 16, each once."),
        ("determinism --bar 20us", "unrecognized arguments: --bar 20us"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(
    words: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("torch")
    from stepprof.runtime.__main__ import main

    monkeypatch.setattr(sys, "argv", ["stepprof", "bench", *words.split()])
    try:
        code: Any = main()
    except SystemExit as left:  # argparse's own
        code = left.code
    out, err = capsys.readouterr()
    assert code == 2 and out == "" and told in err


def one_mode(folder: Path) -> Path:
    """The posts' first mode, run on a CPU, with a bar of its own."""
    path = posts(folder)
    document = json.loads(path.read_text())
    bar = {"value": 20, "kind": "quoted"}
    path.write_text(json.dumps(document | {"gpu": [], "bar_us": bar, "results": document["results"][:4]}))
    return path


def test_a_bar_needs_two_modes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, html = one_mode(tmp_path), tmp_path / "chart.html"
    with pytest.raises(UsageError, match="--bar 5: a bar needs two modes of the same thing at the same rows"):
        run_bench(["show", str(path), "--bar", "5us", "--html", str(html)])
    assert not html.exists() and capsys.readouterr().out == ""
    assert run_bench(["show", str(path), "--html", str(html)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "bench sidecar: CPU (its times say nothing about a GPU)"
    assert "warning: the file's bar of 20 µs: a bar needs two modes" in out and max(map(len, out.splitlines())) <= 80
    assert run_bench(["show", str(path), "--json"]) == 0
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["warnings"]] == ["cpu", "bar_unjudged"]


def test_a_page_says_what_the_terminal_says(tmp_path: Path):
    """The chart's own title, and the section of a report."""
    file = read_bench(one_mode(tmp_path))
    title = bench_figure(file, savings(file)).layout.title.text
    told = "the file's bar of 20 µs: a bar needs two modes of the same thing at the same rows"
    assert title.startswith(f"bench sidecar: CPU (its times say nothing about a GPU)<br>warning: {told}")
    data = sections(Beside(bench=Bench(file, savings(file))))["bench"]
    assert data["machine"] == "CPU (its times say nothing about a GPU)" and data["warnings"][0].startswith(told)


@pytest.mark.parametrize("option", [["--bar", "20us"], ["--html", "chart.html"]])
def test_determinism_has_neither_bar_nor_chart(option: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("twice.json").write_text(json.dumps({"bench": "determinism", "results": []}))
    with pytest.raises(UsageError, match=f"{option[0]} .* times, and bench determinism compares answers"):
        run_bench(["show", "twice.json", *option])
    with pytest.raises(UsageError, match="--html draws times"):
        run_bench(["determinism", "--html", "chart.html"])
    assert not Path("chart.html").exists()


def test_the_chart_has_the_bar_dashed(tmp_path: Path):
    file = read_bench(posts(tmp_path))
    figure = bench_figure(file, savings(file, 20.0))
    assert [trace.y for trace in figure.data] == [
        (82.9, 99.4, 133.4, 195.0),
        (80.5, 100.4, 131.1, 193.7),
        pytest.approx((2.4, -1.0, 2.3, 1.3)),
    ]
    (line,) = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert (line.y0, line.y1, line.line.dash) == (20.0, 20.0, "dash")


def test_names_from_a_file_are_no_markup(tmp_path: Path):
    path = posts(tmp_path)
    path.write_text(path.read_text().replace("sidecar call", "<b>[red]x").replace("persistent", "\\u001b[31m"))
    file = read_bench(path)
    out = Console(width=80, color_system=None, soft_wrap=True, file=io.StringIO())
    show_bench(out, file, savings(file))
    text = out.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    assert "<b>[red]x" in text and "\x1b" not in text
    assert "<b>" not in str(bench_figure(file, savings(file)).layout.annotations[0].text)


def test_bars_lie_between_zero_and_their_value():
    assert bar_line(17, 0, 17, None) == "|" + "█" * 17
    assert bar_line(-9, -9, 8, 8) == "█" * 9 + "|" + " " * 7 + "┊"
    assert bar_line(0, 0, 0, None) == "|" + " " * 17


def test_a_run_on_the_cpu_is_measured_judged_and_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    pytest.importorskip("torch")
    path, html = tmp_path / "bench.json", tmp_path / "bench.html"
    words = ["sidecar", "--calls", "12", "--rows", "1,2", "--modes", "persistent,graph", "--blocks", "3", "--json"]
    assert run_bench([*words, "--device", "cpu", "-o", str(path), "--html", str(html)]) == 0
    out, err = capfd.readouterr()
    document = json.loads(out)
    assert [(one["rows"], one["mode"], one["calls"]) for one in document["results"]] == [
        (1, "persistent", 6),
        (2, "persistent", 6),
        (1, "graph", 6),
        (2, "graph", 6),
    ]
    assert [(one["rows"], one["mode"], one["blocks"]) for one in document["savings"]] == [
        (1, "graph", 3),
        (2, "graph", 3),
    ]
    assert err.startswith("warning: this is the CPU: its times say nothing about a GPU.\n")
    assert [one["code"] for one in document["warnings"]] == ["cpu"]
    assert document["complete"] and document["plan"]["samples"] == 24 and "timing takes about" in err
    assert str(path) not in document["command"] and "--rows 1,2" in document["command"]
    assert json.loads(path.read_text())["results"] == document["results"] and "stroke" in html.read_text()


def test_a_chart_that_cannot_be_written_is_told_before_the_run(tmp_path: Path):
    with pytest.raises(InputError, match="no such folder"):
        run_bench(["sidecar", "--html", str(tmp_path / "none" / "x.html")])


def test_determinism_on_the_cpu(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    pytest.importorskip("torch")
    path = tmp_path / "twice.json"
    words = ["determinism", "--calls", "12", "--rows", "1,2", "--device", "cpu", "-o", str(path)]
    assert run_bench(words) == 0 and run_bench(["show", str(path), "--json"]) == 0
    out, _ = capfd.readouterr()
    text, document = out[: out.index("{")], json.loads(out[out.index("{") :])
    assert [(one["reduce"], one["calls"], one["differ"]) for one in document["determinism"]] == [
        ("atomic", 12, 0),
        ("ordered", 12, 0),
    ]
    assert text.startswith("bench determinism: CPU (its answers say nothing about a GPU), 20")
    assert [one["code"] for one in document["warnings"]] == ["cpu"]
    assert text.count("points at nothing") == 2 and max(map(len, text.splitlines())) <= 80


def test_a_run_over_its_budget_writes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    pytest.importorskip("torch")
    path = tmp_path / "bench.json"
    words = ["sidecar", "--calls", "100000", "--rows", "1", "--modes", "graph", "--device", "cpu", "--budget", "0.001"]
    assert run_bench([*words, "-o", str(path)]) == 1
    out, err = capfd.readouterr()
    assert out == "" and "nothing was timed: give --budget" in err and not path.exists()
