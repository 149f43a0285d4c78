"""bench nodes: costs, gaps and intervals from chains whose times are made up; on a GPU, the real ones."""

import ctypes
import json
import sys
from dataclasses import dataclass

import pytest
import torch

from stepprof.kernels.bench import NoGpu
from stepprof.kernels.bench.nodes import bench_nodes, show_nodes
from stepprof.kernels.bench.nodes.chain import Shape
from stepprof.kernels.bench.nodes.figures import Repeat, Stamped, row_figures, stamped
from stepprof.kernels.bench.nodes.run import CHAINS, measured_row, write_whole
from stepprof.kernels.bench.nodes.timing import LONGEST_HOLD_NS, Starved, held_microseconds
from stepprof.kernels.driver import LaunchAttribute, LaunchConfig
from stepprof.runtime.__main__ import main

GPU = torch.cuda.is_available()
EPOCH = 1_796_000_000_000_000_000  # ns since 1970, where a double has steps of 256 ns


@dataclass
class FakeChain:
    """1 µs a node, 3 µs a unit of work, 10 µs a chain; its nodes run 0.3 µs, 0.7 µs apart."""

    shape: Shape
    starved: bool = False
    closed: bool = False

    def run(self) -> float:
        if self.starved:
            raise Starved("too slow")
        return 10 + self.shape.length * (1 + 3 * self.shape.units)

    def stamps(self) -> torch.Tensor:
        node = torch.arange(self.shape.length) * 1000 + EPOCH
        return torch.stack([node, node + 300], -1)[None, :, None, :].expand(self.shape.branches, -1, 1, -1)

    def edges(self) -> tuple[int, int]:
        return self.shape.length, self.shape.length - 1

    def close(self) -> None:
        self.closed = True


def test_launch_structures_lie_as_the_driver_reads_them():
    """Offsets of CUlaunchConfig and CUlaunchAttribute in cuda.h."""
    assert (ctypes.sizeof(LaunchAttribute), LaunchAttribute.value.offset) == (72, 8)
    fields = (LaunchConfig.block, LaunchConfig.shared_bytes, LaunchConfig.stream, LaunchConfig.attributes)
    assert [field.offset for field in (*fields, LaunchConfig.count)] == [12, 24, 32, 40, 48]
    assert ctypes.sizeof(LaunchConfig) == 56


def test_every_chain_of_a_mode_has_the_same_work():
    for lengths in CHAINS.values():
        assert len({nodes * units for nodes, units in lengths.items()}) == 1 and len(lengths) == 3


@pytest.mark.parametrize(("mode", "branches"), [("stream", 1), ("graph", 4), ("graph_pdl", 1)])
def test_cost_is_the_wall_of_removed_nodes_alone(mode, branches):
    notes: list[str] = []
    row = measured_row(lambda shape, stamps: FakeChain(shape), "gemv", mode, branches, 2, notes)  # pyright: ignore[reportArgumentType]
    assert row is not None and notes == []
    assert (row["kernel"], row["mode"], row["branches"], row["repeats"]) == ("gemv", mode, branches, 2)
    exact = {"node_cost_us": 1.0, "visible_gap_us": 0.7, "ramp_us": 0.3, "stamped_inside_us": 0.3}
    for key, value in exact.items():
        assert row[key] == pytest.approx({"value": value, "low": value, "high": value, "kind": "measured"}), key
    assert row.get("programmatic_edges") == (239 if mode == "graph_pdl" else None)


def test_a_chain_that_cannot_be_queued_is_left_out_with_its_sentence():
    chains: list[FakeChain] = []

    def make(shape, stamps):
        chains.append(FakeChain(shape, starved=shape.length == 120))
        return chains[-1]

    notes: list[str] = []
    assert measured_row(make, "small", "stream", 4, 2, notes) is None  # pyright: ignore[reportArgumentType]
    assert notes == ["1k, stream, 4 branches: too slow"]
    assert len(chains) == 4 and all(chain.closed for chain in chains)


