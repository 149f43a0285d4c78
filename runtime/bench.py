"""`python -m stepprof.runtime bench sidecar`: what a call costs, by rows, beside the floor of reading its experts.

Each round makes the calls of all layers one after the other, waiting for every answer, with nothing else on the
cards. The floor is the bytes of the experts used, read at the bandwidth that a large copy reaches in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch

from stepprof.runtime.config import Config
from stepprof.runtime.errors import ConfigError
from stepprof.runtime.graphs import Runner
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.run import figure
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import Sidecar
from stepprof.runtime.sidecar_modes import make_sidecar
from stepprof.runtime.streams import Streams
from stepprof.runtime.weights import Weights

WARM_UP = 3


def bench_sidecar(
    config: Config, options: Options, weights: Weights, placement: Placement, rows: Sequence[int], rounds: int
) -> dict[str, Any]:
    """One JSON document: p50 and floor of a call for each number of rows, one cold expert a row."""
    if options.sidecar_mode == "off" or any(not 0 <= n <= options.max_rows for n in rows):
        raise ConfigError(f"bench sidecar needs a sidecar and rows of 0 to {options.max_rows}.")
    streams, scope = Streams(torch.device(options.device)), Scope(torch.device(options.device))
    with torch.no_grad():
        sidecar = make_sidecar(config, options, weights, placement, scope, streams)
        runner = Runner(options, sidecar, streams, None)
        try:
            bandwidth = copy_bandwidth(torch.device(options.sidecar_device))
            results = [_one(config, runner, placement, n, rounds, bandwidth) for n in rows]
        finally:
            runner.close()
    head = {"preset": config.name, "mode": options.sidecar_mode, "link": options.link, "layers": config.layers}
    return {**head, "bandwidth_gb_per_s": figure(bandwidth / 1e9, "measured"), "calls": results}


def copy_bandwidth(device: torch.device) -> float:
    """Bytes a second, read and written, of a copy that is larger than any cache."""
    size = 2**30 if device.type == "cuda" else 2**26
    source, target = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
    times: list[float] = []
    for _ in range(7):
        start = time.perf_counter()
        target.copy_(source)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
    return 2 * size / statistics.median(times)


def _one(
    config: Config, runner: Runner, placement: Placement, rows: int, rounds: int, bandwidth: float
) -> dict[str, Any]:
    sidecar, total = runner.sidecar, runner.options.max_rows
    experts = [_fill(sidecar, placement, layer, rows, total) for layer in range(config.layers)]

    def calls() -> None:
        sidecar.begin(total)
        for layer in range(config.layers):
            cold = sidecar.inbox(layer, total)
            assert cold is not None
            sidecar.send(layer, cold)
            sidecar.answer(layer, cold)

    times: list[float] = []
    for n in range(WARM_UP + rounds):
        start = time.perf_counter()
        runner.run("calls", total, calls, [])
        if n >= WARM_UP:
            times.append((time.perf_counter() - start) * 1e6 / config.layers)
    size = 3 * config.hidden * config.expert_width * getattr(torch, config.dtype).itemsize
    floor = statistics.mean(experts) * size / bandwidth * 1e6
    p50 = figure(statistics.median(times), "measured")
    return {"rows": rows, "experts": statistics.mean(experts), "p50_us": p50, "floor_us": figure(floor, "modelled")}


def _fill(sidecar: Sidecar, placement: Placement, layer: int, rows: int, total: int) -> int:
    """Put a call of `rows` rows into a layer's box, one expert each; how many distinct experts it uses."""
    cold = sidecar.inbox(layer, total)
    count = len(placement.cold(layer))
    if cold is None or not count:
        return 0
    for part in (cold.slots, cold.rows):
        part.fill_(-1)
    cold.x.normal_()
    cold.weights.fill_(1)
    cold.held.fill_(rows)
    chosen = torch.arange(rows, dtype=torch.int32, device=cold.slots.device)
    cold.rows[:rows], cold.slots[:rows, 0] = chosen, (chosen + layer) % count
    return min(rows, count)
