"""What the HTML report is made of: the breakdown's own figures, and pictures that add up to them."""

import base64
import gzip
import json
import re
from pathlib import Path

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.profiler.report.document import breakdown_document
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from stepprof.profiler.report.html.timeline import shown_steps
from tests.profiler.report.two_branches import FORMULA, HOSTILE, two_branches
from tests.real_runs import attributed, run_of


def test_the_figures_are_those_of_the_breakdown():
    store = two_branches().store()
    found = attribute(store)
    data = report_data(store, found)
    assert data["breakdown"] == breakdown_document(breakdown(found, "role"))
    assert data["steps"]["wall_ns"] == [100, 100]
    parts = [*data["steps"]["exposed"].values(), *data["steps"]["gaps"].values()]
    assert [sum(column) for column in zip(*parts, strict=True)] == [100, 100]


def test_the_timeline_holds_every_op_and_the_path():
    store = two_branches().store()
    data = report_data(store, attribute(store))
    line = data["timeline"]
    names = [data["groups"]["name"][group] for group in line["group"][1]]
    assert names == ["a", HOSTILE, FORMULA, "d", "e"]
    assert line["start"][1] == [10, 20, 0, 32, 12]
    assert (line["length"][1], line["lane"][1]) == ([20, 20, 30, 8, 16], [0, 0, 1, 0, 0])
    assert line["path"][1] == [[0, 10, 20], [2, 30, 30], [3, 62, 8], [4, 74, 16]]
    assert sum(length for _, _, length in line["gaps"][1]) == 26


def test_op_groups_and_layers_add_up():
    store, found = run_of("h200x2_overlap.sqlite", edges=True), attributed("h200x2_overlap.sqlite", edges=True)
    data = report_data(store, found)
    total = data["breakdown"]["totals"]["exposed_ns"]
    assert round(sum(data["groups"]["exposed_ns"]) * 8) == total
    assert round(sum(sum(row) for row in data["heat"]["exposed_ns"]) * 8) == total
    assert sum(data["groups"]["ops"]) == 1378


def test_many_steps_are_thinned_with_the_extremes_kept():
    found = attributed("h200x2_overlap.sqlite", edges=True)
    assert shown_steps(found, range(8)) == list(range(8))
    wall = found.steps.wall.tolist()
    few = shown_steps(found, range(8), limit=4)
    assert {wall.index(min(wall)), wall.index(max(wall))} <= set(few)
    assert len(few) <= 4


def test_no_text_of_a_trace_is_markup(tmp_path: Path):
    store = two_branches().range("</script><b>", 0, 1).store()
    write_report(tmp_path / "report.html", report_data(store, attribute(store)))
    text = (tmp_path / "report.html").read_text()
    assert HOSTILE not in text and "</script><b>" not in text
    packed = re.search(r'id="data">([^<]+)<', text)
    assert packed is not None
    assert HOSTILE in json.loads(gzip.decompress(base64.b64decode(packed[1])))["groups"]["name"]
