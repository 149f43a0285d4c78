"""Settings of a launch, and those in which two arms differ."""

import json

from stepprof.analyses.compare.settings import (
    Difference,
    differences,
    document_settings,
    manifest_settings,
    run_settings,
)
from tests.trace_builder import TraceBuilder


def test_a_manifest_without_what_differs_by_nature():
    audit = {"facts": [{"name": "iommu", "value": "off", "gpu": None}, {"name": "sm_clock", "value": "1980", "gpu": "0"},
                       {"name": "ecc", "value": "on", "gpu": "0"}], "not_seen": []}  # fmt: skip
    entries = {
        "command": '["run"]', "launch": "3f", "run": "4a", "arm": "base", "exit_code": "0", "sm_clock_mhz": "1980",
        "control_step_p50_ns": "[1]", "cupti_overhead_ns": "7", "control-before_power_w": "300", "tracing_inflation": "1.1", "inflation_span": "0.1", "step_measure": "range",
        "environment": json.dumps({"VLLM_X": "ab"}), "file_hashes": json.dumps({"a.py": "cd"}), "audit": json.dumps(audit),
        "torch_version": "2.11",
    }  # fmt: skip
    assert manifest_settings(entries.items()) == {
        "command": '["run"]',
        "env:VLLM_X": "ab",
        "file:a.py": "cd",
        "host:iommu": "off",
        "host:ecc[0]": "on",
        "torch_version": "2.11",
    }


def test_tables_that_are_none_hold_no_settings():
    assert manifest_settings([("environment", "["), ("file_hashes", "[1]"), ("audit", "{}")]) == {}


def test_settings_of_a_run():
    assert run_settings(TraceBuilder().add("manifest", key="backend", value="cupti").store()) == {"backend": "cupti"}


def test_settings_of_a_document():
    found = document_settings({"preset": "mini", "options": {"k": 5, "fuse": ["mhc"], "link": "peer"}})
    assert found == {"preset": "mini", "options.k": "5", "options.fuse": '["mhc"]', "options.link": "peer"}


def test_differences():
    control = [{"a": "1", "b": "x", "c": "same"}, {"a": "1", "b": "y", "c": "same"}]
    found = differences(control, [{"a": "2", "b": "x", "c": "same"}])
    assert found == [Difference("a", ["1"], ["2"]), Difference("b", ["x", "y"], ["x"])]
    assert [one.within for one in found] == [False, True]


def test_a_setting_that_one_arm_does_not_have():
    assert differences([{"env:X": "ab"}], [{}]) == [Difference("env:X", ["ab"], ["(unset)"])]
