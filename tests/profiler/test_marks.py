"""Marks open ranges only when somebody listens, by the names that the rules read."""

import sys
import types
from typing import Any

import pytest

from stepprof.profiler import marks

HEARD = [*marks.LISTENERS, marks.SWITCH]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch):
    """No listener, and none left behind."""
    for name in HEARD:
        monkeypatch.delenv(name, raising=False)
    marks.forget_choice()
    yield
    marks.forget_choice()


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pushes and pops as a fake nvtx sees them."""
    seen: list[str] = []

    class Domain:
        def get_event_attributes(self, message: str) -> str:
            return message

        def push_range(self, name: str) -> None:
            seen.append(f"+{name}")

        def pop_range(self) -> None:
            seen.append("-")

    monkeypatch.setitem(sys.modules, "nvtx", types.SimpleNamespace(get_domain=lambda _: Domain()))
    marks._nvtx_event.cache_clear()
    return seen


def test_names():
    assert [marks.step(3), marks.prefill(), marks.draft(2), marks.verify(), marks.accept()] == [
        "step/3",
        "prefill",
        "draft/2",
        "verify",
        "accept",
    ]
    assert marks.layer(7, "router") == "layer/7/router"
    assert marks.sidecar_call(4, rows=2, experts=3) == "sidecar/4 rows=2 experts=3"
    assert marks.sidecar_call(4) == "sidecar/4"
    assert marks.sidecar(4, "down") == "sidecar/4/down"


def test_nobody_listens():
    def function() -> int:
        return 1

    assert not marks.listening()
    assert marks.mark("a") is marks.mark("b") is marks.NOTHING
    assert marks.mark("a")(function) is function
    with marks.mark("a"):
        pass


@pytest.mark.parametrize("name", marks.LISTENERS)
def test_a_tool_is_there(name: str, monkeypatch: pytest.MonkeyPatch, ranges: list[str]):
    monkeypatch.setenv(name, "x")
    with marks.mark("outer"), marks.mark("inner"):
        pass
    assert ranges == ["+outer", "+inner", "-", "-"]


def test_switch_and_decorator(monkeypatch: pytest.MonkeyPatch, ranges: list[str]):
    monkeypatch.setenv(marks.SWITCH, "1")

    @marks.mark("work")
    def function(x: int) -> int:
        return x + 1

    assert function(1) == 2 and function(2) == 3
    assert ranges == ["+work", "-", "+work", "-"]


def test_switch_off_wins(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(marks.LISTENERS[0], "x")
    monkeypatch.setenv(marks.SWITCH, "0")
    assert not marks.listening()


def test_a_range_closes_on_a_fault(monkeypatch: pytest.MonkeyPatch, ranges: list[str]):
    monkeypatch.setenv(marks.SWITCH, "1")
    with pytest.raises(ZeroDivisionError), marks.mark("work"):
        _ = 1 / 0
    assert ranges == ["+work", "-"]


@pytest.mark.parametrize("word", ["torch", "both"])
def test_record_function(word: str, monkeypatch: pytest.MonkeyPatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv(marks.SWITCH, word)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile, marks.mark("layer/3/router"):
        torch.zeros(2).add_(1)
    events: list[Any] = profile.events()
    assert "layer/3/router" in {event.name for event in events}


def test_unknown_word(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(marks.SWITCH, "yes")
    with pytest.raises(ValueError, match="STEPPROF_MARKS='yes' is none of 0, 1, nvtx, torch, both"):
        marks.mark("x")
