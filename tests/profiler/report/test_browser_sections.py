"""The report's sections in a real browser: every number shown is that of the document which --json prints."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.compare.comparison import compared, sample_of
from stepprof.analyses.compare.launches import launch_of_store
from stepprof.profiler.report.document import breakdown_document
from stepprof.profiler.report.html.beside import Beside
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from stepprof.profiler.report.html.sections import sections
from tests.profiler.report.browser import needs_browser, opened_page
from tests.profiler.report.whole_report import TRACE, with_facts
from tests.real_runs import attributed

pytestmark = [needs_browser, pytest.mark.xdist_group("browser"), pytest.mark.usefixtures("one_browser")]


@pytest.fixture(scope="module")
def answers(beside: Beside) -> dict[str, Any]:
    """What --json says of each section of that report."""
    return json.loads(json.dumps(sections(beside)))


@pytest.fixture(scope="module")
def wide(one_browser: None, report: Path) -> Generator[Any]:
    """That report on a wide screen, for tests that change nothing another one reads."""
    with opened_page(report) as page:
        yield page


def rows_of(place: Any) -> list[list[str]]:
    """The cells of a table's body; folded ones too."""
    return place.locator("tbody tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")


def test_numbers_are_those_of_json(wide: Any):
    document = breakdown_document(breakdown(attributed(TRACE, edges=True), "role"))
    tiles = wide.locator(".tile").all_inner_texts()
    assert tiles[0].splitlines()[0] == f"{document['wall_ns']['p50'] / 1e6:.3f} ms" == "8.801 ms"
    rows = [row.split("\t") for row in wide.locator("#where tbody tr:not(.kinds)").all_inner_texts()]
    shown = {cells[0]: float(cells[1]) for cells in rows}
    expected = {row["key"]: row["exposed_ns"] for row in document["rows"]}
    expected |= {f"gap: {gap['class']}": gap["exposed_ns"] for gap in document["gaps"]}
    assert shown == {key: float(f"{ns / 1e6:.3f}") for key, ns in expected.items()}


def test_the_sidecar_is_that_of_json(wide: Any, answers: dict[str, Any]):
    document, every = answers["sidecar"]["document"], answers["sidecar"]["document"]["all"]
    made = wide.locator("#sidecar")
    tiles = [text.splitlines()[0] for text in made.locator(".tile").all_inner_texts()]
    calls = rows_of(made.get_by_role("region", name="Calls by rows", exact=True))
    phases = rows_of(made.locator("details").nth(0))
    layers = rows_of(made.locator("details").nth(2))
    text = made.inner_text()
    floors = wide.evaluate("document.querySelectorAll('#sidecar .scatterlayer .trace').length")
    assert tiles == ["232.1 µs", "2.873 ms", "3.127 ms", "4.178 ms", f"{document['headroom_us']:.1f} µs"]
    keys = ("p50_us", "p95_us", "p99_us", "max_us", "mean_us", "floor_us")
    assert [row[:8] for row in calls] == [
        ["all" if group is every else str(group["rows"]), str(group["calls"]), *(f"{group[key]:.1f}" for key in keys)]
        for group in (*document["per_rows"], every)
    ]
    assert {row[0]: row[1:] for row in phases}["gather"] == [
        f"{group['phases_mean_us']['gather']:.1f}" for group in (*document["per_rows"], every)
    ]
    names = ("main_ready_us", "sidecar_us", "join_wait_us")
    assert [[row[0], *(cell.removeprefix("< ") for cell in row[2:])] for row in layers] == [
        [str(layer["layer"]), *(f"{layer[name]:.1f}" for name in names)] for layer in document["by_layer"]
    ]
    assert document["headroom_said"] in text and floors == 2


