"""stepprof bench: runs the runtime's bench, then judges and draws the file that it wrote.

    stepprof bench sidecar --modes call,persistent --bar 20us --html saved.html
    stepprof bench show FILE [--bar 20us] [--html FILE] [--json]        # a file from before

Exit code 3 where a bar was given and no mode meets it at every number of rows.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stepprof.analyses.bench.determinism import determinism, read_groups
from stepprof.analyses.bench.results import bench_of, read_bench
from stepprof.analyses.bench.savings import Saving, savings
from stepprof.profiler.commands.shared import print_json
from stepprof.profiler.errors import CheckFailed, InputError, UsageError
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.bench_chart import bench_html
from stepprof.profiler.report.terminal_bench import show_bench, show_determinism
from stepprof.profiler.runtime_command import start_runtime

TIMED = ("sidecar", "experts", "gemm")
TWICE = "determinism"
MORE = "stepprof bench also takes --html FILE, the chart as one page, and bench show FILE judges a file from before."


def run_bench(words: Sequence[str]) -> int:
    """Everything below `stepprof bench`; the exit code."""
    part = words[0] if words else ""
    if part == "show":
        return _show(words[1:])
    if part not in (*TIMED, TWICE) or {"-h", "--help"} & set(words):
        code = start_runtime("bench", list(words))
        if {"-h", "--help"} & set(words):
            terminal.console().print(MORE)
        return code
    given, rest = _parser(show=False).parse_known_args(words[1:])
    if given.html is not None and not given.html.parent.is_dir():  # rather now than after the measurement
        raise InputError(f"{given.html} cannot be written (no such folder): choose another file.")
    with tempfile.TemporaryDirectory(prefix="stepprof-bench-") as folder:
        file: Path = given.output or Path(folder) / "bench.json"
        code = start_runtime("bench", [part, *rest, "--output", str(file)], quiet=True)
        if code or part == TWICE:
            return code or judge_twice(file, given.json)
        return judge(file, None, given.html, given.json)


def judge(file: Path, bar_us: float | None, html: Path | None, json_: bool) -> int:
    """Savings of a bench file, printed and drawn; 0, or CheckFailed where a bar is missed."""
    results = read_bench(file)
    found = savings(results, bar_us)
    if html is not None:
        document.write_text(html, bench_html(results, found))
    if json_:
        print_json(json.loads(file.read_text()) | {"savings": [dataclasses.asdict(one) for one in found]})
    else:
        show_bench(terminal.console(), results, found)
    return _verdict(found)


def judge_twice(file: Path, json_: bool) -> int:
    """What a file of bench determinism points at."""
    found = determinism(read_groups(file))
    if json_:
        judged = [dataclasses.asdict(one) for one in found]
        print_json(json.loads(file.read_text()) | {"determinism": judged})
    else:
        show_determinism(terminal.console(), found)
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
    if bench_of(given.file) == TWICE:
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
    """A number of microseconds: 20 or 20us."""
    try:
        return float(text.removesuffix("us").removesuffix("µs"))
    except ValueError:
        raise UsageError(f"--bar {text}: give microseconds, as in 20us.") from None