def test_stamps_take_the_first_and_the_last_block():
    """Two branches of two nodes of two blocks; gaps of 200 and 400 ns."""
    first = [[[100, 500], [120, 600]], [[800, 900], [810, 1300]]]
    second = [[[0, 50], [10, 100]], [[500, 700], [550, 600]]]
    found = stamped(torch.tensor([first, second]) + EPOCH)
    assert found == Stamped(gap=0.3, inside=(0.5 + 0.5 + 0.1 + 0.2) / 4, period=(0.7 + 0.5) / 2)


def test_programmatic_overlap_is_a_negative_gap():
    stamps = torch.tensor([[[[0, 500]], [[400, 900]]]])
    assert stamped(stamps).gap == pytest.approx(-0.1)


def test_ramp_is_taken_repeat_by_repeat():
    """Costs of 2 and 4, gaps of 1 and 3: the ramp is 1 without a doubt, though neither part is."""
    repeats = [Repeat({10: 100 + 10 * c, 20: 100 + 20 * c}, Stamped(c - 1, 0, 0)) for c in (2.0, 4.0)]
    found = row_figures(repeats)
    assert found["ramp_us"] == pytest.approx({"value": 1, "low": 1, "high": 1, "kind": "measured"})
    assert found["node_cost_us"]["value"] == 3 and found["node_cost_us"]["low"] < 0
    assert found["wall_per_node_us"]["value"] == pytest.approx((140 / 20 + 180 / 20) / 2)


def test_a_hold_that_ends_too_early_is_doubled():
    asked: list[int] = []

    def run(hold_ns: int) -> float | None:
        asked.append(hold_ns)
        return 7.0 if hold_ns >= 1000 else None

    assert held_microseconds(run, 300) == (7.0, 1200)
    assert asked == [300, 600, 1200]


def test_a_host_that_is_too_slow_is_told():
    asked: list[int] = []
    with pytest.raises(Starved, match="80 ms"):
        held_microseconds(asked.append, 300_000)
    assert asked and max(asked) <= LONGEST_HOLD_NS


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    write_whole(tmp_path / "nodes.json", "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["nodes.json"]
    with pytest.raises(OSError):
        write_whole(tmp_path / "none" / "nodes.json", "{}")


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_without_a_gpu_there_is_one_sentence(monkeypatch, capsys, tmp_path):
    with pytest.raises(NoGpu):
        bench_nodes(2)
    monkeypatch.setattr(sys, "argv", ["runtime", "bench", "nodes", "-o", str(tmp_path / "nodes.json")])
    assert main() == 1
    said = capsys.readouterr()
    assert (
        said.out == "" and said.err == "stepprof runtime: bench nodes needs an NVIDIA GPU, and torch sees none here.\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_told_before_measuring(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["runtime", "bench", "nodes", "-o", str(tmp_path / "none" / "nodes.json")])
    assert main() == 2
    assert "there is no folder" in capsys.readouterr().err


def test_help_names_every_part(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["runtime", "bench", "--help"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().out
    assert all(part in said for part in ("sidecar", "kernels", "nodes"))


@pytest.mark.gpu
@pytest.mark.skipif(not GPU, reason="needs an NVIDIA GPU")
def test_measured_rows_are_whole(tmp_path, capsys):
    document = bench_nodes(3, tmp_path / "nodes.json")
    assert json.loads((tmp_path / "nodes.json").read_text()) == document
    assert document["notes"] == [] and len(document["rows"]) == 18
    for row in document["rows"]:
        assert row["node_cost_us"]["low"] <= row["node_cost_us"]["value"] <= row["node_cost_us"]["high"]
        if row["mode"] == "graph_pdl":
            assert row["programmatic_edges"] == row["branches"] * 239
        elif row["branches"] == 1:
            assert row["node_cost_us"]["value"] > 0.1
    show_nodes(document)
    assert len(capsys.readouterr().out.splitlines()) == 19
