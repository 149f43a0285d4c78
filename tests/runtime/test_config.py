"""Presets hold together, and what does not is said in one sentence."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from stepprof.runtime.config import FLASH, MINI, PRESETS, TINY, preset
from stepprof.runtime.errors import ConfigError
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement

CARD = 140e9


def test_flash_has_the_structure_of_the_real_model():
    tables = {FLASH.index_source(i) for i, ratio in enumerate(FLASH.ratios) if ratio}
    assert (FLASH.layers, sum(ratio > 0 for ratio in FLASH.ratios), len(tables)) == (40, 38, 8)
    assert (FLASH.experts, FLASH.top_k, FLASH.draft_layers, FLASH.read_layers) == (384, 6, 3, (37, 38, 39))
    assert FLASH.hot_experts / FLASH.experts == pytest.approx(0.77, abs=0.005)


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_presets_fit_two_cards(config: Any):
    expert = 3 * config.hidden * config.expert_width * 2 * config.layers
    dense = config.layers * config.hidden * config.heads * config.head_dim * 2 * 2
    assert config.hot_experts * expert + dense < 0.85 * CARD
    assert (config.experts - config.hot_experts) * expert < 0.85 * CARD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 0}, "hidden is 0 and must be at least 1"),
        ({"ratios": ()}, "there must be at least one layer"),
        ({"o_groups": 3}, "4 heads do not divide into 3 output groups"),
        ({"rope_dim": 7}, "rope_dim 7 must be even and fit 16"),
        ({"top_k": 9}, "top_k 9 is more than 8 experts"),
        ({"hot_experts": 9}, "hot_experts 9 must lie between 0 and 8"),
        ({"draft_layers": 5}, "a draft head of 5 layers cannot read 4"),
        ({"kv_sources": ()}, "layer 1 is compressed but has no kv source"),
        ({"kv_sources": (1,)}, "layer 3 has ratio 1, its kv source 1 another"),
        ({"index_sources": (1,)}, "layer 3 would use a table older than its kv source 3"),
    ],
)
def test_shapes_that_cannot_be(change: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        replace(TINY, **change)


@pytest.mark.parametrize("count", [1, 3, 10, 14, 40])
def test_layers_can_be_cut_and_extended(count: int):
    config = MINI.with_layers(count)
    assert config.layers == count and config.draft_layers <= count


def test_unknown_preset():
    with pytest.raises(ConfigError, match="no preset 'huge'; there are tiny, mini, flash"):
        preset("huge")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 8}, "--k 8 must lie between 0 and 7"),
        ({"batch": 33}, "--batch 33 must lie between 1 and 32"),
        ({"temperature": 0.0}, "greedy runs use --sampling greedy"),
        ({"fuse": ("all",)}, "--fuse knows boundary, moe_front, attn, not all"),
        ({"fuse": ("boundary",), "mhc_stream": True}, "--mhc-stream has nothing to carry"),
        ({"fuse": ("moe_front",), "cold_rate": 0.1}, "hides"),
        ({"simulate_acceptance": (0.5,)}, "needs 5 values"),
        ({"k": 2, "simulate_acceptance": (0.5, 0.6)}, "must not grow"),
        ({"cold_rate": 1.5}, "--cold-rate 1.5 must lie between 0 and 1"),
        ({"limit_ms": 0.0}, "--limit-ms 0.0 must be above 0"),
    ],
)
def test_switches_that_make_no_sense(options: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        Options(**options)


def test_switches_that_do_not_fit_the_model():
    with pytest.raises(ConfigError, match="has no draft head: use --k 0"):
        Options().check(replace(TINY, draft_layers=0))
    with pytest.raises(ConfigError, match="add --hot-experts 8"):
        Options(sidecar_mode="off").check(TINY)
    with pytest.raises(ConfigError, match="needs both hot and cold experts"):
        Options(cold_rate=0.1).check(replace(TINY, hot_experts=8))


def test_every_expert_lies_in_one_bank(tmp_path: Path):
    path = tmp_path / "placement.json"
    path.write_text('{"hot": [[0, 3], [], [7, 1, 1], [0, 1, 2, 3, 4, 5, 6, 7]]}')
    placement = Placement.read(path, TINY)
    for layer in range(4):
        hot, cold = placement.slots(layer, torch.device("cpu"))
        assert ((hot >= 0) ^ (cold >= 0)).all()
        assert [int(hot[e]) for e in placement.hot[layer]] == list(range(len(placement.hot[layer])))
    assert placement.hot[2] == (1, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "write one list of experts a layer"),
        ('{"cold": []}', "write one list of experts a layer"),
        ('{"hot": [[1]]}', "places 1 layers, the model has 4"),
        ('{"hot": [[1], [1], [1], [8]]}', "names expert 8; experts are 0 to 7"),
    ],
)
def test_placements_that_cannot_be(text: str, message: str, tmp_path: Path):
    path = tmp_path / "placement.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        Placement.read(path, TINY)
    with pytest.raises(ConfigError, match="No such file"):
        Placement.read(tmp_path / "none.json", TINY)
