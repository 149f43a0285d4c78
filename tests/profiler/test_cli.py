"""The command line as a user or a script meets it: documents, exit codes, sentences, 80 columns."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from stepprof.profiler.demo import EDGES, TRACE
from tests.trace_builder import NsysExport

STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with the demo capture as a run file."""
    path = tmp_path_factory.mktemp("cli")
    done = run(path, "import", TRACE, "--edges", EDGES, "-o", "demo.duckdb", "--json")
    assert done.returncode == 0, done.stderr
    (path / "import.json").write_text(done.stdout)
    return path


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """stepprof in a folder of its own, with a cache of its own."""
    env = {"STEPPROF_CACHE": str(folder / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run(
        [*STEPPROF, *map(str, words)], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def document(folder: Path, *words: object):
    done = run(folder, *words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_import_document(folder):
    found = json.loads((folder / "import.json").read_text())
    assert found["format"] == "nsys-sqlite"
    assert found["tool"] == "nsys 2025.3.2.0"
    assert found["devices"] == [{"ordinal": 0, "name": "NVIDIA H200"}, {"ordinal": 1, "name": "NVIDIA H200"}]
    counts = {"kernel": 17921, "memcpy": 468, "memset": 0, "api": 15105, "range": 806, "graph_launch": 11}
    assert found["counts"] == counts
    assert found["warnings"] == []


def test_steps_document(folder):
    found = document(folder, "steps", "demo.duckdb")
    assert found["method"] == "marker stepprof"
    step = found["steps"][0]
    assert set(step) == {
        "index", "label", "phase", "window", "start_ns", "end_ns", "wall_ns", "gpu_span_ns", "period_ns",
        "between_ns", "host_start_ns", "host_end_ns", "ops", "flags",
    }  # fmt: skip
    assert step["wall_ns"] == step["end_ns"] - step["start_ns"] == 8_870_701
    assert (step["label"], step["window"], step["ops"], step["gpu_span_ns"]) == ("step/0", "host", 1378, 8_587_330)
    following = found["steps"][1]
    assert step["period_ns"] == following["start_ns"] - step["start_ns"]
    assert step["between_ns"] == following["start_ns"] - step["end_ns"]
    assert found["steps"][7]["period_ns"] is None


def test_breakdown_document(folder):
    found = document(folder, "breakdown", "demo.duckdb")
    assert found["steps"] == 8
    totals = found["totals"]
    assert totals["exposed_ns"] + totals["gap_ns"] == totals["wall_ns"] == 70_384_362
    parts = sum(row["exposed_total_ns"] for row in found["rows"] + found["gaps"])
    assert parts == totals["wall_ns"]
    assert sum(row["share"] for row in found["rows"] + found["gaps"]) == pytest.approx(1, abs=1e-12)
    assert found["tracing_inflation"] is None
    for row in found["rows"]:
        assert row["hidden_ns"] == pytest.approx(row["work_ns"] - row["exposed_ns"], abs=1e-6)
        assert sum(kind["work_ns"] for kind in row["kinds"]) == pytest.approx(row["work_ns"])


def test_one_step_and_a_slice_of_steps(folder):
    one = document(folder, "breakdown", "demo.duckdb", "--step", 0)
    assert one["totals"]["wall_ns"] == 8_870_701
    assert document(folder, "breakdown", "demo.duckdb", "--steps", "2:5")["steps"] == 3


def test_the_same_gaps_come_with_every_by(folder):
    gaps = [
        document(folder, "breakdown", "demo.duckdb", "--by", by)["gaps"] for by in ("role", "kind", "device", "layer")
    ]
    assert gaps[0] and gaps.count(gaps[0]) == 4


def test_csv_holds_the_rows(folder):
    assert run(folder, "breakdown", "demo.duckdb", "--csv", "out.csv").returncode == 0
    lines = list(csv.DictReader((folder / "out.csv").open()))
    assert sum(int(line["exposed_total_ns"]) for line in lines) == 70_384_362


def test_csv_cell_is_no_formula(tmp_path):
    export = NsysExport().range("step/0", 0, 100).kernel("=cmd|' /C calc'!A0", 20, 30).api("cudaLaunchKernel", 5, 8)
    export.write(tmp_path / "evil.sqlite")
    assert run(tmp_path, "breakdown", "evil.sqlite", "--by", "kernel", "--csv", "out.csv").returncode == 0
    assert "'=cmd" in (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("command", ["import", "steps", "breakdown", "roles", "demo"])
def test_help(folder, command):
    done = run(folder, command, "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("breakdown",),
        ("breakdown", "--by", "kernel"),
        ("breakdown", "--by", "label"),
        ("breakdown", "--sidecar"),
        ("steps",),
        ("roles",),
    ],
)
def test_plain_text_fits_80_columns(folder, words):
    done = run(folder, *words, "demo.duckdb")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


@pytest.mark.parametrize(
    "words",
    [
        ("demo",),
        ("audit",),
        ("speculate", *["--kept", "5", "--step-ms", "11", "--k", "5", "--to", "7", "--block", "5"]),
    ],
)
def test_plain_text_without_a_trace_fits_80_columns(tmp_path, words):
    done = run(tmp_path, *words)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_breakdown_fits_one_screen(folder):
    assert len(run(folder, "breakdown", "demo.duckdb").stdout.splitlines()) <= 48


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (
            ("breakdown", "nothing.sqlite"),
            1,
            "nothing.sqlite cannot be read (No such file or directory): check the path.",
        ),
        (("breakdown", "text.txt"), 1, "text.txt is not a trace that stepprof reads"),
        (("breakdown", "empty"), 1, "empty is empty"),
        (("breakdown", "."), 1, "is a folder without parquet files"),
        (("breakdown", "demo.duckdb", "--step", "99"), 2, "there is no step 99: this trace has steps 0 to 7."),
        (("breakdown", "demo.duckdb", "--steps", "9:3"), 2, "--steps 9:3 chooses nothing"),
        (("breakdown", "demo.duckdb", "--marker", "("), 2, "is not a regular expression"),
        (("breakdown", "demo.duckdb", "--marker", "nonsense"), 4, "no steps found"),
        (("breakdown", "demo.duckdb", "--rules", "text.txt"), 1, "is not valid TOML"),
        (("breakdown", "demo.duckdb", "--csv", "no/where.csv"), 1, "cannot be written"),
        (("import", TRACE, "-o", "demo.duckdb"), 1, "exists already"),
        (("import", TRACE, "-o", "no/where.duckdb"), 1, "cannot be written"),
        (("import", TRACE, "-o", "new.duckdb", "--edges", "text.txt"), 1, "text.txt line 1 is not"),
    ],
)
def test_fault_is_one_sentence(folder, words, code, sentence):
    (folder / "text.txt").write_text("hello world\n")
    (folder / "empty").touch()
    done = run(folder, *words)
    assert done.returncode == code
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert not (folder / "new.duckdb").exists()


def test_unknown_option_is_usage(folder):
    assert run(folder, "breakdown", "demo.duckdb", "--by", "colour").returncode == 2


def test_control_characters_of_a_trace_do_not_reach_the_terminal(tmp_path):
    export = NsysExport().range("step/0", 0, 100).kernel("evil\x1b[2Jname", 20, 30).api("cudaLaunchKernel", 5, 8)
    export.write(tmp_path / "evil.sqlite")
    done = run(tmp_path, "breakdown", "evil.sqlite", "--by", "kernel")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


def test_demo_prints_steps_and_breakdown(folder):
    done = run(folder, "demo")
    assert done.returncode == 0
    assert "8 steps by marker stepprof" in done.stdout
    assert "sidecar_gather" in done.stdout
    assert list((folder / "cache").glob("*demo*")) == []
