"""All cases, those that are asked for, and the switches that ask: `chosen_cases(bench, ("mhc",))`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from stepprof.kernels.bench.attention import attention_cases, mixing_cases
from stepprof.kernels.bench.case import Bench, Case
from stepprof.kernels.bench.mixture import acceptance_cases, mixture_cases
from stepprof.kernels.shapes import PRESETS


def cases(bench: Bench) -> list[Case]:
    """All of them."""
    return [*mixing_cases(bench), *attention_cases(bench), *mixture_cases(bench), *acceptance_cases(bench)]


def chosen_cases(bench: Bench, ops: Sequence[str] = ()) -> list[Case]:
    """Those whose op has one of the words in its name; all without words."""
    return [case for case in cases(bench) if not ops or any(word in case.op for word in ops)]


def add_case_switches(parser: argparse.ArgumentParser) -> None:
    """Sizes, rows and ops."""
    presets = [shapes.name for shapes in PRESETS]
    parser.add_argument("--preset", choices=presets, default="flash", help="whose sizes (default: flash)")
    parser.add_argument("--rows", type=_numbers, default=(1, 6), help="rows of a step, with commas (default: 1,6)")
    parser.add_argument("--ops", type=lambda text: tuple(text.split(",")), default=(), help="parts of op names")


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if not all(n >= 1 for n in numbers):
        raise argparse.ArgumentTypeError(f"{text}: rows must be at least 1")
    return numbers
