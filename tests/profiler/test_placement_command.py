"""stepprof placement from end to end: moves, the curve, break-even, the new placement, and faults in one sentence."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stepprof.analyses.placement.layer_waits import read_waits
from stepprof.profiler.audit_fact import Fact
from stepprof.profiler.audit_measure import Measured, measured_document
from stepprof.profiler.cli import app
from stepprof.profiler.errors import InputError, Refused, StepprofError, UsageError
from stepprof.profiler.ingest.facts import load_facts
from stepprof.profiler.link_speed import LinkSpeed, link_speed, number_of_bytes
from stepprof.profiler.store import create
from tests.repository import ROOT

USE = (
    "class,step,layer,expert,rows\n"
    + "".join(f"code,{n},1,{e},1\n" for n in range(4) for e in (5, 7))
    + "code,3,0,6,2\n"
)
SIZES = ["--expert-bytes", "20MB", "--link", "50GB/s"]


@pytest.fixture
def use(tmp_path: Path) -> Path:
    """4 steps: the pair 5, 7 of layer 1 in each, 6 of layer 0 in one."""
    path = tmp_path / "use.csv"
    path.write_text(USE)
    return path


def answer(*words: object) -> tuple[str, BaseException | None]:
    done = CliRunner().invoke(app, ["placement", *map(str, words)])
    return done.stdout, done.exception


def test_moves_and_what_they_save(use: Path, tmp_path: Path):
    """30 µs in every step, 30 in a quarter of them; 2 moves of 40 MB take 800 µs and save 30: 27 steps."""
    hot, new = tmp_path / "hot.json", tmp_path / "new.json"
    hot.write_text(json.dumps({"hot": [[0, 1], [0, 2]]}))
    out, fault = answer(use, *SIZES, "--memory", "50MB", "--wait-us", 30, "--placement", hot, "-o", new, "--json")
    document: dict[str, Any] = json.loads(out)
    assert fault is None and document["chosen"] == [{"layer": 1, "expert": 5}, {"layer": 1, "expert": 7}]
    assert [document[f"{key}_us_per_step"] for key in ("wait", "left", "saved")] == [
        {"value": value, "kind": "modelled"} for value in (37.5, 7.5, 30.0)
    ]
    assert [(point["experts"], point["bytes"]) for point in document["curve"]] == [(0, 0), (2, 40_000_000)]
    assert (document["move"]["time_us"], document["move"]["break_even_steps"]) == (pytest.approx(800), 27)
    assert json.loads(new.read_text()) == {"hot": [[0, 1], [0, 2, 5, 7]]}


def test_the_terminal(use: Path):
    out, _ = answer(use, *SIZES, "--experts", 3, "--wait-us", 30)
    lines = out.splitlines()
    assert lines[0].startswith("join wait 37.5 µs a step today, 0.0 with 3 experts moved (100 % less, modelled)")
    assert "moves by layer  0: 1, 1: 2" in out and "pays after 32 steps" in out and max(map(len, lines)) <= 80


def test_waits_by_layer(use: Path, tmp_path: Path):
    """Layer 0 waits 100 µs in a quarter of the steps, so its one expert is worth more than half the pair."""
    waits = tmp_path / "sidecar.json"
    by_layer = [
        {"layer": 0, "join_wait_us": 90.0},
        {"layer": 0, "join_wait_us": 110.0},
        {"layer": 1, "join_wait_us": 4},
    ]
    waits.write_text(json.dumps({"calls": 3, "by_layer": [*by_layer, {"layer": None, "join_wait_us": 1}]}))
    out, _ = answer(use, *SIZES, "--experts", 1, "--waits", waits, "--json")
    assert json.loads(out)["chosen"] == [{"layer": 0, "expert": 6}]
    waits.write_text("layer,join_wait_us\n0,100\n")
    assert read_waits(waits, 7.0).per_layer == {0: 100.0}


def test_waits_of_a_trace_say_what_tracing_did(use: Path, tmp_path: Path):
    waits = tmp_path / "sidecar.json"
    found = {"by_layer": [{"layer": n, "join_wait_us": 30} for n in (0, 1)], "tracing_inflation": 1.1}
    waits.write_text(json.dumps(found | {"tracing_inflation_interval": [1.05, 1.2]}))
    document = json.loads(answer(use, *SIZES, "--experts", 1, "--waits", waits, "--json")[0])
    assert (document["tracing_inflation"], document["tracing_inflation_interval"]) == (1.1, [1.05, 1.2])
    shown, _ = answer(use, *SIZES, "--experts", 1, "--waits", waits)
    assert "tracing makes a step 1.10 times as long as untraced (1.05 to 1.20)" in shown
    assert "tracing" not in answer(use, *SIZES, "--experts", 1, "--wait-us", 30)[0]


CALLS = "step,layer,rows,experts,join_wait_ns,counted_wait_ns\n" + "".join(f"{n},1,1,2,9000,8000\n" for n in range(4))


def test_waits_of_calls(use: Path, tmp_path: Path):
    """The pair of layer 1 waits 8 µs in each step as counted; 6 of layer 0 waits 2 in one, alone with its number."""
    waits = tmp_path / "calls.csv"
    waits.write_text(CALLS + "3,0,1,1,2000,2000\n")
    document = json.loads(answer(use, *SIZES, "--experts", 3, "--waits", waits, "--json")[0])
    assert [document[f"{key}_us_per_step"]["value"] for key in ("wait", "left")] == [8.5, 0.0]
    assert document["waits_credited"] == {"own": 0, "by_experts": 5, "by_layer": 0}
    assert [warning["code"] for warning in document["warnings"]] == ["waits_by_experts"]
    shown, _ = answer(use, *SIZES, "--experts", 3, "--waits", waits)
    assert "waits           0 calls' own, 5 by number of experts, 0 by layer" in shown
    assert "of a traced run" in shown and max(map(len, shown.splitlines())) <= 80


def test_one_wait_for_all_calls_is_warned_of(use: Path):
    document = json.loads(answer(use, *SIZES, "--experts", 1, "--wait-us", 30, "--json")[0])
    assert document["waits_credited"] == {"own": 0, "by_experts": 0, "by_layer": 5}
    assert [(warning["code"], warning["count"]) for warning in document["warnings"]] == [("waits_by_layer", 5)]
    shown = " ".join(answer(use, *SIZES, "--experts", 1, "--wait-us", 30)[0].split())
    assert "warning: every call is credited the same wait (--wait-us)" in shown and "is an upper bound" in shown


@pytest.mark.parametrize(
    "text", ["", "{}", '{"by_layer": []}', "layer,join_wait_us\n0,-1\n", "layer,wait\n0,1\n", '{"by_layer": 3}']
)
def test_no_waits(text: str, tmp_path: Path):
    path = tmp_path / "waits"
    path.write_text(text)
    with pytest.raises(InputError, match="holds no join waits by layer"):
        read_waits(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*SIZES, "--wait-us", "1"], "--memory or --experts: give one"),
        ([*SIZES, "--experts", "1"], "give --waits FILE or --wait-us N"),
        ([*SIZES, "--experts", "1", "--wait-us", "1", "-o", "x"], "give both"),
        (["--expert-bytes", "no", "--experts", "1", "--wait-us", "1"], "--expert-bytes no: give a size"),
    ],
    ids=str,
)
def test_wrong_usage(words: list[str], message: str, use: Path):
    _, fault = answer(use, *words)
    assert isinstance(fault, UsageError) and message in str(fault)


def test_a_placement_of_another_model(use: Path, tmp_path: Path):
    hot, new = tmp_path / "hot.json", tmp_path / "new.json"
    hot.write_text('{"hot": [[1]]}')
    _, fault = answer(use, *SIZES, "--experts", 2, "--wait-us", 30, "--placement", hot, "-o", new)
    assert isinstance(fault, StepprofError) and "name layer 1, the placement has 1 layers" in str(fault)
    assert not new.exists()


def test_the_link_that_the_audit_sees():
    seen = [Fact("pcie_generation", "1 x16 (possible 5 x16)", "NVML", "", "0")]
    found = link_speed(None, lambda: seen)
    assert (round(found.bytes_per_s / 1e9, 1), found.source) == (63.0, "PCIe 5 x16 of GPU 0, by the audit")
    with pytest.raises(UsageError, match="--link 50GB/s"):
        link_speed(None, list)


@pytest.mark.parametrize(("text", "size"), [("18.8MB", 18.8e6), ("10 gB", 1e10), ("512", 512), ("2k", 2000)])
def test_sizes(text: str, size: float):
    assert number_of_bytes(text, "--memory") == pytest.approx(size)


@pytest.mark.parametrize("text", ["10Gb", "10 gb", "10Gbit", "8 bits"])
def test_a_size_in_bits_is_none(text: str):
    with pytest.raises(UsageError, match=f"--memory {text}: b stands for bits: give bytes"):
        number_of_bytes(text, "--memory")


@pytest.mark.parametrize(
    ("text", "gb_per_s"),
    [
        ("50GB/s", 50),
        ("50 gB/s", 50),
        ("50GB", 50),
        ("50GBps", 50),
        ("50Gb/s", 6.25),
        ("50Gbit/s", 6.25),
        ("50 gbit/s", 6.25),
        ("50gbps", 6.25),
        ("400000Mb/s", 50),
        ("8 bits/s", 1e-9),
    ],
)
def test_b_are_bits_and_B_are_bytes(text: str, gb_per_s: float):
    found = link_speed(text)
    assert (found.bytes_per_s / 1e9, found.source, found.kind) == (pytest.approx(gb_per_s), "--link", "quoted")


@pytest.mark.parametrize("text", ["50", "50G", "50G/s", "0GB/s", "-5GB/s", "1.2.3GB/s", "fast", "50GiB/s", ""])
def test_a_speed_has_a_unit(text: str):
    with pytest.raises(
        UsageError, match=f"^--link {text}: give a speed above 0 with its unit, as in 50GB/s or 400Gbit"
    ):
        link_speed(text)


@pytest.mark.parametrize("text", ["50gb/s", "50 kb/s", "50gb", "50b/s"])
def test_a_speed_that_may_be_either_is_refused(text: str):
    with pytest.raises(UsageError, match=f"^--link {text} may be bits or bytes: write 50GB/s or 400Gbit/s"):
        link_speed(text)


def audited(path: Path, **gb_per_s: list[float]) -> Path:
    """The document of audit --measure --json with these bandwidths, a latency beside them."""
    rows = [Measured("card_to_card_latency_us", "0 to 1", 10.5, "µs", 16384, "")]
    rows += [
        Measured(f"{way}_bandwidth_gb_per_s", "", one, "GB/s", 1 << 28, "")
        for way, all_ in gb_per_s.items()
        for one in all_
    ]
    path.write_text(json.dumps({"facts": [], "measured": measured_document(rows)}))
    return path


def test_the_link_as_an_audit_measured_it(use: Path, tmp_path: Path):
    """2 experts of 20 MB over the slower way of 40 GB/s take 1 ms; the host's 55 GB/s do not count."""
    audit = audited(tmp_path / "audit.json", host_to_card=[55.0], card_to_card=[50.0, 40.0])
    words = (use, "--expert-bytes", "20MB", "--experts", 2, "--wait-us", 30, "--link", audit)
    document = json.loads(answer(*words, "--json")[0])
    assert document["link"] == {"value": 40e9, "kind": "measured", "source": "card to card, audit.json"}
    assert document["move"]["time_us"] == pytest.approx(1000)
    assert "link            40.0 GB/s (card to card, audit.json, measured)" in answer(*words)[0]


