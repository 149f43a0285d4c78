"""stepprof whatif as a user or a script meets it, on the capture that comes with stepprof."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stepprof.profiler.cli import app
from stepprof.profiler.demo import EDGES, TRACE
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.importer import Extras, import_run
from tests.repository import ROOT

EXAMPLE = ROOT / "docs/examples/proposals.toml"
JOIN_WAITS = [2863501, 2896559, 2875569, 2853265, 2867347, 2829910, 2899736, 2897305]  # ns, from the true edges


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whatif") / "demo.duckdb"
    import_run(TRACE, path, Extras(edges=EDGES))
    return path


def out(*words: object) -> str:
    done = CliRunner().invoke(app, ["whatif", *map(str, words)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module")
def found(run: Path) -> dict[str, Any]:
    return json.loads(out(run, EXAMPLE, "--kept", "5.27", "--table", "9,8,7.5", "--rate", "703", "--json"))


def named(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["proposals"] if one["name"] == name)


def test_a_sidecar_at_zero_time_saves_the_join_waits_and_nothing_of_what_is_hidden(found: dict[str, Any]):
    one = named(found, "sidecar at zero time")
    waits, saved = sum(JOIN_WAITS) / 8e6, -one["alone"]["delta_ms"]["value"]
    # what main waited for, signals back included (3.126 of 2.873 + …); the work is 3.397
    assert waits < saved < 1.1 * waits
    assert saved == pytest.approx(3.117, abs=0.005)
    assert one["work_ms"] == {"value": pytest.approx(3.397, abs=0.001), "kind": "measured", "low": None, "high": None}
    assert one["null_sum_of_work_ms"] == pytest.approx(-3.397, abs=0.001)
    assert one["hidden_ms"]["value"] == pytest.approx(3.397 - saved, abs=0.001)
    assert one["alone"]["step_ms"]["value"] == pytest.approx(found["step_ms"]["value"] - saved)
    assert found["step_ms"]["kind"] == "measured" and one["alone"]["step_ms"]["kind"] == "modelled"


def test_fused_norms_save_a_node_cost_a_boundary(found: dict[str, Any]):
    one = named(found, "norm chains in one op")
    # 48 norms of 8 ops: 336 boundaries of 0.84 us; a few gaps are longer
    assert one["ops"] == 48 * 8
    assert -one["alone"]["delta_ms"]["value"] == pytest.approx(336 * 0.00084, abs=0.001)
    assert (one["human_estimate_ms"]["value"], one["human_estimate_ms"]["kind"]) == (-0.36, "quoted")
    assert one["verdict"] == "met"


def test_the_sequence_ends_where_its_changes_add_up(found: dict[str, Any]):
    step = found["step_ms"]["value"]
    for one in found["proposals"]:
        step += one["in_sequence"]["delta_ms"]["value"]
        assert one["in_sequence"]["step_ms"]["value"] == pytest.approx(step, abs=1e-9)
    alone = sum(one["alone"]["delta_ms"]["value"] for one in found["proposals"])
    assert step - found["step_ms"]["value"] > alone  # savings overlap: they do not add up


def test_tokens(found: dict[str, Any]):
    assert [round(line["tokens_per_s"]) for line in found["table"]] == [586, 659, 703]
    assert found["targets"][0]["step_ms"] == pytest.approx(7.496, abs=0.001)
    assert found["kept"] == {"value": 5.27, "kind": "quoted", "low": None, "high": None}
    assert found["tokens_per_s"]["value"] == pytest.approx(5270 / found["period_ms"]["value"])
    assert found["replay_error"]["wall_median"] < 0.01 and found["node_cost"]["figure"] == "quoted"


def test_terminal(run: Path):
    text = out(run, EXAMPLE, "--kept", "5.27", "--table", "9,8,7.5")
    assert "kept tokens  5.270 a step (quoted)" in text
    assert "where it was not fitted" in text
    assert re.search(r"  hidden   0\.2[78]\d of the 3\.397 ms less work: other ops cover it today", text)
    assert "  beside   human -0.360 (quoted), sum of removed work" in text
    assert "  gate     <= -0.100 ms: not met" in text
    assert "    9.00     585.6\n    8.00     658.8\n    7.50     702.7\n" in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("warning")) <= 80


def test_steps_and_nodes(run: Path, tmp_path: Path):
    cell = {"value": 2.0, "low": 2.0, "high": 2.0}
    row = {"mode": "graph", "branches": 1, "node_cost_us": cell, "visible_gap_us": cell, "ramp_us": cell}
    (tmp_path / "nodes.json").write_text(json.dumps({"gpu": "NVIDIA H200", "rows": [row]}))
    found = json.loads(out(run, EXAMPLE, "--steps", "2:6", "--nodes", tmp_path / "nodes.json", "--json"))
    assert (found["steps"], found["kept"], found["table"]) == (4, None, [])
    assert -named(found, "norm chains in one op")["alone"]["delta_ms"]["value"] > 0.5
    assert found["node_cost"]["figure"] == "measured"


def test_faults(run: Path, tmp_path: Path):
    (tmp_path / "p.toml").write_text('[[proposal]]\nname = "x"\nremove = { role = "mhc" }\n')
    with pytest.raises(
        InputError, match=r'line 3, \[\[proposal\]\] 1, remove, "x": no op has role "mhc": there are attention, '
    ):
        out(run, tmp_path / "p.toml")
    with pytest.raises(UsageError, match=r"--kept -1.0 must be above 0"):
        out(run, EXAMPLE, "--kept", "-1")
    with pytest.raises(UsageError, match="--table 'x': write numbers above 0"):
        out(run, EXAMPLE, "--table", "x")
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        out(run, tmp_path / "none.toml")
