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
    (["run", "--password", "-X9"], ["run", "--password", "***"]),
    (["run", "--private-key", "X9"], ["run", "--private-key", "***"]),
    (["run", "--access-key", "X9"], ["run", "--access-key", "***"]),
    (["run", "--passphrase", "X9 y"], ["run", "--passphrase", "***"]),
    (["run", "--pwd", "X9"], ["run", "--pwd", "***"]),
    (["run", "--admin-token", "X9"], ["run", "--admin-token", "***"]),
    (["run", "--author", "bob", "--auth", "X9"], ["run", "--author", "bob", "--auth", "***"]),
    (["run", "--auth-token=X9", "OPENAI_KEY=X9"], ["run", "--auth-token=***", "OPENAI_KEY=***"]),
    (["curl", "-H", "Authorization: Bearer X9"], ["curl", "-H", "Authorization: ***"]),
    (["curl", "-H", "X-Api-Key: X9, y"], ["curl", "-H", "X-Api-Key: ***"]),
    (["curl", "-HX-Api-Key:X9"], ["curl", "-HX-Api-Key:***"]),
    (["run", "--set", "a.b=1,model.api_key=X9"], ["run", "--set", "a.b=1,model.api_key=***"]),
    (["run", "https://host/?token=X9&n=1"], ["run", "https://host/?token=***&n=1"]),
    (["bash", "-c", "HF_TOKEN=X9 run --api-key X9 --n 3"], ["bash", "-c", "HF_TOKEN=*** run --api-key *** --n 3"]),
    (["bash", "-lc", "run --password 'X9 y' -- z"], ["bash", "-lc", "run --password '***' -- z"]),
    (["ssh", "host", "bash -c 'run --api-key X9'"], ["ssh", "host", "bash -c 'run --api-key ***'"]),
    (["python", "-c", "f(token='X9', n=3)"], ["python", "-c", "f(token='***', n=3)"]),
    (["run", '{"api_key": "X9", "n": 1}'], ["run", '{"api_key": "***", "n": 1}']),
    (["run", '--c={"auth": {"a": {"b": "X9"}}, "d": ["Bearer X9"]}'], ["run", '--c={"auth": "***", "d": ["***"]}']),
    (["run", "--tokens", "128", "--eos-token", "</s>"], ["run", "--tokens", "128", "--eos-token", "</s>"]),
    (["curl", "--user", "carol:hunter2", "-u", "a:b", "x"], ["curl", "--user", "***", "-u", "***", "x"]),
    (["docker", "run", "--user", "1000:1000"], ["docker", "run", "--user", "1000:1000"]),
    (["python", "-c", "os.environ['HF_TOKEN']='abc'"], ["python", "-c", "os.environ['HF_TOKEN']='***'"]),
    (["run", "--pass", "X9", "pw=X9", "--pass-rate", "1"], ["run", "--pass", "***", "pw=***", "--pass-rate", "1"]),
    (["run", "nvapi-abc", "--k=AIzaSyX9"], ["run", "***", "--k=***"]),
    (["run", "gsk_abcdefghijklmnop12", "xai-abcdefghijklmnop12", "npm_abcdefghijklmnop12", "ya29.a0Af"], ["run", *["***"] * 4]),
    (["run", "--rule", "at::native::f", "step/3"], ["run", "--rule", "at::native::f", "step/3"]),
])  # fmt: skip
def test_secrets_are_masked(words, shown):
    assert masked(words) == shown


def test_home_is_not_told(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert masked(["/home/someone/decode.py", "x:/home/someone"]) == ["~/decode.py", "x:~"]
    assert masked(["/home/someone-else/x"]) == ["/home/someone-else/x"]


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


def test_files_of_one_name_are_all_hashed(tmp_path):
    """Numbered in the order of the command, without the folders; a file named twice counts once."""
    for folder, text in (("a", "1"), ("b", "2"), ("c", "1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text(text)
    words = [str(tmp_path / folder / "config.json") for folder in ("a", "b", "a", "c")]
    found = file_hashes(["run", words[0], f"--more={words[1]}", *words[2:]])
    assert list(found) == ["config.json", "config.json (2)", "config.json (3)"]
    assert found["config.json"] == found["config.json (3)"] != found["config.json (2)"]
    assert str(tmp_path) not in str(found)


def test_entries(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = manifest(["true", "--token=x"], Machine(13000, 2), arm="base")
    assert json.loads(found["command"]) == ["true", "--token=***"]
    assert (found["arm"], found["cuda_of_driver"]) == ("base", "13.0")
    assert {"launch", "run", "stepprof_version", "python_version"} <= found.keys()
    assert "git_revision" not in found and "torch_version" not in found
    assert found["run"] != manifest(["true"], Machine(None, 0))["run"]
