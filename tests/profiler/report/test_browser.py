"""The HTML report in a real browser, opened from disk: what it shows, what its controls do, and who can use it."""

import json
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.bench_results import BenchFile, BenchResult, Figure
from stepprof.analyses.bench_savings import savings
from stepprof.analyses.breakdown import breakdown
from stepprof.profiler.report.document import breakdown_document
from stepprof.profiler.report.html.beside import Bench, Beside, asked
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from stepprof.profiler.report.html.sections import sections
from tests.profiler.report.browser import browser, needs_browser, opened_page
from tests.profiler.report.two_branches import two_branches
from tests.profiler.report.whole_report import TRACE, whole_beside, with_facts
from tests.real_runs import attributed, run_of

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]
RTL, LONG = "‮evil\x07", "n" * 10_000
IMAGE = "<img src=x onerror=document.title=3>"
LINK = '<a href="javascript:document.title=1">x</a>'


@pytest.fixture(scope="module", autouse=True)
def one_browser() -> Generator[None]:
    """Started once."""
    with browser():
        yield


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Beside:
    """The answers of every section."""
    return whole_beside(tmp_path_factory.mktemp("beside"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, beside: Beside) -> Path:
    """The demo capture's report, with every section."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, report_data(run_of(TRACE, edges=True), attributed(TRACE, edges=True), None, beside))
    return path


@pytest.fixture(scope="module")
def answers(beside: Beside) -> dict[str, Any]:
    """What --json says of each section of that report."""
    return json.loads(json.dumps(sections(beside)))


@pytest.fixture(scope="module")
def wide(report: Path) -> Generator[Any]:
    """That report on a wide screen, for tests that change nothing another one reads."""
    with opened_page(report) as page:
        yield page


def rows_of(place: Any) -> list[list[str]]:
    """The cells of a table's body; folded ones too."""
    return place.locator("tbody tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")


def test_numbers_are_those_of_json(wide: Any):
    document = breakdown_document(breakdown(attributed("h200x2_overlap.sqlite", edges=True), "role"))
    tiles = wide.locator(".tile").all_inner_texts()
    assert tiles[0].splitlines()[0] == f"{document['wall_ns']['p50'] / 1e6:.3f} ms" == "8.801 ms"
    rows = [row.split("\t") for row in wide.locator("#where tbody tr:not(.kinds)").all_inner_texts()]
    shown = {cells[0]: float(cells[1]) for cells in rows}
    expected = {row["key"]: row["exposed_ns"] for row in document["rows"]}
    expected |= {f"gap: {gap['class']}": gap["exposed_ns"] for gap in document["gaps"]}
    assert shown == {key: float(f"{ns / 1e6:.3f}") for key, ns in expected.items()}


def test_the_sidecar_is_that_of_json(wide: Any, answers: dict[str, Any]):
    document, every = answers["sidecar"]["document"], answers["sidecar"]["all"]
    made = wide.locator("#sidecar")
    tiles = [text.splitlines()[0] for text in made.locator(".tile").all_inner_texts()]
    calls = rows_of(made.get_by_role("region", name="Calls by rows", exact=True))
    phases = rows_of(made.locator("details").nth(0))
    layers = rows_of(made.locator("details").nth(2))
    text = made.inner_text()
    floors = wide.evaluate("document.querySelectorAll('#sidecar .scatterlayer .trace').length")
    assert tiles == ["232.1 µs", "2.873 ms", "4.178 ms", f"{document['headroom_us']:.1f} µs"]
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
    assert answers["sidecar"]["headroom_said"] in text and floors == 2


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


def test_the_keyboard_reaches_steps_and_figures(report: Path):
    with opened_page(report) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.url.endswith("#main")
        page.focus("#step-choice")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("report.timeline.columns.step[report.timeline.i]") == 1
        page.focus("#sidecar summary")
        page.keyboard.press("Enter")
        assert page.locator("#sidecar details").first.get_attribute("open") is not None


def test_paper_is_light_and_unfolded(report: Path):
    with opened_page(report, dark=True) as page:
        folded = page.locator("details:not([open])").count()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert (page.locator("details:not([open])").count(), folded > 5) == (0, True)
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        widest = "Math.max(...[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().width))"
        assert page.evaluate(widest) <= 185 / 25.4 * 96
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details:not([open])").count() == folded
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_narrow_screen_has_its_legends_below(report: Path):
    with opened_page(report, width=390) as page:
        assert "gap: sidecar_wait" in page.locator("#where ul.legend").first.inner_text().splitlines()
        assert page.locator("#where .infolayer .legend").count() == 0
    with opened_page(report, width=1600) as page:
        assert page.locator("#where ul.legend li").count() == 0
        assert page.locator("#where .infolayer .legend").count() == 1


def test_a_bar_leads_to_its_step(report: Path):
    with opened_page(report) as page:
        bar = page.locator("#where .barlayer .trace").first.locator(".point").nth(5)
        box = bar.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_function("document.getElementById('step-choice').value === '5'")
        assert page.evaluate("report.timeline.columns.step[report.timeline.i]") == 5


def test_the_timeline_zooms_and_names_ops(report: Path):
    with opened_page(report) as page:
        canvas = page.locator("canvas")
        canvas.focus()
        whole = page.evaluate("report.timeline.high - report.timeline.low")
        assert whole == 8_870_701
        page.keyboard.press("+")
        page.keyboard.press("+")
        assert page.evaluate("report.timeline.high - report.timeline.low") == whole / 4
        page.keyboard.press("n")
        assert "norm (copy), layer 0, card 0: starts at 238.5 µs, lasts 3.81 µs" in page.locator("#detail").inner_text()
        page.keyboard.press("0")
        assert page.evaluate("report.timeline.high") == whole
        box = canvas.bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 30 + 24 * 0.5)
        assert page.evaluate("report.timeline.chosen") > 0


