"""The command line of the model under study: `python -m stepprof.runtime run --preset tiny --steps 8 --json`.

With --json standard output carries one JSON document; everything else goes to standard error. Exit codes: 0 done,
1 the input, the machine or the sidecar is at fault, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels.resident import RING
from stepprof.runtime import arguments as switches
from stepprof.runtime.bench import add_bench_commands
from stepprof.runtime.described import Described
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import ConfigError, RuntimeFault, SidecarError
from stepprof.runtime.facts import ExpertUseFile, Facts, write_resident
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
    use_file = ExpertUseFile(given.expert_use, placement) if given.expert_use else nullcontext()
    with facts_file as facts, profiled as profile, use_file as uses, Engine.make(*made) as engine:
        engine.runner.timed = given.gpu_times
        document = run(engine, plan, facts, profile, uses)
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


def parser() -> argparse.ArgumentParser:
    """All commands and switches."""
    top = argparse.ArgumentParser(prog="stepprof", description=(__doc__ or "").split("\n")[0])
    commands = top.add_subparsers(dest="command", required=True, action=Described)
    command = commands.add_parser("run", help="run the built-in model on prompts and print figures by class")
    command.set_defaults(function=run_command, show=show_run)
    command.add_argument("--prompts", type=switches.words, default=("prose",), help="classes with commas, or all")
    command.add_argument("--steps", type=switches.positive, default=32, help="steps to count, for each class")
    command.add_argument("--warm-up", type=int, default=2, help="steps before them")
    command.add_argument("--context", type=int, default=0, help="repeat the prompt up to this many tokens")
    command.add_argument("--facts", type=Path, help="write facts of steps and calls here (JSON lines)")
    command.add_argument(
        "--gpu-times", action="store_true", help="tell the GPU time of each replayed step in the facts"
    )
    command.add_argument("--expert-use", type=Path, help="write the cold experts of each call here (CSV)")
    command.add_argument("--resident", type=Path, help="write the stamps of a persistent sidecar's calls (JSON lines)")
    command.add_argument("--profile", type=Path, help="write a torch.profiler trace of the counted steps here (JSON)")
    command.add_argument("--truth", type=Path, help="write the ops of a step and the graph's edges here (JSON)")
    _shared(command)
    command = commands.add_parser("serve", help="answer OpenAI completions on 127.0.0.1 with the built-in model")
    command.set_defaults(function=serve_command, show=show_serve)
    add_serve_switches(command)
    _shared(command)
    bench = commands.add_parser("bench", help="measure one part alone", usage=None)
    add_bench_commands(bench)
    return top


def show_run(document: dict[str, Any]) -> None:
    """One line a class."""
    for one in document["classes"]:
        parts = [("p50_step_ms", "ms a step"), ("kept_per_step", "kept"), ("tokens_per_s", "tokens/s")]
        block = document["draft_block"]
        figures = ", ".join(f"{one[key]['value']:.2f} {unit} ({_origin(one[key], block)})" for key, unit in parts)
        print(textwrap.fill(f"{one['class']}: {one['steps']} steps, {figures}", 80, subsequent_indent="    "))
    for note in document["notes"]:
        print(note, file=sys.stderr)


def _origin(figure: dict[str, Any], block: int) -> str:
    """Where a figure is from, and what it is not to be taken for."""
    return f"{figure['kind']}, drafts beyond the block of {block}" if "beyond_block" in figure else figure["kind"]


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
