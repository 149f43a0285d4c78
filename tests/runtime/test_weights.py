"""Weights by seed do not depend on order or placement; files are read by name, and faults name the way out."""

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest
import torch

from stepprof.runtime.config import TINY
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import WeightsError
from stepprof.runtime.options import Options
from stepprof.runtime.weights import RandomWeights, SafetensorWeights
from tests.runtime.engines import PROMPT, decode, generate

NAMES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.int32: "I32"}


def save(path: Path, tensors: dict[str, torch.Tensor]) -> Path:
    """A safetensors file."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        raw = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        head[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape)}
        head[name]["data_offsets"] = [len(data), len(data) + len(raw)]
        data += raw
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


class Recorder:
    """Random weights that remember what was asked for."""

    def __init__(self) -> None:
        self.seen: dict[str, torch.Tensor] = {}

    def fill(self, name: str, out: torch.Tensor, std: float) -> None:
        RandomWeights(0).fill(name, out, std)
        self.seen[name] = out.clone()


def test_random_weights_depend_on_seed_and_name_only():
    def filled(seed: int, name: str) -> torch.Tensor:
        out = torch.empty(4, 5)
        RandomWeights(seed).fill(name, out, 0.5)
        return out

    assert torch.equal(filled(1, "a"), filled(1, "a"))
    assert not torch.equal(filled(1, "a"), filled(1, "b"))
    assert not torch.equal(filled(1, "a"), filled(2, "a"))


@pytest.mark.parametrize("parts", [1, 3])
def test_a_model_from_files_is_the_same_model(parts: int, tmp_path: Path):
    recorder = Recorder()
    Engine.make(TINY, Options(k=2), recorder).close()
    names = sorted(recorder.seen)
    for i in range(parts):
        save(tmp_path / f"part{i}.safetensors", {name: recorder.seen[name] for name in names[i::parts]})
    weights = SafetensorWeights(tmp_path)
    with Engine.make(TINY, Options(k=2), pickle.loads(pickle.dumps(weights))) as engine:
        assert decode(engine, engine.add(PROMPT), 8)[:8] == generate(8, k=2)


def test_values_are_cast(tmp_path: Path):
    weights = SafetensorWeights(
        save(tmp_path / "w.safetensors", {"a": torch.tensor([1.5, -2.0], dtype=torch.bfloat16)})
    )
    out = torch.empty(2)
    weights.fill("a", out, 1.0)
    assert out.tolist() == [1.5, -2.0]


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("layers.0.gat", (2, 3), "has no tensor 'layers.0.gat'; did you mean 'layers.0.gate'?"),
        ("zzz", (2, 3), "has no tensor 'zzz' among its 2 tensors"),
        ("layers.0.gate", (3, 2), r"has shape \[2, 3\], the model needs \[3, 2\]"),
        ("whole", (1,), "is I32; only F64, F32, F16, BF16 can be read"),
    ],
)
def test_faults_of_a_tensor(name: str, shape: tuple[int, ...], message: str, tmp_path: Path):
    tensors = {"layers.0.gate": torch.zeros(2, 3), "whole": torch.zeros(1, dtype=torch.int32)}
    weights = SafetensorWeights(save(tmp_path / "w.safetensors", tensors))
    with pytest.raises(WeightsError, match=message):
        weights.fill(name, torch.empty(shape), 1.0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "its header is longer than the file"),
        (struct.pack("<Q", 99) + b"{}", "its header is longer than the file"),
        (struct.pack("<Q", 3) + b"{]}", "is not a safetensors file"),
        (struct.pack("<Q", 13) + b'{"a":{"b":1}}', "is not a safetensors file"),
    ],
)
def test_faults_of_a_file(data: bytes, message: str, tmp_path: Path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(data)
    with pytest.raises(WeightsError, match=message):
        SafetensorWeights(path)


def test_a_file_that_is_cut_short(tmp_path: Path):
    path = save(tmp_path / "w.safetensors", {"a": torch.zeros(100)})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(WeightsError, match="'a' lies beyond its end"):
        SafetensorWeights(path)


def test_no_file(tmp_path: Path):
    with pytest.raises(WeightsError, match=r"holds no \*\.safetensors file"):
        SafetensorWeights(tmp_path)
    with pytest.raises(WeightsError, match="No such file"):
        SafetensorWeights(tmp_path / "none.safetensors")
