"""Proposals as a user writes them: every edit, and every fault with its line and the way out."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.whatif.proposal_model import (
    Add,
    Break,
    Draft,
    Edit,
    Fuse,
    Gate,
    Given,
    Move,
    Overlap,
    Place,
    Remove,
    Scale,
    Select,
    Serialize,
    Share,
    Split,
)
from stepprof.analyses.whatif.proposals import read_proposals
from stepprof.profiler.errors import InputError
from tests.proposals import exactly
from tests.repository import ROOT

NORM = Select(role=("norm",))
SIDECAR = Select(role=("sidecar_copy", "sidecar_gather", "sidecar_gemm", "sidecar_reduce"))


def read(folder: Path, text: str) -> Any:
    (folder / "p.toml").write_text(text)
    return read_proposals(folder / "p.toml")


def one(folder: Path, line: str) -> Edit:
    return read(folder, f'[[proposal]]\nname = "x"\n{line}\n')[0].edits[0]


@pytest.mark.parametrize(
    ("line", "edit"),
    [
        ('remove = { role = "norm" }', Remove(NORM)),
        (
            'remove = { role = ["norm", "rope"], kind = "copy", phase = "draft", device = [0, 1] }',
            Remove(Select(role=("norm", "rope"), kind=("copy",), phase=("draft",), device=(0, 1))),
        ),
        (
            'remove = { layer = [1, "3-5"], name = "^gemm", label = "a/b" }',
            Remove(Select(layer=(1, 3, 4, 5), name="^gemm", label="a/b")),
        ),
        ('remove = { layer = "2-4" }', Remove(Select(layer=(2, 3, 4)))),
        ('scale = { role = "norm", factor = 0.5 }', Scale(NORM, factor=exactly(0.5))),
        ('scale = { role = "norm", to_us = [1, 2, 4] }', Scale(NORM, to_us=Given(2, 1, 4))),
        (
            'scale = { role = "norm", to = "floor", bandwidth_gb_s = 4000 }',
            Scale(NORM, floor=True, bandwidth_gb_s=exactly(4000)),
        ),
        ('scale = { role = "norm", to = "floor", bytes = 8 }', Scale(NORM, floor=True, traffic_bytes=exactly(8))),
        ('fuse = { role = "norm", within_layer = true }', Fuse(NORM, within_layer=True)),
        ('fuse = { chain = ["a", "b"] }', Fuse(Select(), chain=("a", "b"))),
        ('fuse = { role = "norm", to_us = 3 }', Fuse(NORM, to_us=exactly(3))),
        ('split = { role = "norm", parts = 3 }', Split(NORM, 3)),
        ('break = { role = "norm", us = 2.8 }', Break(NORM, exactly(2.8))),
        ('break = { role = "norm" }', Break(NORM)),
        ('move = { role = "norm", until = { role = "router" } }', Move(NORM, Select(role=("router",)))),
        (
            'move = { role = "norm", until = { layer = 3 }, to_device = 1, factor = 2, signal_us = 9 }',
            Move(NORM, Select(layer=(3,)), 1, exactly(2), exactly(9)),
        ),
        ('overlap = { role = "norm", beside = { role = "router" } }', Overlap(NORM, Select(role=("router",)))),
        ('serialize = { role = "norm" }', Serialize(NORM)),
        ('serialize = { role = "norm", after = { device = 1 } }', Serialize(NORM, Select(device=(1,)))),
        ('share = { role = "norm", source_layers = [2, 8] }', Share(NORM, (2, 8))),
        ("place = { fraction = 0.5 }", Place(SIDECAR, exactly(0.5))),
        ('place = { role = "norm", layers = "0-1", main_us = 5 }', Place(NORM, None, (0, 1), exactly(5))),
        ("draft = { k = 3, row_ms = 0.335 }", Draft(3, exactly(0.335))),
        ('add = { role = "norm", us = 2, at = "before", each = "op" }', Add(NORM, exactly(2), "before", "op")),
    ],
)
def test_edits(tmp_path: Path, line: str, edit: Edit):
    assert one(tmp_path, line) == edit


def test_what_stands_beside_the_edits(tmp_path: Path):
    text = """
[[proposal]]
name = "first"
predicted = -0.36
gate = "<= -0.10 ms"
optional = true
remove = [{ role = "norm" }, { role = "rope" }]
scale = { device = 1, factor = 0 }

