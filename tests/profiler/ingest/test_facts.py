"""What a server knows of its steps and calls, and what an op costs, line by line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.facts import load_costs, load_facts
from stepprof.profiler.store import Store
from tests.trace_builder import TraceBuilder

STEP = '{"step": 3, "drafted": 5, "kept": 4, "batch": 1, "class": "code", "context_length": 512, "gpu_ns": 9000}'
CALL = '{"step": 3, "layer": 7, "rows": 2, "experts": 3, "skipped": false}'
COST = '{"label": "gemm", "bytes_read": 10, "bytes_written": 20, "flops": 30, "source": "counted"}'


@pytest.fixture
def store():
    store = TraceBuilder().store()
    yield store
    store.close()


def written(folder: Path, *lines: str) -> Path:
    (folder / "facts.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "facts.jsonl"


def test_steps_and_calls(store: Store, tmp_path: Path):
    load_facts(written(tmp_path, STEP, CALL, "", '{"step": 4}', '{"step": 4, "layer": 0}'), store)

    assert store.rows("FROM step_fact ORDER BY step") == [(3, 5, 4, 1, "code", 512, 9000), (4, *[None] * 6)]
    assert store.rows("FROM call_fact ORDER BY step") == [(3, 7, 2, 3, False, None), (4, 0, *[None] * 4)]


def test_experts_that_are_named_are_counted(store: Store, tmp_path: Path):
    load_facts(written(tmp_path, '{"step": 0, "layer": 1, "expert_numbers": [7, 5, 7]}', CALL, STEP), store)

    assert store.rows("SELECT layer, experts, expert_numbers FROM call_fact ORDER BY layer") == [
        (1, 2, [7, 5, 7]),
        (7, 3, None),
    ]


def test_a_class_named_layer_is_no_call(store: Store, tmp_path: Path):
    load_facts(written(tmp_path, '{"step": 3, "class": "layer"}'), store)

    assert store.rows("SELECT step, class FROM step_fact") == [(3, "layer")]
    assert store.rows("FROM call_fact") == []


def test_costs(store: Store, tmp_path: Path):
    load_costs(written(tmp_path, COST, '{"label": "norm", "bytes_read": 9223372036854775807}'), store)

    assert store.rows("FROM op_cost ORDER BY label") == [
        ("gemm", 10, 20, 30, "counted"),
        ("norm", 2**63 - 1, None, None, None),
    ]


def test_an_empty_file_adds_nothing(store: Store, tmp_path: Path):
    load_facts(written(tmp_path, "", " "), store)
    assert store.value("SELECT (SELECT count(*) FROM step_fact) + (SELECT count(*) FROM call_fact)") == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not a StepFact"),
        ("[1]", "not a StepFact"),
        ('{"drafted": 1}', "not a StepFact .*`step`"),
        ('{"step": 3, "keept": 4}', "not a StepFact .*`keept`"),
        ('{"step": "three"}', "not a StepFact"),
        ('{"step": 3, "drafted": -1}', "not a StepFact .*>= 0"),
        ('{"step": 3, "drafted": 2147483648}', "not a StepFact .*drafted"),
        ('{"step": 9223372036854775808}', "not a StepFact .*step"),
        ('{"step": 3, "layer": 1, "rows": 1.5}', "not a CallFact .*rows"),
        ('{"step": 3, "layer": 1, "experts": [5]}', "not a CallFact .*experts"),
        ('{"step": 3, "layer": 1, "expert_numbers": [-1]}', "not a CallFact .*expert_numbers"),
        ('{"step": 3, "layer": 1, "kept": 1}', "not a CallFact .*`kept`"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_kept(line: str, why: str, store: Store, tmp_path: Path):
    with pytest.raises(InputError, match=rf"facts\.jsonl line 2 is {why}.*: correct the line\."):
        load_facts(written(tmp_path, STEP, line), store)

    assert store.rows("FROM step_fact") == []


@pytest.mark.parametrize("load", [load_facts, load_costs])
def test_bytes_that_are_no_text(load: Callable[[Path, Store], None], store: Store, tmp_path: Path):
    (tmp_path / "x").write_bytes(b'{"label": "\xff", "step": 1}\n')
    with pytest.raises(InputError, match="x line 1 is not a"):
        load(tmp_path / "x", store)


@pytest.mark.parametrize("load", [load_facts, load_costs])
def test_an_absent_file(load: Callable[[Path, Store], None], store: Store, tmp_path: Path):
    with pytest.raises(InputError, match=r"absent cannot be read \(No such file or directory\): check the path\."):
        load(tmp_path / "absent", store)
