"""Ops outside the window are left out after the import, with the calls that launched them."""

import pytest

from stepprof.analyses.refusals import refuse_unanswerable
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.importer import content_hash
from stepprof.profiler.ingest.window import Window, keep_window, window_of
from stepprof.profiler.store import Store
from tests.trace_builder import TraceBuilder


def six_steps() -> Store:
    """Steps of 100 ns, each a graph of one kernel; step 3 is marked by a range inside it too."""
    trace = TraceBuilder().range("warm-up", 0, 100).range("step/3", 310, 390)
    for i in range(6):
        trace.range(f"step/{i}", 100 * i, 100 * i + 100)
        trace.graph_launch(call=(100 * i + 5, 100 * i + 10)).kernel("k", 100 * i + 20, 100 * i + 120, node=1)
    return trace.store()


def starts(store: Store) -> list[int]:
    return [ns for (ns,) in store.rows("SELECT start_ns FROM op ORDER BY start_ns")]


@pytest.mark.parametrize(("window", "expected"), [
    (Window(), [20, 120, 220, 320, 420, 520]),
    (Window(steps="1:3"), [120, 220]),
    (Window(steps="3:5"), [320, 420]),  # the mark inside step 3 is no step of its own
    (Window(steps="5:99"), [520]),
    (Window(steps="0:1", marker="^warm"), [20]),
    (Window(range_="^step/[24]$"), [220, 420]),
    (Window(delay_s=1), [20, 120, 220, 320, 420, 520]),
])  # fmt: skip
def test_ops_of_the_window_stay(window, expected):
    store = six_steps()
    keep_window(store, window, recorded=False)
    assert starts(store) == expected
    assert store.value("SELECT count(*) FROM api") == len(expected)
    refuse_unanswerable(store)  # launches left out are not lost ones


def test_a_backend_that_began_with_the_steps_is_believed_but_not_for_their_end_or_for_ranges():
    store = six_steps()
    keep_window(store, Window(steps="1:3"), recorded=True)
    assert starts(store) == [20, 120, 220], "what came before the window is the backend's word"
    keep_window(store, Window(range_="step/1"), recorded=True)
    assert starts(store) == [120]


def test_calls_around_what_the_collector_recorded_are_left_out():
    """It records calls from the start and ops in the window only: the other launches are not lost ones."""
    trace = TraceBuilder()
    for i in range(6):
        trace.range(f"step/{i}", 100 * i, 100 * i + 100).api("cudaStreamSynchronize", 100 * i + 15, 100 * i + 95)
        if i in (2, 3):
            trace.graph_launch(call=(100 * i + 5, 100 * i + 10)).kernel("k", 100 * i + 20, 100 * i + 90, node=1)
        else:
            trace.api("cudaGraphLaunch", 100 * i + 5, 100 * i + 10, correlation=1000 + i)
    store = trace.store()
    keep_window(store, Window(steps="2:4"), recorded=True)
    assert store.rows("SELECT start_ns FROM api ORDER BY 1") == [(205,), (215,), (305,), (315,)]
    refuse_unanswerable(store)


def windowed(recorded, ends_late):
    """Six steps, graph launches in each, ops recorded for some; one launch has the end of the last step's."""
    trace = TraceBuilder()
    for i in range(6):
        trace.range(f"step/{i}", 100 * i, 100 * i + 100)
        if i in recorded:
            end = 590 if i == ends_late else 100 * i + 90
            trace.graph_launch(call=(100 * i + 5, 100 * i + 10)).kernel("k", 100 * i + 20, end, node=1)
        else:
            trace.api("cudaGraphLaunch", 100 * i + 5, 100 * i + 10, correlation=1000 + i)
    return trace.store()


def test_the_launch_that_closes_a_window_of_steps_is_left_out():
    """CUPTI gives the last launch before the end of recording the end of a later replay (seen on CUDA 13.0)."""
    store = windowed(recorded=(2, 3, 4), ends_late=4)
    keep_window(store, Window(steps="2:4"), recorded=True)
    assert store.rows("SELECT start_ns, end_ns FROM op ORDER BY 1") == [(220, 290), (320, 390)]
    assert store.rows("SELECT start_ns FROM api ORDER BY 1") == [(205,), (305,)]
    refuse_unanswerable(store)


