"""stepprof bench: runs the runtime's bench, then judges and draws the file that it wrote.

    stepprof bench sidecar --modes call,persistent --bar 20us --html saved.html
    stepprof bench show FILE [--bar 20us] [--html FILE] [--json]        # a file from before

The question of a bar is whether any mode beats it: exit code 3 where none meets it at every number of rows of one
thing, 0 where one does. A bar that has nothing to judge, or a chart of what no bench timed, is wrong usage.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stepprof.analyses.bench.determinism import determinism, read_groups
from stepprof.analyses.bench.results import DETERMINISM, read_bench, read_head, warnings_of
from stepprof.analyses.bench.savings import Saving, savings, unjudged
from stepprof.profiler.commands.shared import print_json
from stepprof.profiler.errors import CheckFailed, InputError, UsageError
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.bench_chart import bench_html
from stepprof.profiler.report.terminal_bench import show_bench, show_determinism
from stepprof.profiler.runtime_command import start_runtime

TIMED = ("sidecar", "experts", "gemm")
MORE = (
    "bench sidecar, experts and gemm also take --html FILE, the chart as one page; "
    "bench show FILE judges a file from before."
)
NO_TIMES = "bench determinism compares answers and times nothing: leave it out."


def run_bench(words: Sequence[str]) -> int:
    """Everything below `stepprof bench`; the exit code."""
    part = words[0] if words else ""
    if part == "show":
        return _show(words[1:])
    if part not in (*TIMED, DETERMINISM) or {"-h", "--help"} & set(words):
        code = start_runtime("bench", list(words))
        if {"-h", "--help"} & set(words):
            terminal.console().print(MORE)
        return code
    given, rest = _parser(show=False).parse_known_args(words[1:])
    if given.html is not None and part == DETERMINISM:
        raise UsageError(f"--html draws times, and {NO_TIMES}")
    if given.html is not None and not given.html.parent.is_dir():  # rather now than after the measurement
        raise InputError(f"{given.html} cannot be written (no such folder): choose another file.")
    with tempfile.TemporaryDirectory(prefix="stepprof-bench-") as folder:
        file: Path = given.output or Path(folder) / "bench.json"
        code = start_runtime("bench", [part, *rest, "--output", str(file)], quiet=True)
        if code or part == DETERMINISM:
            return code or judge_twice(file, given.json)
        return judge(file, None, given.html, given.json)


def judge(file: Path, bar_us: float | None, html: Path | None, json_: bool) -> int:
    """Savings of a bench file, printed and drawn; 0, or CheckFailed where a bar is missed."""
    results = read_bench(file)
    found = savings(results, bar_us)
    if html is not None:
        document.write_text(html, bench_html(results, found))
    if json_:
        judged = [dataclasses.asdict(one) for one in found]
        warnings = warnings_of(results) + unjudged(results, found)
        print_json(json.loads(file.read_text()) | {"warnings": warnings, "savings": judged})
    else:
        show_bench(terminal.console(), results, found)
    return _verdict(found)


def judge_twice(file: Path, json_: bool) -> int:
    """What a file of bench determinism points at."""
    head, found = read_head(file), determinism(read_groups(file))
    if json_:
        judged = [dataclasses.asdict(one) for one in found]
        print_json(json.loads(file.read_text()) | {"warnings": warnings_of(head), "determinism": judged})
    else:
        show_determinism(terminal.console(), head, found)
    return 0


def _verdict(found: Sequence[Saving]) -> int:
    bar = next((one.bar_us for one in found if one.bar_us is not None), None)
    modes: dict[tuple[str, str], list[Saving]] = {}
    for one in found:
        modes.setdefault((one.name, one.mode), []).append(one)
    if bar is None or any(all(one.verdict == "yes" for one in mine) for mine in modes.values()):
        return 0
    raise CheckFailed(f"no mode saves {bar:g} µs at every number of rows.")


def _show(words: Sequence[str]) -> int:
    parser = _parser(show=True)
    given = parser.parse_args(words)
    if read_head(given.file).bench == DETERMINISM:
        if given.bar is not None or given.html is not None:
            raise UsageError(f"{'--html draws' if given.bar is None else '--bar judges'} times, and {NO_TIMES}")
        return judge_twice(given.file, given.json)
    return judge(given.file, given.bar, given.html, given.json)


def _parser(*, show: bool) -> argparse.ArgumentParser:
    """The switches that the profiler itself takes from a bench command."""
    name = "stepprof bench show" if show else "stepprof bench"
    parser = argparse.ArgumentParser(prog=name, allow_abbrev=False, add_help=show)
    parser.add_argument("--html", type=Path, metavar="FILE", help="draw the chart here, as one page")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    if show:
        parser.add_argument("file", type=Path, help="a bench file")
        parser.add_argument("--bar", type=microseconds, metavar="20us", help="what a mode must save against the first")
    else:
        parser.add_argument("-o", "--output", type=Path)
    return parser


def microseconds(text: str) -> float:
    """A number of microseconds above 0: 20 or 20us (the runtime's benches read --bar alike)."""
    try:
        value = float(text.removesuffix("us").removesuffix("µs"))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UsageError(f"--bar {text}: give microseconds above 0, as in 20us.")
    return value
