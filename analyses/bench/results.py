"""The bench file as read: what `stepprof bench … -o FILE` wrote, or a person by hand.

    file = read_bench(Path("sidecar.json"))
    file.results[0].p50_us.value

kernels/bench/file.py documents the keys. Only `bench` and `results` with name, rows, mode and p50_us are needed;
keys that this version does not know are left alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from stepprof.profiler.errors import InputError

T = TypeVar("T")
Kind = Literal["measured", "modelled", "simulated", "quoted"]


class Figure(msgspec.Struct, frozen=True):
    """A number and where it is from."""

    value: float
    kind: Kind


class BenchResult(msgspec.Struct, frozen=True):
    """One thing at one number of rows in one mode; times in µs."""

    name: str
    rows: int
    mode: str
    p50_us: Figure
    calls: int | None = None
    p95_us: Figure | None = None
    p99_us: Figure | None = None
    max_us: Figure | None = None
    mean_us: Figure | None = None
    floor_us: Figure | None = None
    block_p50_us: tuple[float, ...] = ()
    in_chain_us: Figure | None = None


class BenchFile(msgspec.Struct, frozen=True):
    """A whole file."""

    bench: str
    results: tuple[BenchResult, ...]
    date: str = ""
    gpu: tuple[str, ...] | None = None  # none is the CPU, None unsaid
    command: str = ""
    clock: str = ""
    complete: bool = True
    bar_us: Figure | None = None


class _Head(msgspec.Struct, frozen=True):
    bench: str


def bench_of(path: Path) -> str:
    """Which bench wrote the file; InputError as of read_bench."""
    return decoded(path, _Head).bench


def machine_of(file: BenchFile) -> str:
    """Where and when, in words."""
    cards = "machine not told" if file.gpu is None else ", ".join(sorted(set(file.gpu))) or "CPU"
    return f"{cards}, {file.date}" if file.date else cards


def read_bench(path: Path) -> BenchFile:
    """The file, checked; InputError where it cannot be read or is no bench file."""
    file = decoded(path, BenchFile)
    keys = [(one.name, one.rows, one.mode) for one in file.results]
    if twice := [key for key in keys if keys.count(key) > 1]:
        name, rows, mode = twice[0]
        raise InputError(f"{path} has two results for '{name}', {rows} rows, mode '{mode}': keep one.")
    return file


def decoded(path: Path, type_: type[T]) -> T:
    """The file as that type; InputError where it cannot be read or is not of it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=type_)
    except OSError as fault:
        raise InputError(
            f"{path} cannot be read ({fault.strerror}): give a file of stepprof bench … -o FILE."
        ) from None
    except msgspec.MsgspecError as fault:
        raise InputError(f"{path} is no bench file ({fault}): write one with stepprof bench … -o FILE.") from None
