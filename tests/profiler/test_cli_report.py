"""stepprof report as a user meets it: one file, further files beside the trace, faults in one sentence."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from stepprof.profiler.report import terminal
from tests.profiler.report.whole_report import OTHER, PROPOSALS, SCORE, TRACE, bench_document
from tests.real_runs import run_of


def figures_of(page: Path) -> dict[str, Any]:
    """The document that a page holds."""
    packed = re.search(r'id="data">([^<]+)<', page.read_text())
    assert packed is not None
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def test_further_files_are_shown_beside_the_trace(stepprof, tmp_path: Path):
    (tmp_path / "bench.json").write_text(json.dumps(bench_document()))
    (tmp_path / "scores.json").write_text(json.dumps([SCORE]))
    files = ("--whatif", PROPOSALS, "--scores", "scores.json", "--kept", 5.27, "--bench", "bench.json", "--bar", 2.35)
    floor = ("--expert-bytes", 12_582_912, "--bandwidth", 4000)
    trace, other = run_of(TRACE, edges=True).path, run_of(OTHER).path
    code, out, err = stepprof("report", trace, "--vs", other, "-o", "r.html", *files, *floor)
    assert (code, out) == (0, "") and re.fullmatch(r"r\.html: \d\.\d MB, open it in a browser\n", err)
    data = figures_of(tmp_path / "r.html")
    assert [one["verdict"] for one in data["bench"]["savings"]] == ["yes", "no", "no"]
    assert data["sidecar"]["document"]["all"]["floor_us"] == pytest.approx(12_582_912 * 2 * 28 / 9 / 4000 / 1e3)
    assert len(data["whatif"]["document"]["proposals"]) == 6
    assert data["whatif"]["document"]["kept"] == {"value": 5.27, "kind": "quoted", "low": None, "high": None}
    assert data["comparison"]["document"]["outcome"] == "refused"


def test_the_trace_and_its_replicates_are_the_control(stepprof, tmp_path: Path):
    trace, other = run_of(TRACE, edges=True).path, run_of(OTHER).path
    for name, run in {"a": trace, "b": other, "c": other}.items():
        (tmp_path / f"{name}.duckdb").write_bytes(run.read_bytes())
    words = ("report", trace, "--replicate", "a.duckdb", "--vs", "b.duckdb", "c.duckdb", "-o", "r.html")
    assert stepprof(*words)[0] == 0
    found = figures_of(tmp_path / "r.html")["comparison"]["document"]
    names = {arm: [one["name"] for one in found[arm]["launches"]] for arm in ("control", "candidate")}
    assert names == {"control": [trace.name, "a.duckdb"], "candidate": ["b.duckdb", "c.duckdb"]}
    assert found["outcome"] == "higher"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--bar", 20), 2, "--bar belongs to --bench FILE: add it."),
        (("--kept", 5), 2, "--kept belongs to --whatif FILE: add it."),
        (("--scores", "s.json"), 2, "--scores belongs to --whatif FILE: add it."),
        (("--replicate", "a.duckdb"), 2, "--replicate and --warm-up belong to --vs FILE: add it."),
        (("--bandwidth", 0), 2, "--bandwidth 0 is no amount"),
        (("--bench", "none.json"), 1, "none.json cannot be read"),
        (("--whatif", "none.toml"), 1, "none.toml"),
        (("--vs", "none.duckdb"), 1, "none.duckdb"),
    ],
)
def test_faults_leave_nothing_behind(stepprof, tmp_path: Path, words: tuple[Any, ...], code: int, said: str):
    found, out, err = stepprof("report", run_of(TRACE, edges=True).path, "-o", "r.html", *words)
    assert (found, out) == (code, "") and said in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_launch_given_twice_counts_once(stepprof):
    trace = run_of(TRACE, edges=True).path
    code, _, err = stepprof("report", trace, "--vs", trace, "-o", "r.html")
    assert (code, err) == (2, f"stepprof: {trace.name} is given twice: each launch counts once.\n")


def test_an_existing_file_is_kept(stepprof, tmp_path: Path):
    (tmp_path / "r.html").write_text("mine")
    assert stepprof("report", run_of(TRACE, edges=True).path, "-o", "r.html")[0] == 1
    assert stepprof("demo", "--html", "r.html") == (
        1, "", "stepprof: r.html exists already: choose another --html or pass --force.\n"
    )  # fmt: skip
    assert (tmp_path / "r.html").read_text() == "mine"


def test_the_demo_writes_its_report_and_names_the_command(stepprof, tmp_path: Path):
    code, out, _ = stepprof("demo", "--html", "demo.html")
    assert code == 0 and "stepprof report YOUR.sqlite -o report.html" in out
    assert out.splitlines()[-1] == "This capture's report: demo.html, open it in a browser"
    assert max(map(len, out.splitlines())) <= terminal.WIDTH
    assert figures_of(tmp_path / "demo.html")["breakdown"]["totals"]["wall_ns"] == 70_384_362
