"""The placement file of the built-in model, with more experts hot: `with_moves(base, chosen)`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from stepprof.profiler.errors import InputError


def read_hot(path: Path) -> list[list[int]]:
    """Hot experts by layer of {"hot": [[expert, …], …]}; InputError where it is another file."""
    try:
        return [[int(expert) for expert in layer] for layer in json.loads(path.read_text())["hot"]]
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): check --placement.") from None
    except (ValueError, TypeError, KeyError):
        raise InputError(f'{path} is not {{"hot": [[expert, …], …]}}: write one list of experts a layer.') from None


def with_moves(base: Sequence[Sequence[int]], chosen: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The lists with (layer, expert) added; InputError where the uses name a layer that the lists lack."""
    lists = [set(layer) for layer in base]
    for layer, expert in chosen:
        if layer >= len(lists):
            raise InputError(f"the uses name layer {layer}, the placement has {len(lists)} layers: they do not belong.")
        lists[layer].add(expert)
    return [sorted(layer) for layer in lists]