def test_the_audit_of_one_card(tmp_path: Path):
    found = link_speed(str(audited(tmp_path / "one.json", host_to_card=[55.0])))
    assert found == LinkSpeed(55e9, "host to card, one.json", "measured")


def test_the_receipt_of_an_audit():
    found = link_speed(str(ROOT / "benchmarks/receipts/audit_h200x2.json"))
    assert (round(found.bytes_per_s / 1e9, 1), found.kind) == (392.2, "measured")


@pytest.mark.parametrize(
    ("made", "message"), [(True, "holds no bandwidth of copies"), (False, "holds no measurements")]
)
def test_audits_without_a_bandwidth(made: bool, message: str, tmp_path: Path):
    path = audited(tmp_path / "audit.json") if made else tmp_path / "none.json"
    with pytest.raises(InputError, match=f"{message}.*: write it with stepprof audit --measure --json"):
        link_speed(str(path))


FACTS = "".join(
    f'{{"step": {n}, "layer": 1, "rows": 1, "expert_numbers": [5, 7]}}\n{{"step": {n}, "kept": 2}}\n' for n in range(3)
)
ONE_MOVE = ("--expert-bytes", "20MB", "--link", "50GB/s", "--experts", 2, "--wait-us", 30, "--json")


def test_a_facts_file_is_a_class(tmp_path: Path):
    """3 steps with the pair, one without: 30 µs in three quarters of the steps."""
    facts = tmp_path / "code.jsonl"
    facts.write_text("\n" + FACTS + '{"step": 3, "layer": 1, "rows": 0, "experts": 0}\n')
    document = json.loads(answer(facts, *ONE_MOVE)[0])
    assert document["classes"] == [{"name": "code", "steps": 4}]
    assert document["wait_us_per_step"] == {"value": 22.5, "kind": "modelled"}
    assert document["chosen"] == [{"layer": 1, "expert": 5}, {"layer": 1, "expert": 7}]


