"""The step drawn in docs/numbers.md is what stepprof says of it: tables, picture and text."""

import re
from functools import cache

import pytest

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.gaps import CLASSES
from stepprof.analyses.sidecar.result import Sidecar
from tests.analyses.sidecar.sidecar_program import FIRST, Program
from tests.repository import ROOT

PAGE = (ROOT / "docs/numbers.md").read_text()
PICTURE = (ROOT / "docs/two_cards.svg").read_text()


@cache
def drawn() -> tuple[Attribution, Sidecar]:
    """The step of the figure; 1 ns stands for its microsecond."""
    p = Program()
    p.start = FIRST
    p.trace.range("step/0", FIRST, FIRST + 40)
    p.graph = p.trace.graph_launch(call=(FIRST, FIRST + 1))
    call = ("sidecar/0 rows=1",)
    norm = p.op("rms_norm", 2, 8, "layer/0/norm")
    hot = p.op("hot_gemm", 9, 15, "layer/0/expert_gemm", after=[norm])
    copied = p.copy_in(10, 13, *call, "sidecar/0/copy_in", after=[norm], device=1)
    cold = p.op("cold_gemm", 14, 26, *call, "sidecar/0/up", device=1, after=[copied])
    answer = p.copy_out(26, 29, *call, "sidecar/0/copy_out", after=[cold])
    add = p.op("add", 30, 33, "layer/0/accumulate", after=[hot, answer])
    p.op("head_gemm", 34, 38, "lm_head", after=[add])
    return p.found()[1], p.sidecar()


def test_roles_are_those_of_the_table():
    rows = breakdown(drawn()[0], "role").rows
    told = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert [(r.key, r.exposed_ns, r.busy_ns, r.work_ns, r.hidden_ns) for r in rows] == [
        (key, *map(float, figures)) for key, *figures in told
    ]
    sums = (sum(r.exposed_ns for r in rows), sum(r.work_ns for r in rows), sum(r.hidden_ns for r in rows))
    assert "| *all* | {:g} | | {:g} | {:g} |".format(*sums) in PAGE


def test_gaps_are_those_of_the_table():
    result = breakdown(drawn()[0], "role")
    told = re.findall(r"^\| (\w+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert {gap.class_: gap.exposed_ns for gap in result.gaps} == {key: float(time) for key, time in told}
    assert f"| *all* | {result.totals['gap_ns']} |" in PAGE
    assert (result.totals["wall_ns"], result.second_card_ns) == (40, 21)
    assert [device.busy_ns for device in result.devices] == [19, 18]
    assert "18 + 3 = 21" in PAGE and "19 on card 0 and 18 on card 1" in PAGE


def test_join_wait_and_away_are_those_of_the_text():
    answer = drawn()[1]
    assert (answer.join_wait_us_per_step, answer.away_us_per_step) == (0.014, 0.020)
    assert answer.held_us_per_step == 0.015 and "14 + 1 = 15" in PAGE
    assert "29 − 15 = 14" in PAGE and "30 − 10 = 20" in PAGE
    assert ">join wait 14<" in PICTURE and ">away 20<" in PICTURE


def test_the_path_of_the_picture_is_the_path():
    found = drawn()[0]
    path = [int(a) for a in found.path.segment_start - FIRST], [int(b) for b in found.path.segment_end - FIRST]
    segments = {(a, b) for a, b in zip(*path, strict=True)}
    boxes = re.findall(r'class="ex" x="([\d.]+)" y="149" width="([\d.]+)"', PICTURE)
    in_us = {(round((float(x) - 86) / 16.4), round((float(x) - 86 + float(w)) / 16.4)) for x, w in boxes}
    assert in_us == segments


@pytest.mark.parametrize("name", CLASSES)
def test_every_gap_class_is_described(name):
    assert re.search(rf"^\| `{name}` \|", PAGE, re.MULTILINE)
