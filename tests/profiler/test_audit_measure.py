"""audit --measure on cards whose times are made up: medians, units, the effect on a step, and the sentences."""

import ctypes
import json
from dataclasses import replace

import pytest

from stepprof.profiler import audit_cuda
from stepprof.profiler.audit_cuda import LARGE, opened_cards
from stepprof.profiler.audit_effect import Crossing, copy_effect, read_measured
from stepprof.profiler.audit_measure import SMALL, Measured, Way, measured, measured_document, ways
from stepprof.profiler.errors import InputError


class FakeStream:
    """A copy takes 2 µs and 1 µs for every MiB, a read 0.5 µs; the host sees a copy done 7 µs later."""

    def __init__(self) -> None:
        self.now_ns, self.queued_us, self.used = 0, 0.0, 0

    def use(self) -> None:
        self.used += 1

    def copy(self, size: int) -> None:
        self.queued_us += 2 + size / 2**20

    def chase(self, count: int) -> None:
        self.queued_us += count / 2

    def wait(self) -> None:
        self.now_ns += round(self.queued_us * 1000) + 7000
        self.queued_us = 0

    def elapsed_us(self, enqueue) -> float:
        self.queued_us = 0
        enqueue()
        return self.queued_us


def figures(found: list[Measured]) -> dict[str, tuple[float, str]]:
    return {fact.name: (round(fact.value, 3), fact.unit) for fact in found}


def test_copies_have_latency_queued_time_and_bandwidth():
    stream = FakeStream()
    found = measured(iter([Way("host_to_card", "0", stream, stream.copy)]), lambda: stream.now_ns)
    assert SMALL == 2**14 and LARGE == 256 * 2**20
    assert figures(found) == {
        "host_to_card_latency_us": (9.016, "µs"),  # 2 + 1/64 and 7 until it is seen, in whole ns
        "host_to_card_queued_us": (2.016, "µs"),
        "host_to_card_bandwidth_gb_per_s": (round(LARGE / 258 / 1e3, 3), "GB/s"),
    }
    assert stream.used == 1
    assert {row["kind"] for row in measured_document(found)} == {"measured"}


def test_reads_of_kernels_have_latency_and_bandwidth():
    stream = FakeStream()
    found = measured(iter([Way("mapped", "0", stream, stream.copy, stream.chase)]))
    assert figures(found) == {
        "mapped_read_latency_us": (0.5, "µs"),
        "mapped_read_bandwidth_gb_per_s": (round(LARGE / 258 / 1e3, 3), "GB/s"),
    }


def costs(way: str, latency_us: float, gb_per_s: float) -> list[Measured]:
    return [
        Measured(f"{way}_latency_us", "0", latency_us, "µs", SMALL, ""),
        Measured(f"{way}_bandwidth_gb_per_s", "0", gb_per_s, "GB/s", LARGE, ""),
    ]


HERE = [*costs("card_to_card", 10, 100), *costs("host_to_card", 5, 10)]
CALLS = [Crossing("card_to_card", 36, 1_000_000), Crossing("host_to_card", 0, 0)]


def test_copies_are_bounded_by_latency_and_bytes():
    """36 copies of 10 µs, and 1 MB at 100 GB/s: 370 µs of a step of 10 ms."""
    effect = copy_effect(HERE, 10_000, 18, CALLS, None)
    assert (effect.at_most_us, effect.at_most_share, effect.predicted_us) == (370, 0.037, None)
    assert effect.verdict == "no reboot: all copies together are at most 3.7% of a step (bar 5%)"
    assert [(way.way, way.copies, way.here_us) for way in effect.ways] == [("card_to_card", 36, 370)]
    assert copy_effect(HERE, 5_000, 18, CALLS, None).verdict.startswith("open: copies may be up to 7.4%")


@pytest.mark.parametrize(
    ("latency_us", "added_us", "words"),
    [(2, -288, "worth a change: 5.8% of a step faster there"), (12, 72, "no change: 1.4% of a step slower there")],
)
def test_another_setting_is_predicted_by_the_difference(latency_us, added_us, words):
    effect = copy_effect(HERE, 5_000, 18, CALLS, costs("card_to_card", latency_us, 100))
    assert effect.predicted_us == pytest.approx(added_us) and effect.kind == "modelled"
    assert effect.verdict == f"{words} (bar 5%)"