[[proposal]]
name = "tables"
gate = ">=0.5ms"
[[proposal.fuse]]
role = "norm"
[[proposal.fuse]]
role = "router"
"""
    first, second = read(tmp_path, text)
    assert (first.predicted_ms, first.gate, first.optional) == (-0.36, Gate("<=", -0.1), True)
    assert [type(edit) for edit in first.edits] == [Remove, Remove, Scale]
    lines = [
        f"{tmp_path / 'p.toml'}, line {n}, [[proposal]] 1, {edit}" for n, edit in [(7, "remove")] * 2 + [(8, "scale")]
    ]
    assert list(first.where) == lines
    assert (second.gate, second.predicted_ms, second.optional) == (Gate(">=", 0.5), None, False)
    assert second.edits == (Fuse(NORM), Fuse(Select(role=("router",))))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('remove = { role = "nrom" }', 'line 3, [[proposal]] 1, remove: "role" is "nrom": did you mean norm'),
        ('remove = { rolle = "norm" }', 'line 3, [[proposal]] 1, remove: unknown key "rolle": did you mean role'),
        ("remove = {}", '"role" or another condition is missing'),
        ("remove = 3", "remove: must be a table"),
        ('remove = { name = "(" }', '"name" is no regular expression'),
        ('remove = { layer = "5-2" }', '"layer" must be whole numbers'),
        ("remove = { role = [] }", '"role" is an empty list'),
        ('rmove = { role = "norm" }', 'unknown key "rmove": did you mean remove'),
        ('gate = "< 3"', '"gate" must be a bar like'),
        ('predicted = "x"', '"predicted" must be a number'),
        ("optional = 1", '"optional" must be true or false'),
        ('scale = { role = "norm" }', '"factor" and to_us, to, from exclude each other: give exactly one'),
        ('scale = { role = "norm", factor = 1, to = "floor" }', "give exactly one of them"),
        ('scale = { role = "norm", factor = -1 }', '"factor" must be at least 0'),
        ('scale = { role = "norm", factor = [3, 2, 1] }', "must be a number or [low, value, high]"),
        ('scale = { role = "norm", factor = 1, bytes = 3 }', '"bytes" belongs to to = "floor"'),
        ('scale = { role = "norm", to = "flor" }', '"to" is "flor": did you mean floor'),
        ('scale = { role = "norm", factor = 1, mode = "x" }', '"mode" belongs to from = "bench.json"'),
        ('fuse = { chain = ["a"] }', '"chain" must be a list of at least two patterns'),
        ('split = { role = "norm" }', '"parts" is missing'),
        ('split = { role = "norm", parts = 1 }', "at least 2"),
        ('move = { role = "norm" }', '"until" is missing'),
        ('move = { role = "norm", until = { rol = 3 } }', 'move until: unknown key "rol": did you mean role'),
        ('move = { role = "norm", until = 3 }', '"until" must be a table of conditions'),
        ("place = { fraction = 1.5 }", '"fraction" must be from 0 to 1'),
        ("place = {}", '"fraction" and layers exclude each other'),
        ("draft = { k = 3, device = 1 }", "takes no conditions"),
        ('add = { role = "norm" }', '"us" and from exclude each other'),
        ('share = { role = "norm" }', '"source_layers" is missing'),
    ],
)
def test_faults(tmp_path: Path, line: str, said: str):
    with pytest.raises(InputError) as fault:
        read(
            tmp_path,
            f'[[proposal]]\nname = "x"\n{line}\n' + ("" if "=" not in line else 'serialize = { role = "norm" }\n'),
        )
    assert said in str(fault.value) and str(tmp_path / "p.toml") in str(fault.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no [[proposal]]"),
        ("x = 1\n", 'unknown key "x": there are [[proposal]]'),
        ("[[proposal]]\nname = 'a'\n", "line 1, [[proposal]] 1: changes nothing: write one of remove, scale"),
        ("[[proposal]]\nremove = { role = 'norm' }\n", '"name" is missing'),
        ("[[proposal]\n", "is not valid TOML"),
        (
            "[[proposal]]\nname = 'a'\nremove = { device = 0 }\n[[proposal]]\nname = 'a'\nremove = { device = 0 }\n",
            'line 5, [[proposal]] 2: "name" "a" is used twice',
        ),
        (
            "[[proposal]]\nname = 'a'\nscale = [\n  { device = 0, factor = 1 },\n  { device = 0, factor = -1 },\n]\n",
            'line 5, [[proposal]] 1, scale: "factor" must be at least 0',
        ),
        (
            "[[proposal]]\nname = 'a'\n[[proposal.fuse]]\nrole = 'norm'\n[[proposal.fuse]]\nrole = 'x'\n",
            'line 6, [[proposal]] 1, fuse: "role" is "x"',
        ),
    ],
)
def test_faults_of_the_file(tmp_path: Path, text: str, said: str):
    with pytest.raises(InputError) as fault:
        read(tmp_path, text)
    assert said in str(fault.value)


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(InputError, match=r"cannot be read .*: name a TOML file of proposals"):
        read_proposals(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_proposals(tmp_path / "b.toml")


def test_a_measured_time_replaces_an_op(tmp_path: Path):
    results = [
        {"name": "call", "rows": 1, "mode": mode, "p50_us": {"value": us, "kind": "measured"}, "block_p50_us": blocks}
        for mode, us, blocks in [("call", 80.0, [78.0, 82.0]), ("loop", 40.0, [39.0, 41.0])]
    ]
    (tmp_path / "bench.json").write_text(json.dumps({"bench": "sidecar", "results": results}))
    scale = one(tmp_path, 'scale = { device = 1, from = "bench.json", mode = "loop" }')
    where = "measured on machine not told"
    basis = f"bench.json: call, mode loop, rows 1: 40.00 us, {where}"
    assert scale == Scale(Select(device=(1,)), to_us=Given(40, 39, 41, "measured", basis))
    ratio = one(tmp_path, 'scale = { device = 1, from = "bench.json", mode = "loop", against = "call" }')
    basis = f"bench.json: call, mode loop, rows 1: 0.500 of mode call, {where}"
    assert ratio == Scale(Select(device=(1,)), factor=Given(0.5, 39 / 82, 41 / 78, "measured", basis))
    added = one(tmp_path, 'add = { device = 1, from = "bench.json", mode = "call", rows = 1, result = "call" }')
    basis = f"bench.json: call, mode call, rows 1: 80.00 us, {where}"
    assert added == Add(Select(device=(1,)), Given(80, 78, 82, "measured", basis))
    with pytest.raises(
        InputError, match="2 results fit: choose one by result, mode and rows; there are call, mode call"
    ):
        one(tmp_path, 'fuse = { device = 1, from = "bench.json" }')


def test_the_example_is_read():
    found = read_proposals(ROOT / "docs/examples/proposals.toml")
    assert len(found) == 6 and [p.predicted_ms for p in found][:3] == [-0.14, -0.36, -0.15]
