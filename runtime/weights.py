"""Where weights come from: random ones by seed, or safetensors files by name.

Both answer `tensor(name, shape, device, dtype, std)`. A random tensor depends on the seed, its name, its
dtype and the kind of device only, so neither the order nor the placement of experts changes the model.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from stepprof.runtime.errors import WeightsError

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class Weights(Protocol):
    """A source of weights."""

    def fill(self, name: str, out: torch.Tensor, std: float) -> None:
        """Write the tensor `name` into `out`; std 0 means: ones where nothing else is known."""
        ...


def tensor(
    weights: Weights, name: str, shape: Sequence[int], device: torch.device, dtype: torch.dtype, std: float
) -> torch.Tensor:
    """A new tensor filled from `weights`."""
    out = torch.empty(tuple(shape), device=device, dtype=dtype)
    weights.fill(name, out, std)
    return out


@dataclass(frozen=True)
class RandomWeights:
    """Normal weights by seed and name."""

    seed: int = 0

    def fill(self, name: str, out: torch.Tensor, std: float) -> None:
        """Normal values of this standard deviation; ones where std is 0."""
        if std == 0:
            out.fill_(1)
            return
        # the CPU's generator reads 32 bits of a seed, so these must depend on both
        number = int.from_bytes(hashlib.blake2b(f"{self.seed}/{name}".encode(), digest_size=4).digest())
        out.normal_(0, std, generator=torch.Generator(out.device).manual_seed(number))


@dataclass(frozen=True)
class _Entry:
    file: Path
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class SafetensorWeights:
    """Weights of one safetensors file, or of all such files of a folder."""

    def __init__(self, path: Path) -> None:
        files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
        if not files:
            raise WeightsError(f"{path} holds no *.safetensors file: point --weights at one or at a folder of them.")
        self.path = path
        self.entries = {name: entry for file in files for name, entry in _header(file).items()}
        self.data = {file: _mapped(file) for file in files}

    def __reduce__(self) -> tuple[type[SafetensorWeights], tuple[Path]]:
        """Another process opens the files itself."""
        return SafetensorWeights, (self.path,)

    def fill(self, name: str, out: torch.Tensor, std: float) -> None:
        """Copy the tensor in, cast to out's dtype."""
        entry = self._entry(name, tuple(out.shape))
        data = memoryview(self.data[entry.file])[entry.start : entry.end]
        out.copy_(torch.frombuffer(data, dtype=DTYPES[entry.dtype]).reshape(entry.shape))

    def _entry(self, name: str, shape: tuple[int, ...]) -> _Entry:
        entry = self.entries.get(name)
        if entry is None:
            near = difflib.get_close_matches(name, self.entries, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else f" among its {len(self.entries)} tensors."
            raise WeightsError(f"{self.path} has no tensor '{name}'{hint}")
        if entry.dtype not in DTYPES:
            raise WeightsError(
                f"{entry.file}: '{name}' is {entry.dtype}; only {', '.join(DTYPES)} can be read: convert it."
            )
        if entry.shape != shape:
            has, needs = list(entry.shape), list(shape)
            raise WeightsError(f"{entry.file}: '{name}' has shape {has}, the model needs {needs}: check the preset.")
        if entry.end - entry.start != math.prod(shape) * DTYPES[entry.dtype].itemsize:
            raise WeightsError(f"{entry.file}: '{name}' has another size than its shape says: write the file again.")
        return entry


def _header(file: Path) -> dict[str, _Entry]:
    """Name -> where it lies, from the JSON at the head of a safetensors file."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            size = file.stat().st_size
            if not 2 <= length <= size - 8:
                raise ValueError("its header is longer than the file")
            head: dict[str, Any] = json.loads(stream.read(length))
        return dict(_entries(file, head, 8 + length, size))
    except OSError as fault:
        raise WeightsError(f"{file} cannot be read ({fault.strerror}): check --weights.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise WeightsError(f"{file} is not a safetensors file ({fault}): write it again.") from None


def _entries(file: Path, head: dict[str, Any], base: int, size: int) -> list[tuple[str, _Entry]]:
    found: list[tuple[str, _Entry]] = []
    for name, item in head.items():
        if name == "__metadata__":
            continue
        start, end = (base + int(offset) for offset in item["data_offsets"])
        if not base <= start <= end <= size:
            raise ValueError(f"'{name}' lies beyond its end")
        found.append((name, _Entry(file, str(item["dtype"]), tuple(map(int, item["shape"])), start, end)))
    return found


def _mapped(file: Path) -> mmap.mmap:
    with file.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
