"""The command line: figures with their kinds, facts that the importer reads, a truth that names every op."""

import csv
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stepprof.analyses.vocabulary import KINDS, PHASES, ROLES
from stepprof.profiler.ingest.facts import CallFact, StepFact
from stepprof.runtime import tokenizer
from stepprof.runtime.__main__ import _stamped, main
from stepprof.runtime.prompts import CLASSES, prompts


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of a command in this process."""
    monkeypatch.setattr(sys, "argv", ["runtime", *words])
    try:
        code = main()
    except SystemExit as left:
        code = int(left.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_tiny_runs_as_a_command_in_seconds():
    command = [sys.executable, "-m", "stepprof.runtime", "run", "--preset", "tiny", "--steps", "4", "--device", "cpu"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True, timeout=60)
    document = json.loads(done.stdout)
    (prose,) = document["classes"]
    assert prose["steps"] == 4 and prose["p50_step_ms"]["kind"] == "measured"
    assert prose["p50_step_ms"]["value"] == pytest.approx(sum(sorted(prose["step_ms"])[1:3]) / 2, abs=1e-6)
    assert sum(map(len, prose["tokens"])) >= 4


def test_every_class_and_facts_and_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    facts, truth = tmp_path / "facts.jsonl", tmp_path / "truth.json"
    words = ("run", "--prompts", "all", "--steps", "3", "--warm-up", "1", "--device", "cpu", "--json")
    code, out, _ = run(capsys, monkeypatch, *words, "--facts", str(facts), "--truth", str(truth))
    document = json.loads(out)
    assert code == 0 and [one["class"] for one in document["classes"]] == list(CLASSES)

    lines = [json.loads(line) for line in facts.read_text().splitlines()]
    calls = [msgspec.convert(line, CallFact) for line in lines if "layer" in line]
    steps = [msgspec.convert(line, StepFact) for line in lines if "layer" not in line]
    assert [fact.step for fact in steps] == list(range(5 * 4))
    assert len(calls) == 4 * len(steps) and all((fact.drafted, fact.batch) == (5, 1) for fact in steps)
    for name, one in zip(CLASSES, document["classes"], strict=True):
        counted = [fact.kept or 0 for fact in steps if fact.class_ == name][1:]
        assert min(counted) >= 1
        assert one["kept_per_step"]["value"] == pytest.approx(sum(counted) / 3)

    ops = json.loads(truth.read_text())["ops"]
    assert {op["role"] for op in ops} <= set(ROLES) and {op["kind"] for op in ops} <= set(KINDS)
    assert {op["phase"] for op in ops} == set(PHASES) - {"prefill"}
    assert [op["order"] for op in ops] == list(range(len(ops)))
    counts = Counter((op["role"], op["layer"]) for op in ops)
    assert all(counts["sidecar_gemm", layer] == 2 for layer in range(4))


def test_imposed_figures_are_called_simulated(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    words = ("run", "--steps", "3", "--k", "2", "--simulate-acceptance", "1,1", "--cold-rate", "0.5", "--device", "cpu")
    _, out, _ = run(capsys, monkeypatch, *words, "--json")
    document = json.loads(out)
    (prose,) = document["classes"]
    assert prose["kept_per_step"] == {"value": 3.0, "kind": "simulated"}
    assert {prose[key]["kind"] for key in ("p50_step_ms", "tokens_per_s")} == {"simulated"}
    assert document["options"]["simulated"] == ["--simulate-acceptance", "--cold-rate"]


def test_drafts_beyond_the_trained_block_are_marked_in_every_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    words = ("run", "--steps", "2", "--warm-up", "0", "--device", "cpu")
    document = json.loads(run(capsys, monkeypatch, *words, "--k", "7", "--json")[1])
    (prose,) = document["classes"]
    assert (document["flags"], document["draft_block"]) == (["k_beyond_block"], 5)
    assert ["beyond_block" in one for one in prose["acceptance"]] == [False] * 5 + [True] * 2
    assert prose["kept_per_step"]["beyond_block"] and prose["tokens_per_s"]["beyond_block"]
    assert "beyond_block" not in prose["p50_step_ms"], "a step of 7 drafts takes what it takes"
    _, out, err = run(capsys, monkeypatch, *words, "--k", "7")
    assert " ".join(out.split()).count("(measured, drafts beyond the block of 5)") == 2
    assert "k is above the draft head's block of 5" in err

    document = json.loads(run(capsys, monkeypatch, *words, "--k", "5", "--json")[1])
    assert document["flags"] == [] and "beyond_block" not in json.dumps(document)


def test_a_padded_op_slows_the_step(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def step_ms(*words: str) -> float:
        _, out, _ = run(capsys, monkeypatch, "run", "--steps", "5", "--device", "cpu", "--json", *words)
        return json.loads(out)["classes"][0]["p50_step_ms"]["value"]

    # the attention of 4 layers and of the draft head's one; on a busy machine a step may take longer, never less
    padded = step_ms("--pad-op", "attention=20000")
    assert padded >= 100 and padded > step_ms() + 50


def test_a_resident_sidecar_tells_its_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    file, words = tmp_path / "resident.jsonl", ("run", "--steps", "2", "--device", "cpu", "--json")
    code, _, _ = run(capsys, monkeypatch, *words, "--sidecar-mode", "persistent", "--resident", str(file))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert code == 0 and lines and all(line["resident"] and line["seen_ns"] <= line["answered_ns"] for line in lines)


def test_stamps_that_were_overwritten_are_told(tmp_path: Path):
    full: Any = SimpleNamespace(call_stamps=lambda: ([], 0, 0), ring_full=True)
    (note,) = _stamped(tmp_path / "ring.jsonl", full)
    assert note == "the resident kernel keeps its last 65536 stamps: earlier calls may be missing in ring.jsonl."


def test_bench_sidecar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    words = ("bench", "sidecar", "--rows", "0,1,3", "--calls", "6", "--sidecar-mode", "graph", "--device", "cpu")
    code, out, _ = run(capsys, monkeypatch, *words, "--json")
    document: dict[str, Any] = json.loads(out)
    assert code == 0 and [call["rows"] for call in document["results"]] == [0, 1, 3]
    assert [call["experts"] for call in document["results"]] == [0, 1, 2]  # tiny has two cold experts
    code, out, _ = run(capsys, monkeypatch, *words)
    assert "sidecar call graph, 0 rows: p50 " in out


def test_expert_use_agrees_with_the_facts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The file names experts of the model, distinct ones as many as the facts count; no row is lost."""
    facts, use = tmp_path / "facts.jsonl", tmp_path / "use.csv"
    words = ("run", "--prompts", "prose,code", "--steps", "4", "--device", "cpu", "--json", "--hot-experts", "5")
    code, _, _ = run(capsys, monkeypatch, *words, "--facts", str(facts), "--expert-use", str(use))
    assert code == 0
    calls = {
        (one["step"], one["layer"]): one for one in map(json.loads, facts.read_text().splitlines()) if "layer" in one
    }
    with use.open() as file:
        lines = list(csv.DictReader(file))
    assert {line["class"] for line in lines} == {"prose", "code"} and {line["step"] for line in lines} == set(
        map(str, range(12))
    )
    found: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for line in (line for line in lines if line["layer"]):
        found[int(line["step"]), int(line["layer"])][int(line["expert"])] = int(line["rows"])
    assert {expert for call in found.values() for expert in call} == {5, 6, 7}
    assert {key: len(call) for key, call in found.items()} == {
        key: one["experts"] for key, one in calls.items() if one["experts"]
    }
    assert all(max(call.values()) <= calls[key]["rows"] <= sum(call.values()) for key, call in found.items())


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("run", "--k", "9"), 2, "--k 9 must lie between 0 and 7"),
        (("run", "--steps", "0"), 2, "0 must be at least 1"),
        (("run", "--prompts", "poem"), 2, "no prompt class 'poem'; there are prose"),
        (("run", "--device", "tpu"), 2, "no device 'tpu'"),
        (("run", "--device", "cuda:9"), 2, "no device 'cuda:9' here"),
        (("run", "--context", "600"), 1, "the prompt has 600 tokens, at most 506 fit"),
        (("run", "--weights", "none.safetensors"), 1, "none.safetensors cannot be read"),
        (("run", "--facts", "no/such/folder"), 1, "no/such/folder cannot be written"),
        (("run", "--expert-use", "no/such/folder"), 1, "no/such/folder cannot be written"),
        (("run", "--placement", "p.json", "--hot-experts", "3"), 2, "give one"),
        (("run", "--pad-op", "attentoin=3"), 2, "no role 'attentoin'"),
        (("run", "--pad-op", "attention"), 2, "invalid pad value"),
        (("bench", "sidecar", "--rows=-1"), 2, "whole numbers of 0 or more"),
        (("bench", "sidecar", "--rows", "1,2", "--calls", "1"), 2, "at least one for each number of rows"),
        (("bench", "sidecar", "--modes", "graph,grpah"), 2, "no mode 'grpah'"),
        (("bench", "sidecar", "--row-experts", "3", "--modes", "graph"), 2, "between 1 and 2"),
        (("run", "--resident", "x"), 2, "of --sidecar-mode persistent only"),
        (("run", "--layers", "0"), 2, "--layers 0 must be at least 1"),
    ],
    ids=str,
)
def test_faults_are_one_sentence(
    words: tuple[str, ...],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    left, out, err = run(capsys, monkeypatch, *words)
    assert (left, out) == (code, "") and message in err and "Traceback" not in err


@pytest.mark.parametrize("name", CLASSES)
def test_prompts_survive_the_tokenizer(name: str):
    for text in prompts(name):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_tokenizer_takes_any_bytes():
    assert tokenizer.encode("é")[1:] == [0xC3, 0xA9]
    assert tokenizer.decode([tokenizer.BEGIN, 0xC3, 258]) == "\ufffd"