def test_files_of_several_classes(use: Path, tmp_path: Path):
    """A CSV with its own class, facts under a name, and a run whose facts were packed with gzip."""
    facts, run = tmp_path / "facts.jsonl.gz", tmp_path / "chat.duckdb"
    facts.write_bytes(gzip.compress(FACTS.encode()))
    with create(run) as store:
        load_facts(facts, store)
    document = json.loads(answer(use, f"prose={facts}", run, *ONE_MOVE)[0])
    assert document["classes"] == [{"name": name, "steps": n} for name, n in (("chat", 3), ("code", 4), ("prose", 3))]
    assert document["chosen"] == [{"layer": 1, "expert": 5}, {"layer": 1, "expert": 7}]
    assert json.loads(answer(facts, *ONE_MOVE)[0])["classes"] == [{"name": "facts", "steps": 3}]


def test_files_that_cannot_be_taken(use: Path, tmp_path: Path):
    counted, broken, run = tmp_path / "counted.jsonl", tmp_path / "broken.jsonl", tmp_path / "run.duckdb"
    counted.write_text('{"step": 0, "layer": 1, "rows": 2, "experts": 2}\n')
    broken.write_text('{"step": 0, "layer": 1, "experts": "many"}\n')
    with create(run):
        pass
    for words, kind, message in (
        ((counted,), Refused, "counted.jsonl: 1 of 1 calls do not tell which experts they used"),
        ((broken,), InputError, "broken.jsonl line 1 is not a CallFact"),
        ((run,), Refused, "run.duckdb holds no facts of sidecar calls"),
        ((f"x={use}",), UsageError, "a CSV names its classes itself: give it without x=."),
        (("x=",), UsageError, "x= names no file of expert uses: write NAME=FILE."),
        ((tmp_path / "none.csv",), InputError, "none.csv cannot be read"),
        (("n" * 5000,), InputError, "cannot be read"),
    ):
        fault = answer(*words, *ONE_MOVE)[1]
        assert type(fault) is kind and message in str(fault)
