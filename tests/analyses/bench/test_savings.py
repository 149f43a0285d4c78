"""Bench files read back, and what modes save: the posts' table, paired blocks, bars met, missed and open."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.bench.results import (
    BenchFile,
    BenchResult,
    BenchWarning,
    Figure,
    further_warnings,
    machine_of,
    read_bench,
    warnings_of,
)
from stepprof.analyses.bench.savings import savings, unjudged
from stepprof.profiler.errors import InputError, UsageError

TODAY = {1: 82.9, 2: 99.4, 4: 133.4, 8: 195.0}
PERSISTENT = {1: 80.5, 2: 100.4, 4: 131.1, 8: 193.7}


def result(rows: int, mode: str, p50: float, *blocks: float) -> BenchResult:
    return BenchResult("sidecar call", rows, mode, Figure(p50, "quoted"), block_p50_us=blocks)


def test_the_table_of_the_posts_misses_its_bar():
    """100,000 calls a mode, p50 by rows; the printed cells give 2.3 where the posts print 2.4."""
    results = [result(rows, "call", us) for rows, us in TODAY.items()]
    results += [result(rows, "persistent", us) for rows, us in PERSISTENT.items()]
    found = savings(BenchFile("sidecar", tuple(results), bar_us=Figure(20.0, "quoted")))
    assert [(one.rows, round(one.saved_us, 1)) for one in found] == [(1, 2.4), (2, -1.0), (4, 2.3), (8, 1.3)]
    assert {(one.mode, one.against, one.verdict, one.low_us, one.kind) for one in found} == {
        ("persistent", "call", "no", None, "quoted")
    }


@pytest.mark.parametrize(("bar", "verdict"), [(5.0, "yes"), (10.0, "open"), (16.0, "no"), (None, None)])
def test_blocks_pair_up(bar: float | None, verdict: str | None):
    """Differences 8, 10, 12: mean 10, standard error 2/√3, t(0.975, 2) = 4.302653."""
    file = BenchFile("sidecar", (result(1, "a", 100, 100, 200, 300), result(1, "b", 90, 92, 190, 288)))
    (one,) = savings(file, bar)
    assert (one.saved_us, one.blocks, one.verdict) == (10.0, 3, verdict)
    assert one.low_us == pytest.approx(10 - 4.302653 * 2 / 3**0.5, abs=1e-5)
    assert one.high_us == pytest.approx(10 + 4.302653 * 2 / 3**0.5, abs=1e-5)


def test_things_are_compared_with_their_like():
    """Another name or number of rows is another comparison; a file's order says which mode is the first."""
    results = (result(1, "a", 5), result(2, "a", 7), result(2, "b", 6), result(1, "b", 9))
    assert [(one.rows, one.saved_us) for one in savings(BenchFile("x", results))] == [(2, 1.0), (1, -4.0)]


def test_a_bar_needs_two_modes():
    """A bar that is asked for is an error, the file's own a warning."""
    file = BenchFile("sidecar", (result(1, "a", 5), result(2, "b", 7)), bar_us=Figure(20.0, "quoted"))
    with pytest.raises(UsageError, match="--bar 5: a bar needs two modes of the same thing at the same rows"):
        savings(file, 5.0)
    (told,) = unjudged(file, savings(file))
    assert told["code"] == "bar_unjudged" and "the file's bar of 20 µs: a bar needs two modes" in told["text"]
    both = BenchFile("sidecar", (result(1, "a", 5), result(1, "b", 7)), bar_us=Figure(20.0, "quoted"))
    assert unjudged(both, savings(both)) == [] and unjudged(BenchFile("sidecar", ()), []) == []


CPU = BenchWarning("cpu", "this is the CPU: its times say nothing about a GPU.")


@pytest.mark.parametrize(
    ("gpu", "warnings", "machine", "codes", "further"),
    [
        ((), (), "CPU (its times say nothing about a GPU)", ["cpu"], []),  # written before warnings were
        ((), (CPU,), "CPU (its times say nothing about a GPU)", ["cpu"], []),
        (("NVIDIA H200",), (CPU,), "NVIDIA H200", ["cpu"], ["cpu"]),  # one device of two
        (("NVIDIA H200",), (), "NVIDIA H200", [], []),
        (None, (), "machine not told", [], []),
    ],
)
def test_the_cpu_is_told(
    gpu: tuple[str, ...] | None,
    warnings: tuple[BenchWarning, ...],
    machine: str,
    codes: list[str],
    further: list[str],
):
    file = BenchFile("sidecar", (), gpu=gpu, warnings=warnings)
    assert machine_of(file) == machine and [one["code"] for one in warnings_of(file)] == codes
    assert [one["code"] for one in further_warnings(file)] == further


def write(folder: Path, document: Any) -> Path:
    path = folder / "bench.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


LINE = {"name": "n", "rows": 1, "mode": "m", "p50_us": {"value": 1.5, "kind": "measured"}}


def test_keys_of_other_versions_are_left_alone(tmp_path: Path):
    file = read_bench(write(tmp_path, {"bench": "gemm", "new": 1, "results": [{**LINE, "other": [2]}]}))
    assert file.results == (BenchResult("n", 1, "m", Figure(1.5, "measured")),)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is no bench file"),
        ({"results": []}, "missing required field `bench`"),
        ({"bench": "x", "results": [{**LINE, "p50_us": 3}]}, r"\$.results\[0\].p50_us"),
        ({"bench": "x", "results": [{**LINE, "p50_us": {"value": 3, "kind": "guessed"}}]}, "guessed"),
        ({"bench": "x", "results": [], "bar_us": {"value": -5, "kind": "quoted"}}, "has a bar of -5 µs"),
        ({"bench": "x", "results": [LINE, LINE]}, "two results for 'n', 1 rows, mode 'm'"),
    ],
    ids=str,
)
def test_no_bench_file(document: Any, message: str, tmp_path: Path):
    with pytest.raises(InputError, match=message):
        read_bench(write(tmp_path, document))


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        read_bench(tmp_path / "none.json")
