"""The collector is built where compiler and headers are, exports only what it must, and says what is missing."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stepprof.profiler.capture import build
from stepprof.profiler.errors import InputError
from tests.lacking import lacking
from tests.repository import ROOT


def test_exports_only_what_driver_and_nvtx_look_up(collector):
    listed = subprocess.run(["nm", "-D", "--defined-only", collector], capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in listed.stdout.splitlines()} == {
        "InitializeInjection",
        "InitializeInjectionNvtx2",
    }


def test_needs_no_library_of_cuda(collector):
    needed = subprocess.run(["ldd", collector], capture_output=True, text=True, check=True).stdout
    assert "cupti" not in needed and "libcuda" not in needed and "stdc++" not in needed


def test_loads_harmlessly_without_driver(collector, tmp_path):
    code = (
        f"import ctypes; lib = ctypes.CDLL({str(collector)!r}); print(lib.InitializeInjection());"
        "lib.InitializeInjectionNvtx2.argtypes = [ctypes.c_void_p]; print(lib.InitializeInjectionNvtx2(None))"
    )
    done = subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n0\n", "")
    env = {"STEPPROF_OUT": str(tmp_path), "STEPPROF_MODE": "ops"}
    code = f"import ctypes; print(ctypes.CDLL({str(collector)!r}).InitializeInjection())"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "libcupti is not found" in done.stderr or "no GPU op is recorded" in done.stderr


def test_is_built_once(monkeypatch, collector, tmp_path):
    monkeypatch.setenv("STEPPROF_CACHE", str(collector.parent))
    monkeypatch.setattr(build, "compiler", lambda: pytest.fail("built again"))
    assert build.collector() == collector


def test_a_library_built_elsewhere_can_be_named(monkeypatch, tmp_path):
    (tmp_path / "carried.so").touch()
    monkeypatch.setenv("STEPPROF_COLLECTOR", str(tmp_path / "carried.so"))
    assert build.collector() == tmp_path / "carried.so"
    monkeypatch.setenv("STEPPROF_COLLECTOR", str(tmp_path / "absent.so"))
    with pytest.raises(InputError, match=r"absent\.so, which is no file"):
        build.collector()


def test_missing_compiler_is_one_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(InputError, match=r"no C\+\+ compiler is found .*: install g\+\+"):
        build.compiler()


def test_missing_headers_are_one_sentence(monkeypatch):
    monkeypatch.setattr(build, "toolkits", lambda: iter([]))
    monkeypatch.setattr(build, "wheel_roots", lambda: iter([]))
    with pytest.raises(InputError, match=r"no CUPTI headers are found .*: install the CUDA toolkit"):
        build.headers()


def test_a_compiler_that_fails_is_told_with_its_error(monkeypatch, tmp_path, collector):
    compiler = tmp_path / "bad-compiler"
    compiler.write_text("#!/bin/sh\necho 'x.cpp:1: error: too old' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"bad-compiler cannot build the collector \(x.cpp:1: error: too old\)"):
        build.collector()


@pytest.mark.parametrize(
    "wheels",
    [
        ("nvidia-cuda-cupti-cu12==12.9.*", "nvidia-cuda-runtime-cu12==12.9.*", "nvidia-nvtx-cu12==12.9.*"),
        ("nvidia-cuda-cupti==13.*", "nvidia-cuda-runtime==13.*", "nvidia-nvtx==13.*"),
    ],
    ids=["12.9", "13"],
)
def test_builds_against_the_headers_of_wheels(monkeypatch, tmp_path, wheels, collector):
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(tmp_path), *wheels]
    if subprocess.run(fetch, capture_output=True, timeout=300, check=False).returncode:
        lacking("the wheels cannot be fetched here")
    for wheel in tmp_path.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(tmp_path, [name for name in packed.namelist() if "/include/" in name])
    monkeypatch.setattr(build, "wheel_roots", lambda: iter([tmp_path / "nvidia"]))
    monkeypatch.setattr(build, "toolkits", lambda: iter([]))
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path))
    built = build.collector()
    assert built.parent == tmp_path and built.name != collector.name
    assert Path(built).read_bytes()[:4] == b"\x7fELF"


def test_ci_cannot_skip_the_collector_in_silence(monkeypatch):
    assert "export STEPPROF_TEST_COLLECTOR=1\n" in (ROOT / ".ci/run").read_text()
    monkeypatch.setenv("STEPPROF_TEST_COLLECTOR", "1")
    with pytest.raises(pytest.fail.Exception, match="no compiler"):
        lacking("no compiler")
    monkeypatch.delenv("STEPPROF_TEST_COLLECTOR")
    with pytest.raises(pytest.skip.Exception, match="no compiler"):
        lacking("no compiler")
