"""`stepprof import` with several files and with labels of another trace, as a script meets it."""

import json
from pathlib import Path

import pytest

from tests.real_runs import find
from tests.trace_builder import NsysExport

STEPS = 4


def program(path: Path, pid: int, utc: int = 1, labelled: bool = False, kernels: str = "abcdefgh") -> Path:
    """Steps of some kernels each; `labelled` puts each into a range of its own."""
    e = NsysExport().add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=utc)
    for step in range(STEPS):
        start = 1000 * step + 1000
        e.range(f"step/{step}", start, start + 900, pid=pid)
        for i, name in enumerate(kernels):
            at, correlation = start + 50 * i, 100 * step + i + 1
            if labelled:
                e.range(f"layer/{i}/norm", at, at + 10, pid=pid)
            e.api("cudaLaunchKernel", at + 1, at + 5, correlation=correlation, pid=pid)
            e.kernel(name, at + 20, at + 40, correlation=correlation, pid=pid)
    return e.write(path)


def test_labels_come_from_another_trace(stepprof, tmp_path):
    target, source = program(tmp_path / "bare.sqlite", 100), program(tmp_path / "marked.sqlite", 200, labelled=True)
    code, out, err = stepprof("import", target, "-o", "run.duckdb", "--labels-from", source, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["warnings"] == [
        {
            "code": "labels_carried",
            "count": 32,
            "text": "Labels of 32 ops come from marked.sqlite, with which 100.0% of the ops of a step align.",
        }
    ]
    rows = json.loads(stepprof("breakdown", "run.duckdb", "--by", "layer", "--json")[1])["rows"]
    assert sorted(row["key"] for row in rows) == sorted(str(i) for i in range(8))


def test_labels_of_another_program_are_refused(stepprof, tmp_path):
    target = program(tmp_path / "bare.sqlite", 100, kernels="stuvwxyz")
    source = program(tmp_path / "marked.sqlite", 200, labelled=True)
    code, out, err = stepprof("import", target, "-o", "run.duckdb", "--labels-from", source)
    assert (code, out) == (4, "")
    assert "bare.sqlite: 0.0% of the ops of its steps align with marked.sqlite, 80% are needed; op 0" in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "run.duckdb").exists()


def test_two_files_make_one_run(stepprof, tmp_path):
    main_, sidecar = program(tmp_path / "a.sqlite", 100), program(tmp_path / "b.sqlite", 200, utc=11)
    code, out, _ = stepprof("import", main_, sidecar, "-o", "run.duckdb", "--json")
    found = json.loads(out)
    assert (code, found["counts"]["kernel"], len(found["devices"])) == (0, 64, 2)
    assert [w["code"] for w in found["warnings"]] == ["device_ambiguous"]
    steps = json.loads(stepprof("steps", "run.duckdb", "--json")[1])["steps"]
    assert [(step["label"], step["ops"]) for step in steps] == [(f"step/{i}", 16) for i in range(STEPS)]


def test_files_and_labels_together(stepprof, tmp_path):
    files = program(tmp_path / "a.sqlite", 100), program(tmp_path / "b.sqlite", 200)
    source = program(tmp_path / "marked.sqlite", 300, labelled=True)
    other = program(tmp_path / "marked2.sqlite", 400, labelled=True)
    assert stepprof("import", source, other, "-o", "labels.duckdb")[0] == 0
    code, _, err = stepprof("import", *files, "-o", "run.duckdb", "--labels-from", "labels.duckdb")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("a.sqlite", "--align", "step"), 2, "--align puts several files on one clock: give two or more."),
        (("a.sqlite", "b.sqlite", "--align", "("), 2, "is not a regular expression"),
        (("a.sqlite", "b.sqlite", "--align", "none"), 4, "share 0 ranges that match --align none"),
        (("a.sqlite", "a.sqlite"), 1, "a.sqlite and a.sqlite are the same trace: give each file once."),
        (("a.sqlite", "nothing.sqlite"), 1, "nothing.sqlite cannot be read"),
        (("a.sqlite", "--labels-from", "nothing.sqlite"), 1, "nothing.sqlite cannot be read"),
        (("a.sqlite", "--labels-from", "b.sqlite"), 4, "b.sqlite: no op of its steps carries a label"),
    ],
)
def test_fault_is_one_sentence(stepprof, tmp_path, words, code, sentence):
    program(tmp_path / "a.sqlite", 100)
    program(tmp_path / "b.sqlite", 200)
    found = stepprof("import", *words, "-o", "run.duckdb")
    assert (found[0], found[1]) == (code, "")
    assert sentence in found[2]
    assert len(found[2].strip().splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"a.sqlite", "b.sqlite", "cache"}


def test_a_kineto_graph_trace_gets_the_roles_of_its_nsys_twin(stepprof):
    target, source = find("h200x2_kineto_overlap.pt.trace.json"), find("h200x2_overlap.sqlite")
    assert stepprof("import", target, "-o", "run.duckdb", "--labels-from", source)[0] == 0
    found = json.loads(stepprof("breakdown", "run.duckdb", "--json")[1])
    assert found["labelled_share"] == 1
    assert {"sidecar_gather", "attention", "expert_gemm"} <= {row["key"] for row in found["rows"]}


def test_real_files_merge_by_marker_or_not_at_all(stepprof):
    files = find("h200x2_kineto_overlap.pt.trace.json"), find("h200x2_overlap.sqlite")
    # step/0 of the one took longer than that of the other
    assert stepprof("import", *files, "-o", "all.duckdb", "--align", "^step/")[0] == 4
    code, out, _ = stepprof("import", *files, "-o", "run.duckdb", "--align", "^step/[1-5]$")
    assert code == 0
    assert "by 5 ranges, which lie up to 50.737 µs apart" in " ".join(out.split())
    steps = json.loads(stepprof("steps", "run.duckdb", "--json")[1])["steps"]
    assert [step["ops"] for step in steps] == [2 * 1378] * 6 + [1378] * 2
