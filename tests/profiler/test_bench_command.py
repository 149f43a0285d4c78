"""stepprof bench from end to end on the CPU: run, judged, drawn; and files from before with `bench show`."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from stepprof.analyses.bench.results import read_bench
from stepprof.analyses.bench.savings import savings
from stepprof.profiler.commands.bench import run_bench
from stepprof.profiler.errors import CheckFailed, InputError, UsageError
from stepprof.profiler.report.bench_chart import bench_figure
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


def test_a_bar_that_is_met_at_every_number_of_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run_bench(["show", str(posts(tmp_path)), "--bar", "-2"]) == 0
    capsys.readouterr()
    assert run_bench(["show", str(posts(tmp_path)), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [round(one["saved_us"], 1) for one in document["savings"]] == [2.4, -1.0, 2.3, 1.3]


def test_a_bar_that_is_no_number(tmp_path: Path):
    with pytest.raises(UsageError, match="--bar soon: give microseconds"):
        run_bench(["show", str(posts(tmp_path)), "--bar", "soon"])


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
    assert text.count("points at nothing") == 2 and max(map(len, text.splitlines())) <= 80


def test_a_run_over_its_budget_writes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    pytest.importorskip("torch")
    path = tmp_path / "bench.json"
    words = ["sidecar", "--calls", "100000", "--rows", "1", "--modes", "graph", "--device", "cpu", "--budget", "0.001"]
    assert run_bench([*words, "-o", str(path)]) == 1
    out, err = capfd.readouterr()
    assert out == "" and "nothing was timed: give --budget" in err and not path.exists()
