"""Which ranges mark steps: the grammars of rules/markers.toml, the user's, and what is no marker."""

import re

import pytest

from stepprof.analyses.markers import grammars, load_ranges, marked, marker_names
from stepprof.analyses.rules import load_rules
from stepprof.profiler.errors import UsageError
from tests.trace_builder import TraceBuilder

CONTEXT_0 = "context_0(sq0sk0sqsq0sqsk0)"
# as read in traces of these programs; SGLang's and vLLM's come from public captures
REAL_NAMES = [
    ("stepprof", "step/0", None),
    ("stepprof", "step/128", None),
    ("step", "step", None),
    ("step", "step_7", None),
    ("step", "step 7", None),
    ("step", "step#7", None),
    ("step", "step:7", None),
    ("decode_step", "decode_step", None),
    ("decode_step", "decode_step_3", None),
    ("decode_step", "decode_step/3", None),
    ("vllm", f"execute_32_{CONTEXT_0}_generation_32(sq32sk55086sqsq32sqsk55086)", None),
    ("vllm", "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489)", None),
    ("vllm", "execute_15360_context_15(sq15360sk15360)_generation_0(sq0sk0sqsq0sqsk0)", "prefill"),
    ("sglang", "step[DECODE bs=32]", None),
    ("sglang", "step[TARGET_VERIFY bs=1]", None),
    ("sglang", "step[EXTEND bs=15 toks=15360]", "prefill"),
    ("torch_profiler", "ProfilerStep#10", None),
    ("token", "token_17", None),
]
NO_MARKERS = ["layer/3/attention", "stepper", "my_step/3", "step/x", "decode_steps", "verify", "draft/0", "sidecar/3"]


@pytest.fixture(scope="module")
def told() -> dict[str, tuple[str, str | None]]:
    """For each name above the first built-in grammar that it belongs to, and the phase it says."""
    trace = TraceBuilder()
    for i, name in enumerate([*(name for _, name, _ in REAL_NAMES), *NO_MARKERS]):
        trace.range(name, 10 * i, 10 * i + 9)
    ranges = load_ranges(trace.store(), load_rules())
    first: dict[str, tuple[str, str | None]] = {}
    for grammar, patterns in grammars(load_rules(), None):
        for marker in marked(ranges, patterns):
            first.setdefault(marker.label, (grammar, marker.phase))
    return first


@pytest.mark.parametrize(("grammar", "name", "phase"), REAL_NAMES, ids=[name for _, name, _ in REAL_NAMES])
def test_real_names(told, grammar, name, phase):
    assert told[name] == (grammar, phase)


@pytest.mark.parametrize("name", NO_MARKERS)
def test_other_ranges_mark_no_step(told, name):
    assert name not in told


def test_every_grammar_has_a_real_name():
    assert {grammar for grammar, _ in grammars(load_rules(), None)} == {grammar for grammar, _, _ in REAL_NAMES}


@pytest.mark.parametrize("domain", ["CCCL", "NCCL", "cuBLAS"])
def test_ranges_of_library_domains_are_left_out(domain):
    trace = TraceBuilder().range("step/0", 0, 10, domain=domain).range("step/1", 20, 30, domain="my model")
    ranges = load_ranges(trace.store(), load_rules())
    assert [ranges.names[i] for i in ranges.name] == ["step/1"]


def test_of_nested_matches_the_outermost_marks():
    """step/1 lies in step/0; on thread 2 it does not."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 20, 40).range("step/2", 100, 120)
    trace.range("step/3", 30, 50, thread=2).range("step/4", 30, 50, process=1)
    ranges = load_ranges(trace.store(), load_rules())

    found = marked(ranges, [(re.compile("^step/"), None)])
    assert sorted(marker.label for marker in found) == ["step/0", "step/2", "step/3", "step/4"]


def test_ranges_that_overlap_without_nesting_each_mark():
    """Start/end ranges of a pipelined server: each step begins before the last one is over."""
    trace = TraceBuilder()
    for i in range(3):
        trace.range(f"step/{i}", 90 * i, 90 * i + 100, nested=False)
    ranges = load_ranges(trace.store(), load_rules())

    assert [m.label for m in marked(ranges, [(re.compile("^step/"), None)])] == ["step/0", "step/1", "step/2"]


def test_the_users_regex_replaces_all_grammars():
    (grammar,) = grammars(load_rules(), r"^turn \d+$")
    name, patterns = grammar
    assert name == r"--marker ^turn \d+$"
    ranges = load_ranges(TraceBuilder().range("turn 1", 0, 10).range("step/0", 20, 30).store(), load_rules())
    assert [(m.label, m.phase) for m in marked(ranges, patterns)] == [("turn 1", None)]


@pytest.mark.parametrize("bad", ["step[", "(", "a{9999999999}", "*"])
def test_a_bad_regex_is_a_usage_error(bad):
    with pytest.raises(UsageError, match=re.escape(repr(bad)) + ".* correct the pattern") as fault:
        grammars(load_rules(), bad)
    assert fault.value.exit_code == 2


def test_the_users_grammar_is_tried_first(tmp_path):
    rules = tmp_path / "mine.toml"
    rules.write_text("[[marker]]\nname = 'mine'\npattern = '^step/[02468]$'\nphase = 'draft'\n")
    name, patterns = grammars(load_rules(rules), None)[0]
    assert (name, [phase for _, phase in patterns]) == ("mine", ["draft"])


def test_names_of_all_grammars_label_no_op():
    names = ["step/0", "ProfilerStep#1", "layer/0/attention", "turn 1"]
    trace = TraceBuilder()
    for i, name in enumerate(names):
        trace.range(name, i, i + 1)
    ranges = load_ranges(trace.store(), load_rules())

    assert marker_names(ranges, load_rules(), None) == {"step/0", "ProfilerStep#1"}
    assert marker_names(ranges, load_rules(), "^turn") == {"step/0", "ProfilerStep#1", "turn 1"}


def test_ranges_before_the_zero_of_the_clock_mark_steps_too():
    ranges = load_ranges(TraceBuilder().range("step/0", -50, -10).range("step/1", -40, -20).store(), load_rules())
    ((_, patterns),) = [g for g in grammars(load_rules(), None) if g[0] == "stepprof"]
    assert [marker.label for marker in marked(ranges, patterns)] == ["step/0"]
