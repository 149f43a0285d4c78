"""The plan of real changes: its proposals are the switches' and touch just the ops that the switches change."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.whatif.answer import Settings, edited
from stepprof.analyses.whatif.proposals import read_proposals
from stepprof.analyses.whatif.scores import read_scores
from stepprof.analyses.whatif.settings import Figures, settings_of
from stepprof.profiler.errors import Refused
from stepprof.runtime.config import preset
from tests.real_runs import attributed, run_of
from tests.repository import ROOT

plan, switches = importlib.import_module("whatif_mini"), importlib.import_module("switches")
MINI = "mini_h200x2.sqlite"
CONFIG = preset("mini")
LAYERS = CONFIG.layers
# ops that each proposal is about, by what the runtime's switch does to the ops of one step
OPS = {
    "share-topk": 4,  # layers 3, 4, 7, 9
    "fuse boundary": 3 * 2 * LAYERS,
    "fuse moe_front": 3 * LAYERS,
    "fuse attn": 2 * 2 * (LAYERS + CONFIG.draft_layers),
    "mhc-stream": 2 * 2 * LAYERS,  # split, then the second halves moved
    "sidecar persistent": LAYERS,  # each call takes longer
    "sidecar stub": 5 * LAYERS,  # a copy each way, two GEMMs, a sum
    "reduce atomic": 2 * LAYERS,
    "k 3": 2 * 4,  # a gather, a copy, a GEMM and an argmax for each pick
    "pad lm_head 50 us": 2,
}


@pytest.mark.parametrize("name", ["mini", "flash"])
def test_every_proposal_is_a_variant_of_the_switches(name: str):
    known = switches.variants(preset(name))
    proposals = [one.name for one in read_proposals(ROOT / f"benchmarks/whatif_{name}.toml")]
    assert set(proposals) <= set(known)
    assert len(proposals) >= 10


def test_sources_of_the_shared_tables_are_those_of_the_presets():
    for name in ("mini", "flash"):
        (share,) = read_proposals(ROOT / f"benchmarks/whatif_{name}.toml")[0].edits
        assert share.source == preset(name).index_sources  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def control() -> tuple[StepGraph, Settings]:
    found, store = attributed(MINI), run_of(MINI)
    graph = build_graph(found, store)
    return graph, settings_of(store, found, graph, Figures())


@pytest.mark.parametrize("name", OPS)
def test_a_proposal_is_about_the_ops_that_the_switch_changes(control: tuple[StepGraph, Settings], name: str):
    graph, settings = control
    (proposal,) = [one for one in read_proposals(ROOT / "benchmarks/whatif_mini.toml") if one.name == name]
    assert edited(graph, proposal, settings.assume, must_match=True).ops == OPS[name]


def test_fewer_layers_leave_the_last_two_and_nothing_else(control: tuple[StepGraph, Settings]):
    graph, settings = control
    (proposal,) = [one for one in read_proposals(ROOT / "benchmarks/whatif_mini.toml") if one.name == "layers fewer"]
    left = edited(graph, proposal, settings.assume, must_match=True).graph
    for layer in (8, 9):
        names = [left.nodes.label[i][-1] for i in range(len(left)) if left.nodes.layer[i] == layer]
        assert names == (["layer/9/spec_draft"] if layer == 9 else [])
    for layer in range(8):
        assert (left.nodes.layer == layer).sum() == (graph.nodes.layer == layer).sum()


RECEIPT: dict[str, Any] = {
    "gpu": "NVIDIA H200",
    "rows": [
        {"variant": "control", "launches_ms": [1.52, 1.51, 1.53]},
        {"variant": "share-topk", "launches_ms": [1.51, 1.50, 1.52]},
        {"variant": "fuse all", "launches_ms": []},
    ],
}


def test_predictions_are_put_on_record_and_scored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    receipt, scores, trace = tmp_path / "r.json", tmp_path / "s.json", run_of(MINI).path
    receipt.write_text(json.dumps(RECEIPT))

    def task(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["whatif_mini.py", "--scores", *map(str, (scores, *words))])
        plan.main()
        return capsys.readouterr().out

    task("predict", trace, "--before", receipt)
    before = read_scores(scores)
    assert all(entry.pending for entry in before)
    with pytest.raises(Refused, match="is on record and not measured yet"):
        task("predict", trace, "--before", receipt)

    said = task("score", trace, receipt)
    assert "fuse all: 0 launches, still waits" in said
    first = read_scores(scores)[0]
    assert (first.measured_step_ms, first.measured_saving_ms) == (1.51, 0.01)
    assert (first.predicted_saving_ms, read_scores(scores)[1:]) == (before[0].predicted_saving_ms, before[1:])


def test_another_gpu_is_no_measurement_of_the_prediction(tmp_path: Path):
    trace, scores = run_of(MINI).path, tmp_path / "s.json"
    plan.append(scores, *plan.predicted(trace, ROOT / "benchmarks/whatif_mini.toml", RECEIPT, None)[:1])
    with pytest.raises(SystemExit, match="predicted for NVIDIA H200, measured on NVIDIA B200"):
        plan.scored(trace, RECEIPT | {"gpu": "NVIDIA B200"}, scores)
    assert read_scores(scores)[0].pending
