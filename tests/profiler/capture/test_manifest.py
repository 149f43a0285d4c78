"""The manifest says how a run was made and gives nothing away."""

import json

import pytest

from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.capture.manifest import environment, file_hashes, manifest, masked


@pytest.mark.parametrize(("words", "shown"), [
    (["run", "--api-key", "abc"], ["run", "--api-key", "***"]),
    (["run", "--api-key=abc"], ["run", "--api-key=***"]),
    (["HF_TOKEN=hf_abc", "run"], ["HF_TOKEN=***", "run"]),
    (["run", "hf_abcdef"], ["run", "***"]),
    (["run", "--header=Bearer xyz"], ["run", "--header=***"]),
    (["run", "https://me:pw@host/x"], ["run", "https://***@host/x"]),
    (["run", "--max-tokens", "128", "--tokenizer", "x"], ["run", "--max-tokens", "128", "--tokenizer", "x"]),
    (["run", "--password", "--verbose"], ["run", "--password", "--verbose"]),
])  # fmt: skip
def test_secrets_are_masked(words, shown):
    assert masked(words) == shown


def test_home_is_not_told(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert masked(["/home/someone/decode.py"]) == ["~/decode.py"]


def test_environment_is_names_and_salted_hashes(monkeypatch, tmp_path):
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path / "a"))
    monkeypatch.setenv("MYAPP_MODE", "fast")
    first = environment(["MYAPP_"])
    assert list(first) == ["MYAPP_MODE"] and "fast" not in str(first)
    assert environment(["MYAPP_"]) == first
    monkeypatch.setenv("MYAPP_MODE", "slow")
    assert environment(["MYAPP_"]) != first
    monkeypatch.setenv("MYAPP_MODE", "fast")
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path / "b"))
    assert environment(["MYAPP_"]) != first, "another machine has another salt"
    assert environment([]) == {}


def test_scripts_are_hashed_by_content(tmp_path):
    (tmp_path / "decode.py").write_text("x = 1")
    first = file_hashes(["python", str(tmp_path / "decode.py")])
    assert list(first) == ["decode.py"]
    (tmp_path / "decode.py").write_text("x = 2")
    assert file_hashes(["python", str(tmp_path / "decode.py")]) != first


def test_entries(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = manifest(["true", "--token=x"], Machine(13000, 2), arm="base")
    assert json.loads(found["command"]) == ["true", "--token=***"]
    assert (found["arm"], found["cuda_of_driver"]) == ("base", "13.0")
    assert {"launch", "run", "stepprof_version", "python_version"} <= found.keys()
    assert "git_revision" not in found and "torch_version" not in found
    assert found["run"] != manifest(["true"], Machine(None, 0))["run"]