def test_ops_are_sorted_and_searched(report: Path):
    with opened_page(report) as page:
        assert page.locator("#ops [role=status]").inner_text() == "999 rows"
        page.click("#ops [data-sort=work_ns]")
        work = [float(t) for t in page.locator("#ops tbody tr td:nth-child(9)").all_inner_texts()]
        assert len(work) == 100 and work == sorted(work, reverse=True)
        page.click("#ops [data-sort=work_ns]")
        assert page.locator("#ops th[aria-sort=ascending]").inner_text() == "work µs ↑"
        page.fill("#op-search", "sidecar_gather layer")
        assert page.locator("#ops tbody tr").count() == 0
        page.fill("#op-search", "sidecar_gather sidecar/20")
        assert page.locator("#ops tbody tr").count() == 1


def test_the_theme_can_be_changed(report: Path):
    with opened_page(report, dark=True) as page:
        ground = "getComputedStyle(document.body).backgroundColor"
        assert (page.evaluate(ground), page.get_attribute("#theme", "aria-pressed")) == ("rgb(20, 23, 27)", "true")
        page.click("#theme")
        assert (page.evaluate(ground), page.get_attribute("#theme", "aria-pressed")) == ("rgb(255, 255, 255)", "false")


@pytest.mark.parametrize("width", [390, 1024, 1600])
def test_nothing_is_wider_than_the_screen(report: Path, width: int):
    with opened_page(report, width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_fault_of_accessibility(report: Path, dark: bool):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with opened_page(report, dark=dark, bypass_csp=True) as page:
        found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []


def test_hostile_names_are_only_text(tmp_path: Path):
    trace = two_branches()
    for name in (RTL, LONG, LINK, '"><img src=x onerror=document.title=1>'):
        trace.kernel(name, 92, 94, call=(80, 82))
    trace.range("<img src=x onerror=document.title=2>", 78, 84)
    store = trace.store()
    found = attribute(store)
    bench = BenchFile(IMAGE, tuple(BenchResult(IMAGE, 1, f"{IMAGE}{i}", Figure(9.0 - i, "quoted")) for i in (0, 1)))
    beside = replace(asked(store, found, [0, 1]), bench=Bench(bench, savings(bench, 1.0))).refused(IMAGE, RTL)
    write_report(tmp_path / "hostile.html", report_data(store, found, None, beside))
    with opened_page(tmp_path / "hostile.html") as page:
        assert page.title() == "built.duckdb: where the step goes"
        assert page.locator("img, main a[href^=javascript]").count() == 0
        assert IMAGE in page.locator("#bench h3").inner_text() and IMAGE in page.locator("#limits dt").last.inner_text()
        page.fill("#op-search", "evil")
        text = page.locator("#ops tbody").inner_text()
        assert text.startswith("evil\n<img src=x") and not set(RTL[::5]) & set(text)
        titles = json.loads(
            page.evaluate("JSON.stringify([...document.querySelectorAll('#ops td[title]')].map(t => t.title.length))")
        )
        assert max(titles) <= 300


def test_charts_of_one_bar_settle(tmp_path: Path):
    """Plotly logs where the margins of a chart never settle; opened_page asserts that nothing is logged."""
    name = "h200x2_eager.sqlite"
    write_report(tmp_path / "eager.html", report_data(run_of(name), attributed(name)))
    with opened_page(tmp_path / "eager.html", width=390) as page:
        assert page.locator("#sidecar figure").count() == 3


def test_one_step_is_enough(tmp_path: Path):
    store = two_branches().store()
    found = attribute(store)
    write_report(tmp_path / "one.html", report_data(store, found, [1]))
    with opened_page(tmp_path / "one.html") as page:
        assert page.locator("#step-choice option").all_inner_texts() == ["step 1: 0.000 ms"]
