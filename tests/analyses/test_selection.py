"""Which steps a question is about."""

import pytest

from stepprof.analyses.selection import as_slices, chosen_steps
from stepprof.analyses.steps import Steps
from stepprof.profiler.errors import UsageError
from tests.analyses.accounts import find
from tests.trace_builder import TraceBuilder


@pytest.fixture(scope="module")
def steps() -> Steps:
    """Four steps."""
    trace = TraceBuilder()
    for i in range(4):
        trace.range(f"step/{i}", 10 * i, 10 * i + 9).kernel("a", 10 * i + 3, 10 * i + 5, call=(10 * i + 1, 10 * i + 2))
    return find(trace)


def test_no_choice_means_the_default(steps):
    assert chosen_steps(steps) is None


@pytest.mark.parametrize(
    ("span", "chosen"),
    [("1:3", [1, 2]), (":2", [0, 1]), ("2:", [2, 3]), (":", [0, 1, 2, 3]), ("3:99", [3]), ("0:1", [0])],
)
def test_a_span_is_a_slice(steps, span, chosen):
    assert chosen_steps(steps, span=span) == chosen


@pytest.mark.parametrize(("chosen", "said"), [([0, 1, 2, 5], "0:3, 5:6"), ([3], "3:4"), ([2, 1, 2], "1:3"), ([], "")])
def test_chosen_steps_as_slices(chosen, said):
    assert as_slices(chosen) == said


@pytest.mark.parametrize("step", [0, 3])
def test_one_step(steps, step):
    assert chosen_steps(steps, step=step) == [step]


@pytest.mark.parametrize("step", [-1, 4])
def test_a_step_that_is_not_there(steps, step):
    with pytest.raises(UsageError, match=f"there is no step {step}: this trace has steps 0 to 3"):
        chosen_steps(steps, step=step)


@pytest.mark.parametrize("span", ["2", "2:2", "3:1", "4:", "a:b", "1:2:3", ""])
def test_a_span_that_chooses_nothing(steps, span):
    with pytest.raises(UsageError, match="chooses nothing: give A:B within 0:4") as fault:
        chosen_steps(steps, span=span)
    assert fault.value.exit_code == 2


def test_a_step_and_a_span_exclude_each_other(steps):
    with pytest.raises(UsageError, match="exclude each other"):
        chosen_steps(steps, step=1, span="0:2")
