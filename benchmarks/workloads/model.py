"""Steps of the built-in model: `python benchmarks/workloads/model.py --preset mini`, with the switches of `stepprof run`."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field
from typing import Any

import torch
from steps import Part, add_switches, run_steps

from stepprof.runtime import arguments as switches
from stepprof.runtime import tokenizer
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import RuntimeFault
from stepprof.runtime.prompts import prompts


@dataclass
class TimedGraph:
    """A captured step with events around its replay."""

    graph: Any
    events: list[Any] = field(default_factory=list[Any])

    def replay(self) -> None:
        """What the engine calls."""
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self.events[0].record()
        self.graph.replay()
        self.events[1].record()

    def span_ms(self) -> float:
        """Of the latest replay."""
        return self.events[0].elapsed_time(self.events[1])


def part_of(engine: Engine, name: str) -> Part:
    """One sequence, begun again when it is full; after its first step the graph is there to be timed."""
    tokens = tokenizer.encode(prompts("code")[0])
    slots = [engine.add(tokens)]

    def step() -> None:
        if not engine.state.room(slots[0]):
            engine.release(slots[0])
            slots[0] = engine.add(tokens)
        engine.step()

    step()
    if "step" not in engine.runner.graphs:
        return Part(name, step, marked=True)
    timed = engine.runner.graphs["step"] = TimedGraph(engine.runner.graphs["step"])
    return Part(name, step, timed.span_ms, "replay", marked=True)


def main() -> None:
    """Build the model, time its steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    add_switches(parser)
    switches.add_model_switches(parser)
    switches.add_step_switches(parser)
    given = parser.parse_args()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)  # as stepprof run does
    try:
        config = switches.config_of(given)
        made = (config, switches.options_of(given), switches.weights_of(given), switches.placement_of(given, config))
        with Engine.make(*made) as engine:
            part = part_of(engine, given.preset)
            run_steps(given.preset, [part], given, engine.state.steps + given.warm_up)
    except RuntimeFault as fault:
        sys.exit(str(fault))


if __name__ == "__main__":
    main()
