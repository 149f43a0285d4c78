"""The collector as a library: built on first use with the system's compiler, then found again by content.

    path = collector()        # for CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH

Headers come from the CUDA toolkit or from NVIDIA's wheels (nvidia-cuda-cupti, nvidia-cuda-runtime,
nvidia-nvtx; 12.9 and 13). $STEPPROF_COLLECTOR names a library built elsewhere instead; $CXX a compiler.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.cache import cache_folder

SOURCE = Path(__file__).with_name("collector.cpp")
FLAGS = (
    *("-std=c++17", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"),
    # so that the library runs in programs with another C++ library, and shows them nothing of ours
    *("-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL", "-Wl,-z,nodelete", "-Wl,--no-undefined"),
)
EXPORTS = "{ global: InitializeInjection; InitializeInjectionNvtx2; local: *; };\n"
HEADERS = ("cupti_activity.h", "cuda.h", "nvtx3/nvToolsExt.h")
FULL = ("no space left", "file size limit", "file too large")
WHEEL_FOLDERS = ("cu13/include", "cuda_cupti/include", "cuda_runtime/include", "nvtx/include")


def collector() -> Path:
    """Path of the built collector; InputError where the compiler or the headers are missing."""
    if given := os.environ.get("STEPPROF_COLLECTOR"):
        if not Path(given).is_file():
            raise InputError(f"STEPPROF_COLLECTOR names {given}, which is no file: correct or unset it.")
        return Path(given).absolute()
    includes = headers()
    library = cache_folder() / f"collector-{_content(includes)}.so"
    if not library.exists():
        _build(compiler(), includes, library)
    return library


def compiler() -> str:
    """The C++ compiler to use."""
    if (given := os.environ.get("CXX")) and not shutil.which(given):
        raise InputError(f"CXX names {given}, which is not found: correct or unset it.")
    for name in (given, "g++", "c++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    raise InputError(
        "no C++ compiler is found to build the collector: install g++, set CXX, or name a library built "
        "elsewhere in STEPPROF_COLLECTOR (or use --backend nsys)."
    )


def headers() -> list[Path]:
    """Include folders that hold CUPTI, CUDA and NVTX together; the first complete place wins."""
    for folders in _places():
        present = [folder for folder in folders if folder.is_dir()]
        if all(any((folder / name).is_file() for folder in present) for name in HEADERS):
            return present
    raise InputError(
        "no CUPTI headers are found to build the collector: install the CUDA toolkit or "
        "`pip install nvidia-cuda-cupti nvidia-cuda-runtime nvidia-nvtx`, or set CUDA_HOME."
    )


def toolkits() -> Iterator[Path]:
    """Folders of CUDA toolkits, likely ones first."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if value := os.environ.get(name):
            yield Path(value)
    if nvcc := shutil.which("nvcc"):
        yield Path(nvcc).resolve().parents[1]
    yield Path("/usr/local/cuda")
    yield from sorted(Path("/usr/local").glob("cuda-*"), reverse=True)
    yield Path("/opt/cuda")


def wheel_roots() -> Iterator[Path]:
    """Folders `nvidia` of NVIDIA's wheels that this Python can import."""
    for entry in dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path]):
        if (root := Path(entry) / "nvidia").is_dir():
            yield root


def _places() -> Iterator[list[Path]]:
    for root in wheel_roots():
        yield [root / folder for folder in WHEEL_FOLDERS]
    for root in toolkits():
        yield [root / "extras/CUPTI/include", root / "include"]


def _content(includes: list[Path]) -> str:
    """Hash of what the library is made of: the source, the flags, the version of CUPTI's headers."""
    digest = hashlib.blake2b(SOURCE.read_bytes(), digest_size=12)
    digest.update(" ".join((*FLAGS, EXPORTS)).encode())
    for folder in includes:
        for name in ("cupti_version.h", "cupti_activity.h"):
            if (folder / name).is_file():
                digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def _build(cxx: str, includes: list[Path], library: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="stepprof-build-") as name:
        work = Path(name)
        # CUPTI's headers include CUDA's vector types and use none; the wheels lack a part of those
        (work / "builtin_types.h").touch()
        (work / "exports.map").write_text(EXPORTS)
        flags = [*FLAGS, f"-Wl,--version-script={work}/exports.map", f"-I{work}"]
        found = [f"-isystem{folder}" for folder in includes]
        made = work / "collector.so"
        command = [cxx, *flags, *found, str(SOURCE), "-o", str(made), "-ldl", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and any(words in done.stderr.lower() for words in FULL):
            raise InputError(f"the collector cannot be built, since {work.parent} is full: free space, or set TMPDIR.")
        if done.returncode:
            raise InputError(
                f"{cxx} cannot build the collector ({_first_error(done.stderr)}): set CXX to g++ 9 or newer."
            )
        _move(made, library)


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "error" in line]
    return (lines or ["no message"])[0][:200]


def _move(made: Path, library: Path) -> None:
    """Into the cache in one step, whole or not at all."""
    beside = library.with_name(f".{library.name}.{os.getpid()}")
    shutil.copy2(made, beside)
    os.replace(beside, library)