def test_proposals_are_those_of_json(wide: Any, answers: dict[str, Any]):
    document = answers["whatif"]["document"]
    made = wide.locator("#whatif")
    rows = rows_of(made.get_by_role("region", name="Proposals, ms a step"))
    scores = rows_of(made.get_by_role("region", name="Scored predictions"))
    tiles = made.locator(".tile").all_inner_texts()
    said = made.inner_text()
    step = document["proposals"][-1]["in_sequence"]["step_ms"]
    between = f"{step['low']:.3f} to {step['high']:.3f}"
    assert tiles[0].startswith("8.801 ms\n")
    assert tiles[1] == f"{step['value']:.3f} ms\nthe step with all proposals, {between} (modelled)"
    expected = [
        [str(one["ops"]), f"{one['work_ms']['value']:.3f}", f"{one['removed_work_ms']['value']:.3f}",
         f"{one['hidden_ms']['value']:.3f}", one["gate"] or "", one["verdict"] or ""]
        for one in document["proposals"]
    ]  # fmt: skip
    assert [[*row[2:6], *row[11:]] for row in rows] == expected
    delta = document["proposals"][0]["alone"]["delta_ms"]
    assert f"Node cost: {document['node_cost']['cost']['value'] / 1e3:.2f} µs" in said
    assert rows[0][6] == f"{delta['value']:.3f} ({delta['low']:.3f} to {delta['high']:.3f})"
    assert [row[0] for row in scores] == ["norms"] and answers["whatif"]["scores"]["record"] in said


def test_a_comparison_of_one_launch_an_arm_says_so_and_shows_where(wide: Any, answers: dict[str, Any]):
    document = answers["comparison"]["document"]
    made = wide.locator("#comparison")
    assert f"No answer: {document['reason']}" in made.inner_text()
    assert made.locator(".tile").nth(2).inner_text().startswith(f"+{document['estimate']:.4f} ms")
    for by, rows in document["rows"].items():
        wide.select_option("#change-choice", by)
        shown = rows_of(made.locator("#change-table"))
        assert [(row[0], float(row[3])) for row in shown] == [
            (row["key"], pytest.approx(row["delta_ns"] / 1e3, abs=0.0051)) for row in rows if row["delta_ns"]
        ]
    assert len(rows_of(made.get_by_role("region", name="Ops that vanished, the most exposed"))) == 8


def test_a_bench_has_its_bar_and_verdicts(wide: Any):
    made = wide.locator("#bench")
    rows = rows_of(made.get_by_role("region", name="sidecar call: saved, µs"))
    assert [row[:3] + row[4:] for row in rows] == [
        [number, "persistent", saved, "no", "quoted"]
        for number, saved in (("1", "2.40"), ("2", "-1.00"), ("4", "2.30"))
    ]
    assert made.locator(".shapelayer path[style*=dash]").count() == 1
    assert "the bar of 20 µs" in made.inner_text()


def test_refusals_and_warnings_are_listed(wide: Any, answers: dict[str, Any]):
    assert wide.locator("#limits dt").all_inner_texts() == [one["question"] for one in answers["refusals"]]
    assert wide.locator("#limits dd").all_inner_texts() == [one["text"] for one in answers["refusals"]]
    listed = wide.locator("#limits ul").inner_text() if wide.locator("#limits ul").count() else ""
    assert all(one["text"] in listed for one in answers["warnings"])


def test_tokens_a_second_and_tracing_have_tiles(tmp_path: Path):
    trace = with_facts()
    for key, value in (("", 1.25), ("_low", 1.2), ("_high", 1.3)):
        trace.add("manifest", key=f"tracing_inflation{key}", value=str(value))
    store = trace.store()
    data = report_data(store, attribute(store))
    write_report(tmp_path / "rates.html", data)
    rate = data["speculation"]["lanes"][0]["tokens_per_s"]
    with opened_page(tmp_path / "rates.html") as page:
        tiles = page.locator("#headline .tile").all_inner_texts()
    assert tiles[1] == (
        f"{rate['value']:.1f}\ntokens/s: 4.000 kept ÷ 10.000 ms mean period, 3 steps at k = 5 ({rate['kind']})"
    )
    assert tiles[1].startswith("400.0\n") and tiles[2] == "4.000\ntokens kept a step (measured)"
    assert tiles[3] == "1.250 ×\ntraced step over untraced (1.200 to 1.300) (measured)"


def test_a_comparison_says_what_tracing_did_to_each_launch(tmp_path: Path):
    dear = with_facts()
    for key, value in (("", 1.25), ("_low", 1.2), ("_high", 1.3)):
        dear.add("manifest", key=f"tracing_inflation{key}", value=str(value))
    arms = [[sample_of(launch_of_store(made.store()))] for made in (dear, with_facts())]
    store = dear.store()
    found = attribute(store)
    write_report(tmp_path / "arms.html", report_data(store, found, None, Beside(comparison=compared(*arms))))
    with opened_page(tmp_path / "arms.html") as page:
        launches = rows_of(page.locator("#comparison").locator("details", has_text="Launches"))
    assert [row[-1] for row in launches] == ["1.250 (1.200 to 1.300)", "unknown"]
