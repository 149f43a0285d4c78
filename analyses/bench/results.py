"""The bench file as read: what `stepprof bench … -o FILE` wrote, or a person by hand.

    file = read_bench(Path("sidecar.json"))
    file.results[0].p50_us.value
    machine_of(file), warnings_of(file)      # where it ran; what the bench warned of

kernels/bench/file.py documents the keys. Only `bench` and `results` with name, rows, mode and p50_us are needed;
keys that this version does not know are left alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from stepprof.profiler.errors import InputError

T = TypeVar("T")
Kind = Literal["measured", "modelled", "simulated", "quoted"]
DETERMINISM = "determinism"  # the bench that compares answers and times nothing
CPU = "cpu"  # code of the warning that no GPU ran the bench


class Figure(msgspec.Struct, frozen=True):
    """A number and where it is from."""

    value: float
    kind: Kind


class BenchWarning(msgspec.Struct, frozen=True):
    """What a bench could not do as asked, or what its figures are not to be taken for."""

    code: str
    text: str
    count: int = 1


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
    warnings: tuple[BenchWarning, ...] = ()


class BenchHead(msgspec.Struct, frozen=True):
    """What any bench's file says of itself, whatever its results are."""

    bench: str
    date: str = ""
    gpu: tuple[str, ...] | None = None
    warnings: tuple[BenchWarning, ...] = ()


def read_head(path: Path) -> BenchHead:
    """The file without its results; InputError as of read_bench."""
    return decoded(path, BenchHead)


def machine_of(file: BenchFile | BenchHead) -> str:
    """Where and when, in words."""
    cards = "machine not told" if file.gpu is None else ", ".join(sorted(set(file.gpu)))
    cards = cards or f"CPU (its {_told(file)} say nothing about a GPU)"
    return f"{cards}, {file.date}" if file.date else cards


def warnings_of(file: BenchFile | BenchHead) -> list[dict[str, Any]]:
    """All warnings; that no GPU ran the bench is among them, whoever wrote the file."""
    found = further_warnings(file)
    if file.gpu == ():
        found.insert(
            0, {"code": CPU, "count": 1, "text": f"this is the CPU: its {_told(file)} say nothing about a GPU."}
        )
    return found


def further_warnings(file: BenchFile | BenchHead) -> list[dict[str, Any]]:
    """The warnings that machine_of does not say."""
    return [
        {"code": one.code, "count": one.count, "text": one.text}
        for one in file.warnings
        if one.code != CPU or file.gpu != ()
    ]


def _told(file: BenchFile | BenchHead) -> str:
    return "answers" if file.bench == DETERMINISM else "times"


def read_bench(path: Path) -> BenchFile:
    """The file, checked; InputError where it cannot be read or is no bench file."""
    file = decoded(path, BenchFile)
    keys = [(one.name, one.rows, one.mode) for one in file.results]
    if twice := [key for key in keys if keys.count(key) > 1]:
        name, rows, mode = twice[0]
        raise InputError(f"{path} has two results for '{name}', {rows} rows, mode '{mode}': keep one.")
    if file.bar_us is not None and file.bar_us.value <= 0:
        raise InputError(f"{path} has a bar of {file.bar_us.value:g} µs: correct it to one above 0, or to null.")
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