def test_the_launch_that_a_time_cut_is_left_out():
    store = windowed(recorded=(2, 3, 4), ends_late=4)
    keep_window(store, Window(delay_s=1, duration_s=1), recorded=True)
    assert store.rows("SELECT start_ns, end_ns FROM op ORDER BY 1") == [(220, 290), (320, 390)]
    assert store.rows("SELECT code, count FROM warning") == [("window_cut", 1)]


def test_an_end_after_the_node_ran_again_is_told():
    """A program two steps ahead of the GPU: the launch before the last has the end of a later one too."""
    store = windowed(recorded=(2, 3, 4), ends_late=3)
    keep_window(store, Window(steps="2:4"), recorded=True)
    assert store.rows("SELECT code, count FROM warning") == [("window_late_ends", 1)]


def test_a_time_that_outlasts_the_program_cuts_nothing():
    store = windowed(recorded=(2, 3, 4, 5), ends_late=None)
    keep_window(store, Window(delay_s=1, duration_s=1), recorded=True)
    assert [start for (start,) in store.rows("SELECT start_ns FROM op ORDER BY 1")] == [220, 320, 420, 520]


def test_calls_that_launch_nothing_stay():
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200).api("cudaDeviceSynchronize", 50, 60)
    store = trace.kernel("k", 20, 30, call=(5, 6)).kernel("k", 120, 130, call=(105, 106)).store()
    keep_window(store, Window(steps="1:2"), recorded=False)
    assert store.rows("SELECT start_ns FROM api ORDER BY start_ns") == [(50,), (105,)]


@pytest.mark.parametrize(("window", "sentence"), [
    (Window(steps="6:9"), "the run has 6 steps, so give --steps A:B with A below 6"),
    (Window(steps="0:1", marker="tick"), "no range matches 'tick'; the run has step/0, warm-up, step/1, step/2, step/3"),
    (Window(range_="verify"), "no range matches 'verify'; the run has step/0"),
])  # fmt: skip
def test_an_empty_window_is_told(window, sentence):
    with pytest.raises(InputError, match=sentence):
        keep_window(six_steps(), window, recorded=False)


def test_a_run_without_ranges_says_so():
    with pytest.raises(InputError, match="the run has no ranges at all"):
        keep_window(TraceBuilder().kernel("k", 1, 2).store(), Window(range_="x"), recorded=True)


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e12, 1_000_001, -0.5])
@pytest.mark.parametrize("option", ["delay", "duration"])
def test_times_that_no_capture_waits_for_are_refused(option, seconds):
    with pytest.raises(UsageError, match=rf"^--{option} \S+ is no time to wait for: give seconds from 0 to 1000000\.$"):
        Window(**{f"{option}_s": seconds})


@pytest.mark.parametrize(("seconds", "ms"), [(0.0001, "1"), (0.0004, "1"), (0.0016, "2"), (1_000_000, "1000000000")])
def test_a_short_duration_is_not_none(seconds, ms):
    assert Window(duration_s=seconds).environment == {"STEPPROF_DURATION_MS": ms}
    assert Window(duration_s=0).environment == {}


def test_expressions_are_utf8():
    with pytest.raises(UsageError, match=r"--marker '\\udcff' is not UTF-8: give it in UTF-8\."):
        Window(steps="0:1", marker="\udcff")


def test_a_window_is_read_again_as_it_was_saved(tmp_path):
    for window in (Window(steps="2:4", marker="tick"), Window(range_="^x"), Window(delay_s=0.5, duration_s=2)):
        window.save(tmp_path)
        assert window_of(tmp_path) == window == window_of(tmp_path / "7.steprec")
    whole = tmp_path / "whole"
    whole.mkdir()
    Window().save(whole)
    assert window_of(whole) == Window() and not list(whole.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}}",
        '{"steps": 5}',
        '{"steps": "5:1"}',
        '{"shell": "rm"}',
        '{"delay_s": "x"}',
        '{"delay_s": Infinity}',
        '{"range_": 5}',
    ],
)
def test_a_damaged_window_is_told(tmp_path, text):
    (tmp_path / "window.json").write_text(text)
    with pytest.raises(InputError, match=r"window\.json is no window of a capture: record again, or remove it"):
        window_of(tmp_path)


def test_the_window_is_part_of_what_a_folder_holds(tmp_path):
    """Else a cached run would outlive a window that was taken away."""
    (tmp_path / "7.steprec").write_bytes(b"x")
    hashes = [content_hash(tmp_path)]
    for steps in ("2:4", "2:5"):
        Window(steps=steps).save(tmp_path)
        hashes.append(content_hash(tmp_path))
    assert len(set(hashes)) == 3
