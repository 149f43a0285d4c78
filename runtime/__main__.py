"""The command line of the model under study: `python -m stepprof.runtime run --preset tiny --steps 8 --json`.

With --json standard output carries one JSON document; everything else goes to standard error. Exit codes: 0 done,
1 the input, the machine or the sidecar is at fault, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels.bench import NoGpu, add_switches, bench_kernels
from stepprof.kernels.bench import show as show_kernels
from stepprof.kernels.bench.nodes import add_node_switches, bench_nodes, show_nodes
from stepprof.kernels.driver import DriverFault
from stepprof.kernels.resident import RING
from stepprof.runtime import arguments as switches
from stepprof.runtime.bench import bench_sidecar
from stepprof.runtime.described import Described
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import ConfigError, RuntimeFault, SidecarError
from stepprof.runtime.facts import Facts, write_resident
from stepprof.runtime.profiled import Profiled
from stepprof.runtime.prompts import CLASSES
from stepprof.runtime.run import Plan, run
from stepprof.runtime.serve.command import add_serve_switches, serve_command, show_serve
from stepprof.runtime.sidecar_modes.persistent import PersistentSidecar
from stepprof.runtime.sidecar_modes.resident import ResidentSidecar
from stepprof.runtime.truth import Truth


def run_command(given: argparse.Namespace) -> dict[str, Any]:
    """Prompts through the engine."""
    config = switches.config_of(given)
    truth = Truth() if given.truth else None
    placement = switches.placement_of(given, config)
    classes = CLASSES if given.prompts == ("all",) else given.prompts
    plan = Plan(classes, given.steps, given.warm_up, given.context)
    facts_file = Facts(given.facts) if given.facts else nullcontext()
    profiled = Profiled(given.profile) if given.profile else nullcontext()
    if given.resident and given.sidecar_mode != "persistent":
        raise ConfigError("--resident stamps the calls of --sidecar-mode persistent only: add it.")
    made = (config, switches.options_of(given), switches.weights_of(given), placement, truth)
    with facts_file as facts, profiled as profile, Engine.make(*made) as engine:
        engine.runner.timed = given.gpu_times
        document = run(engine, plan, facts, profile)
        if given.resident:
            document["notes"] += _stamped(given.resident, resident_of(engine))
    if truth is not None:
        truth.write(given.truth)
    return document


def resident_of(engine: Engine) -> PersistentSidecar | ResidentSidecar:
    """The sidecar of mode `persistent`."""
    sidecar = engine.runner.sidecar
    assert isinstance(sidecar, PersistentSidecar | ResidentSidecar), f"{type(sidecar)=}"
    return sidecar


def _stamped(path: Path, sidecar: PersistentSidecar | ResidentSidecar) -> list[str]:
    """Write the stamps of its calls; what the file lacks, as notes."""
    write_resident(path, *sidecar.call_stamps())
    if not sidecar.ring_full:
        return []
    return [f"the resident kernel keeps its last {RING} stamps: earlier calls may be missing in {path.name}."]


def bench_command(given: argparse.Namespace) -> dict[str, Any]:
    """Sidecar calls alone."""
    config = switches.config_of(given)
    placement = switches.placement_of(given, config)
    options = switches.options_of(given)
    return bench_sidecar(config, options, switches.weights_of(given), placement, given.rows, given.rounds)


def kernels_command(given: argparse.Namespace) -> dict[str, Any]:
    """Kernels alone."""
    try:
        return bench_kernels(given.preset, given.rows, given.ops, given.costs, given.dram)
    except NoGpu as fault:
        raise RuntimeFault(str(fault)) from None


def nodes_command(given: argparse.Namespace) -> dict[str, Any]:
    """What a node costs."""
    if given.out is not None and not given.out.parent.is_dir():
        raise ConfigError(f"-o {given.out}: there is no folder {given.out.parent}: make it or choose another.")
    try:
        return bench_nodes(given.repeats, given.out)
    except (NoGpu, DriverFault, NotImplementedError) as fault:
        raise RuntimeFault(str(fault)) from None
    except torch.OutOfMemoryError:
        raise RuntimeFault("the GPU has no 100 MiB free for bench nodes: end what else runs on it.") from None
    except OSError as fault:
        raise RuntimeFault(f"{given.out} cannot be written ({fault.strerror}): choose another -o.") from None


def parser() -> argparse.ArgumentParser:
    """All commands and switches."""
    top = argparse.ArgumentParser(prog="stepprof", description=(__doc__ or "").split("\n")[0])
    commands = top.add_subparsers(dest="command", required=True, action=Described)
    command = commands.add_parser("run", help="run the built-in model on prompts and print figures by class")
    command.set_defaults(function=run_command, show=show_run)
    command.add_argument("--prompts", type=switches.words, default=("prose",), help="classes with commas, or all")
    command.add_argument("--steps", type=positive, default=32, help="steps to count, for each class")
    command.add_argument("--warm-up", type=int, default=2, help="steps before them")
    command.add_argument("--context", type=int, default=0, help="repeat the prompt up to this many tokens")
    command.add_argument("--facts", type=Path, help="write facts of steps and calls here (JSON lines)")
    command.add_argument(
        "--gpu-times", action="store_true", help="tell the GPU time of each replayed step in the facts"
    )
    command.add_argument("--resident", type=Path, help="write the stamps of a persistent sidecar's calls (JSON lines)")
    command.add_argument("--profile", type=Path, help="write a torch.profiler trace of the counted steps here (JSON)")
    command.add_argument("--truth", type=Path, help="write the ops of a step and the graph's edges here (JSON)")
    _shared(command)
    command = commands.add_parser("serve", help="answer OpenAI completions on 127.0.0.1 with the built-in model")
    command.set_defaults(function=serve_command, show=show_serve)
    add_serve_switches(command)
    _shared(command)
    bench = commands.add_parser("bench", help="measure one part alone")
    parts = bench.add_subparsers(dest="part", required=True, action=Described)
    command = parts.add_parser("sidecar", help="a sidecar call by rows, beside its floor")
    command.set_defaults(function=bench_command, show=show_bench)
    command.add_argument(
        "--rows", type=switches.whole_numbers, default=(1, 2, 4, 8), help="rows of a call, with commas"
    )
    command.add_argument("--rounds", type=positive, default=20, help="rounds to count")
    _shared(command)
    command = parts.add_parser("kernels", help="each kernel alone, beside a copy of the same bytes")
    command.set_defaults(function=kernels_command, show=show_kernels)
    add_switches(command)
    command = parts.add_parser("nodes", help="what a node of a stream or graph costs: chains with nodes removed")
    command.set_defaults(function=nodes_command, show=show_nodes)
    add_node_switches(command)
    return top


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} must be at least 1")
    return number


def show_run(document: dict[str, Any]) -> None:
    """One line a class."""
    for one in document["classes"]:
        parts = [("p50_step_ms", "ms a step"), ("kept_per_step", "kept"), ("tokens_per_s", "tokens/s")]
        block = document["draft_block"]
        figures = ", ".join(f"{one[key]['value']:.2f} {unit} ({_origin(one[key], block)})" for key, unit in parts)
        print(f"{one['class']}: {one['steps']} steps, {figures}")
    for note in document["notes"]:
        print(note, file=sys.stderr)


def _origin(figure: dict[str, Any], block: int) -> str:
    """Where a figure is from, and what it is not to be taken for."""
    return f"{figure['kind']}, drafts beyond the block of {block}" if "beyond_block" in figure else figure["kind"]


def show_bench(document: dict[str, Any]) -> None:
    """One line for each number of rows."""
    for call in document["calls"]:
        p50, floor = call["p50_us"]["value"], call["floor_us"]["value"]
        print(f"{call['rows']} rows: {p50:.1f} µs (measured), floor {floor:.1f} µs (modelled)")


def main() -> int:
    """Parse, run, print; a fault is one sentence."""
    given = parser().parse_args()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)  # ops this small lose more to threads on the CPU than they win
    try:
        document = given.function(given)
    except RuntimeFault as fault:
        print(f"stepprof runtime: {fault}", file=sys.stderr, flush=True)
        if isinstance(fault, SidecarError):
            os._exit(fault.exit_code)  # a card that has stalled would keep the interpreter from leaving
        return fault.exit_code
    if given.json:
        print(json.dumps(document))
    else:
        given.show(document)
    return 0


def _shared(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON document")
    switches.add_model_switches(command)
    switches.add_step_switches(command)


if __name__ == "__main__":
    sys.exit(main())
