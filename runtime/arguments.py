"""The switches of the command line, and what they build: `parse(argv)`, then `engine_of(arguments)`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import get_args

import torch

from stepprof.runtime.config import PRESETS, Config, Dtype, preset
from stepprof.runtime.errors import ConfigError
from stepprof.runtime.options import Fuse, Link, Mode, Options, Reduce, Sampling
from stepprof.runtime.placement import Placement
from stepprof.runtime.weights import RandomWeights, SafetensorWeights, Weights


def words(text: str) -> tuple[str, ...]:
    """A list with commas."""
    return tuple(part for part in text.split(",") if part)


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas."""
    return tuple(float(part) for part in words(text))


def whole_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers with commas."""
    return tuple(int(part) for part in words(text))


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} must be at least 1")
    return number


def pad(text: str) -> tuple[str, float]:
    """ROLE=µs"""
    role, _, microseconds = text.partition("=")
    return role, float(microseconds)


def add_model_switches(parser: argparse.ArgumentParser) -> None:
    """What the model is and where it runs."""
    add = parser.add_argument_group("model").add_argument
    add("--preset", default="tiny", choices=list(PRESETS), help="shapes of the model")
    add("--layers", type=int, help="cut or extend the preset to this many layers")
    add("--dtype", choices=get_args(Dtype), help="number format of weights and activations")
    add("--weights", type=Path, help="safetensors file or folder; random weights by --seed without it")
    add("--seed", type=int, default=0, help="seed of random weights and of sampling")
    add("--device", default="auto", help="main card: cpu, cuda:0, …; auto takes a GPU where there is one")
    add("--sidecar-device", default="auto", help="second card; auto takes the second GPU where there is one")
    add("--hot-experts", type=int, help="experts of each layer on the main card")
    add("--placement", type=Path, help='JSON file {"hot": [[expert, …], …]} instead of --hot-experts')


def add_step_switches(parser: argparse.ArgumentParser) -> None:
    """How a step runs: the switches whose effect is to be measured."""
    add = parser.add_argument_group("step").add_argument
    add("--batch", type=int, default=1, help="sequences at once, up to 32")
    add("--k", type=int, default=5, help="tokens drafted a step, 0 to 7; 0 is plain decoding")
    add("--sampling", default="greedy", choices=get_args(Sampling), help="greedy, token-wise or block verification")
    add("--temperature", type=float, default=1.0, help="temperature of sampled runs")
    add("--no-graphs", action="store_true", help="launch op by op on the GPU too")
    add("--share-topk", action="store_true", help="build one attention table for each index source, not one a layer")
    add("--fuse", type=words, default=(), help=f"fused kernels, with commas: {', '.join(get_args(Fuse))}")
    add("--mhc-stream", action="store_true", help="mixing weights on a side stream, beside the sublayer")
    add("--sidecar-mode", default="graph", choices=get_args(Mode), help="how cold experts are called")
    add("--link", default="peer", choices=get_args(Link), help="between cards: peer access or pinned host memory")
    add("--reduce", default="ordered", choices=get_args(Reduce), help="order of the sum over experts")
    add("--pad-op", type=pad, action="append", default=[], metavar="ROLE=µs", help="slow every op of a role down")
    add("--limit-ms", type=float, default=2_000.0, help="longest wait for one sidecar call")
    add("--simulate-acceptance", type=numbers, default=(), metavar="A1,A2,…", help="impose P(first i drafts kept)")
    add("--cold-rate", type=float, help="impose the share of rows that need a cold expert")
    add("--prefill-chunk", type=int, default=64, help="rows of a prompt read at once")


def config_of(arguments: argparse.Namespace) -> Config:
    """The preset with its changes."""
    config = preset(arguments.preset)
    if arguments.layers is not None:
        if arguments.layers < 1:
            raise ConfigError(f"--layers {arguments.layers} must be at least 1.")
        config = config.with_layers(arguments.layers)
    if arguments.hot_experts is not None:
        config = replace(config, hot_experts=arguments.hot_experts)
    return replace(config, dtype=arguments.dtype) if arguments.dtype else config


def options_of(arguments: argparse.Namespace) -> Options:
    """The switches, with devices chosen."""
    device, sidecar_device = devices(arguments.device, arguments.sidecar_device)
    names = ("batch", "k", "sampling", "temperature", "seed", "share_topk", "fuse", "mhc_stream", "sidecar_mode")
    names += ("link", "reduce", "limit_ms", "simulate_acceptance", "cold_rate", "prefill_chunk")
    chosen = {name: getattr(arguments, name) for name in names}
    pads, graphs = dict(arguments.pad_op), not arguments.no_graphs
    return Options(device=device, sidecar_device=sidecar_device, graphs=graphs, pads=pads, **chosen)


def weights_of(arguments: argparse.Namespace) -> Weights:
    """Random, or from files."""
    return SafetensorWeights(arguments.weights) if arguments.weights else RandomWeights(arguments.seed)


def placement_of(arguments: argparse.Namespace, config: Config) -> Placement:
    """The first experts hot, or as a file says."""
    if arguments.placement and arguments.hot_experts is not None:
        raise ConfigError("--placement and --hot-experts both say which experts are hot: give one.")
    return Placement.read(arguments.placement, config) if arguments.placement else Placement.first(config)


def devices(main: str, sidecar: str) -> tuple[str, str]:
    """Main and second card; where there is one card it is both."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    main = ("cuda:0" if count else "cpu") if main == "auto" else main
    if sidecar == "auto":
        sidecar = "cuda:1" if main == "cuda:0" and count > 1 else main
    return _known(main, count), _known(sidecar, count)


def _known(name: str, count: int) -> str:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"no device '{name}': use cpu or cuda:N.") from None
    if device.type not in ("cpu", "cuda") or (device.type == "cuda" and (device.index or 0) >= count):
        raise ConfigError(f"no device '{name}' here; there are cpu and {count} GPUs.")
    return f"cuda:{device.index or 0}" if device.type == "cuda" else "cpu"
