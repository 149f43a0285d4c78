"""The switches of `bench`, and what they build: `add_bench_commands(parser of "bench")`."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from pathlib import Path
from typing import Any, get_args

import torch

from stepprof.kernels.bench import NoGpu, add_switches, bench_kernels, experts, gemm
from stepprof.kernels.bench import show as show_kernels
from stepprof.kernels.bench.file import BenchFault, BenchUsage
from stepprof.kernels.bench.nodes import add_node_switches, bench_nodes, show_nodes
from stepprof.kernels.dense_gemm import MAX_ROWS
from stepprof.kernels.driver import DriverFault
from stepprof.kernels.shapes import PRESETS
from stepprof.runtime import arguments as switches
from stepprof.runtime.bench.alone import Clock
from stepprof.runtime.bench.determinism import Twice, bench_determinism
from stepprof.runtime.bench.sidecar import Wanted, bench_sidecar
from stepprof.runtime.described import Described
from stepprof.runtime.errors import ConfigError, RuntimeFault
from stepprof.runtime.options import Mode

MODES = ("call", "persistent", "graph")


def add_bench_commands(bench: argparse.ArgumentParser) -> None:
    """One command for each part."""
    parts = bench.add_subparsers(dest="part", required=True, action=Described)
    command = parts.add_parser("sidecar", help="a sidecar call by rows and mode, beside its floor")
    command.set_defaults(function=told(sidecar_command), show=show_results)
    _add_sidecar_switches(command)
    command = parts.add_parser("experts", help="the gather-GEMMs of cold experts, by backend and reduce")
    command.set_defaults(function=told(experts_command), show=show_results)
    _add_experts_switches(command)
    command = parts.add_parser("gemm", help="dense GEMMs of few rows by backend and tactic, alone and in a chain")
    command.set_defaults(function=told(gemm_command), show=show_results)
    _add_gemm_switches(command)
    command = parts.add_parser("determinism", help="the same sidecar calls twice, bit by bit")
    command.set_defaults(function=told(determinism_command), show=show_groups)
    _add_determinism_switches(command)
    command = parts.add_parser("kernels", help="each kernel alone, beside a copy of the same bytes")
    command.set_defaults(function=told(kernels_command), show=show_kernels)
    add_switches(command)
    command = parts.add_parser("nodes", help="what a node of a stream or graph costs: chains with nodes removed")
    command.set_defaults(function=told(nodes_command), show=show_nodes)
    add_node_switches(command)


def told(function: Any) -> Any:
    """The function, with faults of the benches below as faults of the runtime."""

    def run(given: argparse.Namespace) -> dict[str, Any]:
        try:
            return function(given)
        except BenchUsage as fault:
            raise ConfigError(str(fault)) from None
        except (NoGpu, BenchFault, DriverFault, NotImplementedError) as fault:
            raise RuntimeFault(str(fault)) from None
        except KeyboardInterrupt:
            raise RuntimeFault("interrupted; bench gemm has kept what it measured in the file of -o.") from None

    return run


def sidecar_command(given: argparse.Namespace) -> dict[str, Any]:
    """Sidecar calls alone."""
    config = switches.config_of(given)
    placement, weights = switches.placement_of(given, config), switches.weights_of(given)
    modes = given.modes or ((given.sidecar_mode,) if given.sidecar_mode else MODES)
    given.sidecar_mode = modes[0]
    wanted = Wanted(
        modes=modes,
        rows=given.rows,
        calls=given.calls,
        each=given.row_experts,
        clock=given.clock,
        **timing_of(given),
    )
    return bench_sidecar(config, switches.options_of(given), weights, placement, wanted)


def timing_of(given: argparse.Namespace) -> dict[str, Any]:
    """What all timed benches take: turns, budget, bar, and where the results go (add_plan_switches)."""
    plan = {"blocks": given.blocks, "budget_s": given.budget, "fit": given.fit, "bar_us": given.bar}
    return {**plan, "output": given.output, "command": command_line()}


def determinism_command(given: argparse.Namespace) -> dict[str, Any]:
    """The same calls twice."""
    config = switches.config_of(given)
    placement, weights = switches.placement_of(given, config), switches.weights_of(given)
    twice = Twice(given.rows, given.calls, given.seed, given.budget, given.output, command_line())
    return bench_determinism(config, switches.options_of(given), weights, placement, twice)


def experts_command(given: argparse.Namespace) -> dict[str, Any]:
    """Expert kernels alone."""
    if min(given.rows, default=0) < 1 or len(set(given.rows)) < len(given.rows):
        raise ConfigError("bench experts takes --rows of 1 or more, each once.")
    wanted = experts.Wanted(
        preset=given.preset,
        rows=given.rows,
        backends=given.backends,
        each=given.row_experts,
        samples=given.calls,
        **timing_of(given),
    )
    return experts.bench_experts(wanted)


def gemm_command(given: argparse.Namespace) -> dict[str, Any]:
    """Dense GEMMs alone and in a chain."""
    rows = set(given.rows)
    if not 1 <= min(rows, default=0) <= max(rows) <= MAX_ROWS or len(rows) < len(given.rows):
        raise ConfigError(f"bench gemm takes --rows of 1 to {MAX_ROWS}, each once.")
    if given.cache is not None:
        os.environ["TRITON_CACHE_DIR"] = str(given.cache)
    wanted = gemm.Wanted(
        shapes=given.shapes,
        rows=given.rows,
        backends=given.backends,
        samples=given.calls,
        compile_budget_s=given.compile_budget,
        **timing_of(given),
    )
    return gemm.bench_gemm(wanted)


def kernels_command(given: argparse.Namespace) -> dict[str, Any]:
    """Kernels alone."""
    return bench_kernels(given.preset, given.rows, given.ops, given.costs, given.dram)


def nodes_command(given: argparse.Namespace) -> dict[str, Any]:
    """What a node costs."""
    if given.out is not None and not given.out.parent.is_dir():
        raise ConfigError(f"-o {given.out}: there is no folder {given.out.parent}: make it or choose another.")
    try:
        return bench_nodes(given.repeats, given.out)
    except torch.OutOfMemoryError:
        raise RuntimeFault("the GPU has no 100 MiB free for bench nodes: end what else runs on it.") from None
    except OSError as fault:
        raise RuntimeFault(f"{given.out} cannot be written ({fault.strerror}): choose another -o.") from None


def command_line() -> str:
    """What a person would type to measure the same again, without where it wrote."""
    words = sys.argv[1:]
    for i in [i for i, word in enumerate(words) if word in ("-o", "--output")]:
        words[i : i + 2] = []
    return shlex.join(["stepprof", *(word for word in words if not word.startswith("--output="))])


def show_results(document: dict[str, Any]) -> None:
    """Warnings, then one line a result."""
    show_warnings(document)
    print(f"{document['bench']}: {document['clock']}")
    for one in document["results"]:
        figures = ", ".join(f"{key[:-3]} {one[key]['value']:.1f}" for key in ("p50_us", "p95_us", "p99_us", "max_us"))
        floor = f", floor {one['floor_us']['value']:.1f} µs (modelled)" if "floor_us" in one else ""
        print(f"{one['name']} {one['mode']}, {one['rows']} rows: {figures} µs (measured, {one['calls']} calls){floor}")


def show_groups(document: dict[str, Any]) -> None:
    """Warnings, then one line a group of calls."""
    show_warnings(document)
    for one in document["results"]:
        differ = f"{one['differ']} of {one['calls']} calls differ, by {one['max_ulp']} ulp at most"
        print(f"{one['reduce']} sum, {one['rows']} rows, up to {one['experts']} experts a row: {differ}")


def show_warnings(document: dict[str, Any]) -> None:
    """One line a warning."""
    for one in document["warnings"]:
        print(f"warning: {one['text']}")


def microseconds(text: str) -> float:
    """A number of microseconds above 0: 20 or 20us (the profiler's bench show reads --bar alike)."""
    value = _number(text.removesuffix("us").removesuffix("µs"))
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: give microseconds above 0, as in 20us")
    return value


def seconds(text: str) -> float:
    """A number of seconds, 0 or more."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: give seconds, as in 30")
    return value


def _number(text: str) -> float:
    """NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def modes(text: str) -> tuple[str, ...]:
    """Sidecar modes with commas."""
    words = switches.words(text)
    if wrong := [word for word in words if word not in get_args(Mode)]:
        raise argparse.ArgumentTypeError(f"no mode '{wrong[0]}'; there are {', '.join(MODES)}")
    return words


def shapes_of(text: str) -> tuple[tuple[int, int], ...]:
    """1792x5120,8192x1280"""
    found: list[tuple[int, int]] = []
    for word in switches.words(text):
        n, _, k = word.partition("x")
        found.append((switches.positive(n), switches.positive(k)))
    if not found or len(set(found)) != len(found):
        raise argparse.ArgumentTypeError("give shapes as NxK with commas, each once")
    return tuple(found)


def add_plan_switches(command: argparse.ArgumentParser, calls: int, what: str) -> None:
    """How much is timed, in how long, and where the results go."""
    add = command.add_argument_group("timing").add_argument
    add("--calls", type=switches.positive, default=calls, help=f"{what} (default: {calls:,})")
    add("--blocks", type=switches.positive, default=25, help="turns that the calls are divided into (default: 25)")
    add("--budget", type=seconds, metavar="SECONDS", help="of the timing phase; a run that cannot fit says so first")
    add("--fit", action="store_true", help="time fewer calls where the budget asks for it, rather than leave")
    add("-o", "--output", type=Path, metavar="FILE", help="write the results here (a bench file, JSON)")
    add("--bar", type=microseconds, metavar="20us", help="what a mode must save against the first, kept in the file")


def _add_sidecar_switches(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--rows", type=switches.whole_numbers, default=(1, 2, 4, 8), help="rows of a call, with commas")
    add("--modes", type=modes, help=f"with commas; savings are against the first (default: {','.join(MODES)})")
    add("--row-experts", type=switches.positive, default=1, help="cold experts of a row (default: 1)")
    add("--clock", choices=get_args(Clock), help="GPU events (default on a GPU) or the host's clock")
    add_plan_switches(command, 100_000, "calls of a mode, spread over the rows")
    add_shared(command)
    command.set_defaults(sidecar_mode=None)


def _add_experts_switches(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--preset", choices=[shapes.name for shapes in PRESETS], default="flash", help="whose sizes (default: flash)")
    add("--rows", type=switches.whole_numbers, default=(1, 2, 4, 8), help="rows of a call, with commas")
    add("--backends", type=switches.words, default=experts.BACKENDS, help="with commas; the first is compared to")
    add("--row-experts", type=switches.positive, default=1, help="experts of a row (default: 1)")
    add("--json", action="store_true", help="print one JSON document")
    add_plan_switches(command, 500, "samples of each")


def _add_gemm_switches(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    shapes = ",".join(f"{n}x{k}" for n, k in gemm.SHAPES)
    add("--shapes", type=shapes_of, default=gemm.SHAPES, help=f"N x K of the weights, with commas (default: {shapes})")
    add("--rows", type=switches.whole_numbers, default=(1, 2, 4, 8), help=f"with commas, up to {MAX_ROWS}")
    add("--backends", type=switches.words, default=gemm.BACKENDS, help="with commas; the first is compared to")
    add("--compile-budget", type=seconds, metavar="SECONDS", help="tactics not compiled by then are left out and named")
    add("--cache", type=Path, metavar="FOLDER", help="of compiled kernels, kept between runs (default: Triton's own)")
    add("--json", action="store_true", help="print one JSON document")
    add_plan_switches(command, 500, "samples of each")


def _add_determinism_switches(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--rows", type=switches.whole_numbers, default=(1, 2, 4, 8), help="rows of a call, with commas")
    add("--calls", type=switches.positive, default=100_000, help="calls of each sum (default: 100,000)")
    add("--budget", type=seconds, metavar="SECONDS", help="of all calls; a run that cannot fit says so first")
    add("-o", "--output", type=Path, metavar="FILE", help="write the groups here (a bench file, JSON)")
    add_shared(command)


def add_shared(command: argparse.ArgumentParser) -> None:
    """What every command that builds a model takes."""
    command.add_argument("--json", action="store_true", help="print one JSON document")
    switches.add_model_switches(command)
    switches.add_step_switches(command)
