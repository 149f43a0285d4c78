"""The HTML report in a real browser, opened from disk: what it shows, what its controls do, and who can use it."""

import json
from pathlib import Path

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.profiler.report.document import breakdown_document
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from tests.profiler.report.browser import needs_browser, opened_page
from tests.profiler.report.two_branches import two_branches
from tests.real_runs import attributed, run_of

pytestmark = [needs_browser, pytest.mark.xdist_group("browser")]
RTL, LONG = "‮evil\x07", "n" * 10_000
LINK = '<a href="javascript:document.title=1">x</a>'


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo capture's report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    name = "h200x2_overlap.sqlite"
    write_report(path, report_data(run_of(name, edges=True), attributed(name, edges=True)))
    return path


def test_numbers_are_those_of_json(report: Path):
    document = breakdown_document(breakdown(attributed("h200x2_overlap.sqlite", edges=True), "role"))
    with opened_page(report) as page:
        tiles = page.locator(".tile").all_inner_texts()
        assert tiles[0].splitlines()[0] == f"{document['wall_ns']['p50'] / 1e6:.3f} ms" == "8.801 ms"
        rows = [row.split("\t") for row in page.locator("#where tbody tr:not(.kinds)").all_inner_texts()]
    shown = {cells[0]: float(cells[1]) for cells in rows}
    expected = {row["key"]: row["exposed_ns"] for row in document["rows"]}
    expected |= {f"gap: {gap['class']}": gap["exposed_ns"] for gap in document["gaps"]}
    assert shown == {key: float(f"{ns / 1e6:.3f}") for key, ns in expected.items()}


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
    write_report(tmp_path / "hostile.html", report_data(store, attribute(store)))
    with opened_page(tmp_path / "hostile.html") as page:
        assert page.title() == "built.duckdb: where the step goes"
        assert page.locator("img, main a[href^=javascript]").count() == 0
        page.fill("#op-search", "evil")
        text = page.locator("#ops tbody").inner_text()
        assert text.startswith("evil\n<img src=x") and not set(RTL[::5]) & set(text)
        titles = json.loads(
            page.evaluate("JSON.stringify([...document.querySelectorAll('#ops td[title]')].map(t => t.title.length))")
        )
        assert max(titles) <= 300


def test_one_step_is_enough(tmp_path: Path):
    store = two_branches().store()
    found = attribute(store)
    write_report(tmp_path / "one.html", report_data(store, found, [1]))
    with opened_page(tmp_path / "one.html") as page:
        assert page.locator("#step-choice option").all_inner_texts() == ["step 1: 0.000 ms"]
