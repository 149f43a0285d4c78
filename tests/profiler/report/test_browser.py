"""The HTML report in a real browser, opened from disk: what it shows, what its controls do, and who can use it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from stepprof.analyses.attribution import Attribution, attribute
from stepprof.analyses.bench.results import BenchFile, BenchResult, Figure
from stepprof.analyses.bench.savings import savings
from stepprof.profiler.report.html import data as data_module
from stepprof.profiler.report.html.beside import Bench, Beside, asked
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from stepprof.profiler.report.html.timeline import shown_steps
from tests.profiler.report.browser import needs_browser, opened_page
from tests.profiler.report.two_branches import two_branches
from tests.profiler.report.whole_report import TRACE
from tests.real_runs import attributed, run_of

pytestmark = [needs_browser, pytest.mark.xdist_group("browser"), pytest.mark.usefixtures("one_browser")]
RTL, LONG = "‮evil\x07", "n" * 10_000
IMAGE = "<img src=x onerror=document.title=3>"
LINK = '<a href="javascript:document.title=1">x</a>'


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


def test_steps_that_are_left_out_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def few(found: Attribution, steps: Sequence[int], limit: int = 3) -> list[int]:
        return shown_steps(found, steps, 5 if limit > 3 else limit)

    monkeypatch.setattr(data_module, "shown_steps", few)
    write_report(
        tmp_path / "many.html", report_data(run_of(TRACE, edges=True), attributed(TRACE, edges=True), None, Beside())
    )
    with opened_page(tmp_path / "many.html") as page:
        # 3 kept and 2 even ones, of which one is among the 3
        assert "4 of 8 steps are drawn, chosen evenly" in page.locator("#where p").first.inner_text()
        assert "3 of 8 steps are at hand." in page.locator("#timeline p").first.inner_text()
        assert page.locator("#step-choice option").count() == 3
        drawn = page.evaluate("report.data.steps.index.filter(i => !report.data.timeline.step.includes(i))[0]")
        page.evaluate(f"report.showStep({drawn}, false)")
        said = f"Step {drawn} is not among the 3 steps kept for the timeline."
        assert page.locator("#detail").inner_text() == said


def test_one_step_is_enough(tmp_path: Path):
    store = two_branches().store()
    found = attribute(store)
    write_report(tmp_path / "one.html", report_data(store, found, [1]))
    with opened_page(tmp_path / "one.html") as page:
        assert page.locator("#step-choice option").all_inner_texts() == ["step 1: 0.000 ms"]