def test_copies_that_nobody_measured_leave_it_open():
    effect = copy_effect(HERE, 10_000, 0, [Crossing("card_to_host", 1, 8)], None)
    assert (effect.unknown, effect.ways) == (["card_to_host"], [])
    assert effect.verdict == "not known: copies card_to_host were not measured"


def test_cards_count_with_their_median():
    three = [replace(fact, value=value) for fact in HERE[:1] for value in (1.0, 10.0, 400.0)]
    assert copy_effect([*three, HERE[1]], 10_000, 18, CALLS, None).at_most_us == 370


def test_measurements_are_read_back(tmp_path):
    path = tmp_path / "before.json"
    path.write_text(json.dumps({"measured": measured_document(HERE)}))
    assert read_measured(path) == HERE


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"measured": []}', '{"measured": [{"name": "x"}]}', '{"measured": 3}']
)
def test_a_document_without_measurements_is_one_sentence(tmp_path, text):
    path = tmp_path / "before.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"before\.json holds no measurements: write it with"):
        read_measured(path)


class FakeDriver:
    """libcuda with two cards that reach each other; what is asked is kept, copies move real bytes."""

    def __init__(self, cards: int = 2, broken: str = "") -> None:
        self.cards, self.broken, self.asked = cards, broken, list[str]()
        self.host = ctypes.create_string_buffer(64)

    def __getattr__(self, name: str):
        def call(*arguments) -> int:
            self.asked.append(name)
            answers = {
                "cuDeviceGetCount": self.cards,
                "cuMemHostAlloc": ctypes.addressof(self.host),
                "cuMemHostGetDevicePointer_v2": 77,
                "cuDeviceCanAccessPeer": 1,
                "cuEventElapsedTime": 1.5,
            }
            if name in answers:
                arguments[0]._obj.value = answers[name]
            return 2 if name == self.broken else 0

        return call


def test_all_ways_of_two_cards(monkeypatch):
    driver = FakeDriver()
    monkeypatch.setattr(audit_cuda, "_driver", lambda: driver)
    with opened_cards() as cards:
        found = [(way.name, way.gpu) for way in ways(cards)]
        assert cards[0].elapsed_us(lambda: cards[0].to_card(8)) == 1500
        assert ctypes.c_uint64.from_buffer(driver.host).value == 77, "the mapped pointer points to itself"
        cards[0].chase(77, 10)
    assert found == [
        ("host_to_card", "0"), ("card_to_host", "0"), ("mapped", "0"), ("card_to_card", "0 to 1"), ("peer", "0 to 1"),
        ("host_to_card", "1"), ("card_to_host", "1"), ("mapped", "1"), ("card_to_card", "1 to 0"), ("peer", "1 to 0"),
    ]  # fmt: skip
    assert driver.asked.count("cuMemHostAlloc") == 1 and driver.asked.count("cuDevicePrimaryCtxRelease_v2") == 2
    assert "cuLaunchKernel" in driver.asked


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (FakeDriver(0), "the driver shows none"),
        (FakeDriver(broken="cuInit"), "the driver shows none"),
        (FakeDriver(broken="cuMemAlloc_v2"), "cuMemAlloc_v2 failed with CUDA error 2"),
    ],
    ids=["no card", "no init", "no memory"],
)
def test_what_cannot_be_measured_is_one_sentence(monkeypatch, driver, words):
    monkeypatch.setattr(audit_cuda, "_driver", lambda: driver)
    with pytest.raises(InputError, match=words), opened_cards():
        pass


@pytest.mark.gpu
def test_real_cards_have_figures():
    try:
        with opened_cards() as cards:
            found = measured(ways(cards))
    except InputError as fault:
        pytest.skip(str(fault))
    assert {"host_to_card_latency_us", "mapped_read_latency_us"} <= {fact.name for fact in found}
    assert all(fact.value > 0 for fact in found)
