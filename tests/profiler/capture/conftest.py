"""The collector built once, and a faked machine with two GPUs (fake_gpu.cpp) to run it on."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from stepprof.profiler.capture import build
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, open_run
from tests.lacking import lacking
from tests.profiler.capture.runs_told import STEPPROF

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Machine:
    """Folders of the faked libraries and of the record files, and the program."""

    folder: Path
    collector: Path

    @property
    def program(self) -> str:
        return str(self.folder / "program")

    def environment(self, out: Path, mode: str = "ops", **more: object) -> dict[str, str]:
        """What capture sets; `more` is what the fake shall do."""
        paths = {"STEPPROF_OUT": str(out), "STEPPROF_MODE": mode, "NVTX_INJECTION64_PATH": str(self.collector)}
        if mode == "ops":
            paths["CUDA_INJECTION64_PATH"] = str(self.collector)
        return {"LD_LIBRARY_PATH": str(self.folder), "PATH": os.environ["PATH"]} | paths | said(more)

    def run(self, out: Path, mode: str = "ops", **more: object) -> subprocess.CompletedProcess[str]:
        """The program with the collector loaded; its record files come into `out`."""
        out.mkdir(exist_ok=True)
        env = self.environment(out, mode, **more)
        return subprocess.run([self.program], env=env, capture_output=True, text=True, timeout=60, check=False)

    def run_python(self, out: Path, code: str, mode: str = "marks", **more: object) -> subprocess.CompletedProcess[str]:
        """A Python program with the collector loaded."""
        out.mkdir()
        env = self.environment(out, mode, **more) | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def said(what: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in what.items()}


@pytest.fixture
def imported(tmp_path: Path):
    """Record files of a folder, imported and opened."""
    stores: list[Store] = []

    def run(folder: Path) -> Store:
        import_run(folder, tmp_path / "run.duckdb", Extras(), force=True)
        stores.append(open_run(tmp_path / "run.duckdb"))
        return stores[-1]

    yield run
    for store in stores:
        store.close()


@pytest.fixture(scope="session")
def collector(tmp_path_factory) -> Path:
    """The collector, built by the product's own code into a cache of the tests."""
    try:
        build.headers()
        build.compiler()
    except InputError as fault:
        lacking(str(fault))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPPROF_CACHE", str(tmp_path_factory.mktemp("cache")))
        return build.collector()


@pytest.fixture(scope="session")
def machine(tmp_path_factory, collector) -> Machine:
    """The faked driver, CUPTI and program."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "builtin_types.h").touch()
    flags = ["-std=c++17", "-O1", f"-I{folder}", *[f"-isystem{path}" for path in build.headers()]]
    for macro, name, more in (
        ("DRIVER", "libcuda.so.1", ["-shared", "-fPIC"]),
        ("CUPTI", "libcupti.so.13", ["-shared", "-fPIC"]),
        ("PROGRAM", "program", []),
    ):
        command = [
            build.compiler(),
            *flags,
            *more,
            f"-D{macro}",
            str(HERE / "fake_gpu.cpp"),
            "-o",
            str(folder / name),
            "-ldl",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return Machine(folder, collector)


@pytest.fixture
def capture(machine, tmp_path, monkeypatch):
    """Run `stepprof capture` in a folder of its own."""
    packages = os.pathsep.join(sys.path)

    def run(*words, program=None, stdin=subprocess.DEVNULL, **more):
        env = {
            "LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": packages,
            "STEPPROF_COLLECTOR": str(machine.collector), "STEPPROF_CACHE": str(tmp_path / "cache"),
        } | {name: str(value) for name, value in more.items()}  # fmt: skip
        command = [*STEPPROF, "capture", *map(str, words), "--", *(program or [machine.program])]
        return subprocess.run(
            command, cwd=tmp_path, env=env, stdin=stdin, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.fixture
def signalled(machine, tmp_path):
    """Start a capture, interrupt it and its program once a line has been said and some time has passed."""

    def run(*words, after: str, program=None, seconds=2.0, number=signal.SIGINT, **more):
        env = {"LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path),
               "PYTHONPATH": os.pathsep.join(sys.path), "STEPPROF_COLLECTOR": str(machine.collector)}  # fmt: skip
        command = [*STEPPROF, "capture", *words, "-o", "r.duckdb", "--", *(program or [machine.program])]
        running = subprocess.Popen(
            command, cwd=tmp_path, env=env | more, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        said: list[str] = []
        for line in running.stderr or []:
            said.append(line)
            if after in line:
                break
        time.sleep(seconds)
        os.killpg(running.pid, number)
        _, rest = running.communicate(timeout=60)
        return running.returncode, "".join(said) + rest

    return run
