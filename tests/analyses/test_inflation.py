"""What the control said is read back, printed by every output, and warned of beyond 5 %."""

import io

import pytest
from rich.console import Console

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.inflation import (
    TracedTimes,
    TracingInflation,
    farthest,
    inflation_warning,
    traced_times,
    tracing_inflation,
)
from stepprof.profiler.report.document import breakdown_document, roles_document, steps_document
from stepprof.profiler.report.terminal import show_inflation
from tests.trace_builder import TraceBuilder

KEYS = ("tracing_inflation", "tracing_inflation_interval", "inflation_span", "inflation_prologue")


def run(**entries: str) -> TraceBuilder:
    """Three steps of one kernel, and what the manifest says of the control."""
    made = TraceBuilder()
    for at in (0, 100, 200):
        made.range(f"step/{at // 100}", at, at + 100).kernel("gemm", at + 10, at + 20, call=(at + 5, at + 8))
    for key, value in entries.items():
        made.add("manifest", key=key, value=value)
    return made


def ratio(value: str, low: str, high: str) -> dict[str, str]:
    return {"tracing_inflation": value, "tracing_inflation_low": low, "tracing_inflation_high": high}


def test_no_control_is_no_inflation():
    store = run().store()
    assert tracing_inflation(store) is None and traced_times(store) == TracedTimes(None, ())


def test_ratio_interval_and_split_are_read():
    split = {"inflation_span": "0.05", "inflation_prologue": "0.2"}
    found = tracing_inflation(run(**ratio("1.25", "1.2", "1.3"), **split).store())
    assert found == TracingInflation(1.25, (1.2, 1.3), 0.05, 0.2)


@pytest.mark.parametrize(("value", "warns"), [(1.05, False), (1.06, True), (0.97, False), (0.96, False), (0.95, True)])
def test_the_warning_begins_beyond_five_percent(value, warns):
    """The ratio decides, wherever its interval lies."""
    assert (inflation_warning(TracingInflation(value, (0.9, 1.5))) is not None) is warns


def test_a_traced_launch_that_was_the_faster_one_is_told():
    warning = inflation_warning(TracingInflation(0.81, (0.73, 0.87)))
    assert warning is not None and warning["text"] == (
        "Tracing made a step 0.81 times as long as untraced (0.73 to 0.87): launches of this program differ by more than "
        "tracing costs, so times saved in this trace are not the times saved without it."
    )


def test_the_farthest_ratio_is_told_by_its_logarithm():
    """0.8 is 1.25 the other way round."""
    assert (farthest([1.2, 0.8, 1.02]), farthest([1.3, 0.8]), farthest([])) == (0.8, 1.3, 1.0)


def test_the_warning_says_how_much():
    warning = inflation_warning(TracingInflation(1.25, (1.2, 1.3)))
    assert warning is not None and (warning["code"], warning["count"]) == ("tracing_inflation", 1)
    assert warning["text"].startswith("Tracing made a step 1.25 times as long as untraced (1.20 to 1.30):")


def test_doubts_of_times_are_the_stand_in_and_the_inflation():
    made = run(**ratio("1.25", "1.2", "1.3")).add("warning", code="cpu_stand_in", count=3, text="of the CPU.")
    made.add("warning", code="op_duplicate", count=1, text="no doubt of times.")
    assert [warning["code"] for warning in traced_times(made.store()).warnings] == ["cpu_stand_in", "tracing_inflation"]


def test_every_document_carries_it():
    found = attribute(run(**ratio("1.25", "1.2", "1.3")).store())
    documents = [
        steps_document(found.steps, [], found.inflation),
        breakdown_document(breakdown(found)),
        roles_document(found, []),
    ]
    for document in documents:
        assert [document[key] for key in KEYS] == [1.25, [1.2, 1.3], None, None]


@pytest.mark.parametrize(("inflation", "lines"), [
    (None, "tracing cost unknown (no untraced control on record): trust shares more than ms\n"),
    (TracingInflation(1.25, (1.2, 1.3)), "tracing makes a step 1.25 times as long as untraced (1.20 to 1.30)\n"),
    (TracingInflation(1.25, None, 0.05, 0.2), "tracing makes a step 1.25 times as long as untraced\n"
                                              "   = 1 + 0.20 around the GPU's ops + 0.05 within them\n"),
])  # fmt: skip
def test_what_the_terminal_says(inflation, lines):
    out = io.StringIO()
    show_inflation(Console(file=out, width=80, soft_wrap=True, highlight=False), inflation)
    assert out.getvalue() == lines
