"""`.nsys-rep` and `.qdstrm` are converted by the nsys at hand, judged by what it wrote, or named with the command to run."""

import gzip
import os
import shlex
from pathlib import Path

import pytest

from stepprof.profiler.ingest import nsys_tools
from tests.profiler.ingest.commands import Stepprof
from tests.profiler.ingest.six_steps import WALL, six_steps

REPORT = b"NVIDIA Tegra Profiler Report 2025@3@1@90-253135822126v0.\n\x0bLocal (CLI)\x12\n" + bytes(200)
CAPTURE = b"U3w[END]NVIDIA Nsight Systems Stream 2025.3.1.0!\n\xb3G\n" + bytes(200)


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without nsys; the folder is on PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "root").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(nsys_tools, "ROOT", tmp_path / "root")
    return tmp_path / "bin"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """What a true nsys would write."""
    (tmp_path / "made").mkdir()
    return six_steps().write(tmp_path / "made" / "export.sqlite")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder of the trace."""
    (tmp_path / "source").mkdir()
    return tmp_path / "source"


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return path


def exporting(path: Path, export: Path, *lines: str) -> Path:
    """An nsys that takes `export -t sqlite -o OUT REPORT` and writes the export."""
    check = '[ "$*" = "export -t sqlite -o $5 $6" ] && [ "${6##*.}" = nsys-rep ] || exit 9'
    return script(path, check, f'cp {shlex.quote(str(export))} "$5"', *lines)


def test_a_report_is_exported(tools: Path, export: Path, source: Path, stepprof: Stepprof):
    exporting(tools / "nsys", export, "echo Processing 100%")
    (source / "-a report").write_bytes(REPORT)  # by its magic, whatever its name

    answer = stepprof("breakdown", source / "-a report", "--json")

    assert answer.document["totals"]["wall_ns"] == WALL
    imported = stepprof("import", source / "-a report", "-o", stepprof.cache / "run.duckdb", "--json")
    assert (imported.document["format"], imported.document["tool"]) == ("nsys-rep", "nsys 2025.3.2")


def test_a_packed_report_is_exported(tools: Path, export: Path, source: Path, stepprof: Stepprof):
    exporting(tools / "nsys", export)
    (source / "a.nsys-rep.gz").write_bytes(gzip.compress(REPORT))
    assert stepprof("breakdown", source / "a.nsys-rep.gz", "--json").document["totals"]["wall_ns"] == WALL


def test_the_output_counts_not_the_exit_code(tools: Path, export: Path, source: Path, stepprof: Stepprof):
    exporting(tools / "nsys", export, "exit 143")
    (source / "a.nsys-rep").write_bytes(REPORT)
    assert stepprof("breakdown", source / "a.nsys-rep", "--json").document["totals"]["wall_ns"] == WALL


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("echo started", "echo 'Unsupported version' >&2"), "Unsupported version"),
        (("touch $5",), "exit code 0"),
        (("echo text > $5", "exit 3"), "exit code 3"),
        (("kill -9 $$",), "exit code -9"),
    ],
    ids=["no output", "empty output", "no database", "killed"],
)
def test_an_export_that_fails_names_the_command(
    lines: tuple[str, ...], said: str, tools: Path, source: Path, stepprof: Stepprof
):
    script(tools / "nsys", *lines)
    (source / "my run.nsys-rep").write_bytes(REPORT)

    answer = stepprof("breakdown", source / "my run.nsys-rep")

    assert answer.code == 1
    assert answer.err == (
        f"stepprof: {source}/my run.nsys-rep could not be exported by {tools}/nsys ({said}): "
        "run nsys export -t sqlite -o 'my run.sqlite' 'my run.nsys-rep' "
        "with the nsys that recorded it (2025.3.1) or a newer one, and give the .sqlite.\n"
    )


def test_without_nsys_the_command_is_told(source: Path, stepprof: Stepprof):
    (source / "a.nsys-rep").write_bytes(REPORT)

    answer = stepprof("steps", source / "a.nsys-rep")

    assert (answer.code, answer.err) == (
        1,
        f"stepprof: {source}/a.nsys-rep is an nsys report and no nsys is installed here: "
        "run nsys export -t sqlite -o a.sqlite a.nsys-rep where nsys is and give the .sqlite.\n",
    )


def test_the_newest_nsys_of_the_toolkits_is_tried_first(tmp_path: Path, export: Path, source: Path, stepprof: Stepprof):
    root = tmp_path / "root"
    old = script(root / "usr/local/cuda-9.2/bin/nsys", "echo too old")
    new = exporting(root / "usr/local/cuda-13.0/bin/nsys", export)
    (root / "usr/local/cuda-14.0/bin").mkdir(parents=True)
    (root / "usr/local/cuda-14.0/bin/nsys").write_text("cannot be run")
    (source / "a.nsys-rep").write_bytes(REPORT)

    assert nsys_tools.find_nsys() == [new, old]
    assert stepprof("breakdown", source / "a.nsys-rep", "--json").document["totals"]["wall_ns"] == WALL


def test_a_capture_is_imported_then_exported(tmp_path: Path, export: Path, source: Path, stepprof: Stepprof):
    home = tmp_path / "root/opt/nvidia/nsight-systems/2025.3.1"
    exporting(home / "target-linux-x64/nsys", export)
    script(home / "host-linux-x64/QdstrmImporter", '[ "$1$3" = "-i-o" ] && cp "$2" "$4.qdstrm" || exit 9',
           f"printf '{REPORT[:60].decode().strip()}' > \"$4\"", "exit 1")  # fmt: skip
    (source / "a.qdstrm").write_bytes(CAPTURE)

    answer = stepprof("breakdown", source / "a.qdstrm", "--json")

    assert answer.document["totals"]["wall_ns"] == WALL


def test_a_capture_without_an_importer(source: Path, stepprof: Stepprof):
    (source / "a.qdstrm").write_bytes(CAPTURE)

    answer = stepprof("steps", source / "a.qdstrm")

    assert (answer.code, answer.err) == (
        1,
        f"stepprof: {source}/a.qdstrm is an nsys capture that was never imported, and no QdstrmImporter is installed "
        "here: run QdstrmImporter -i a.qdstrm -o a.nsys-rep and then nsys export -t sqlite -o a.sqlite a.nsys-rep "
        "where nsys is.\n",
    )


def test_an_importer_that_fails(tools: Path, source: Path, stepprof: Stepprof):
    script(tools / "QdstrmImporter", "echo 'libdw.so.1: cannot open shared object file' >&2", "exit 127")
    (source / "a.qdstrm").write_bytes(CAPTURE)

    answer = stepprof("steps", source / "a.qdstrm")

    assert answer.code == 1
    assert f"could not be imported by {tools}/QdstrmImporter (libdw.so.1: cannot open shared object file)" in answer.err
    assert "with the nsys that recorded it (2025.3.1)." in answer.err


def test_an_nsys_that_hangs_is_stopped_with_all_it_started(
    tools: Path, tmp_path: Path, source: Path, stepprof: Stepprof, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(nsys_tools, "LIMIT_S", 0.5)
    script(tools / "nsys", f"sleep 300 & echo $! > {shlex.quote(str(tmp_path / 'pid'))}", "sleep 300")
    (source / "a.nsys-rep").write_bytes(REPORT)

    answer = stepprof("steps", source / "a.nsys-rep")

    assert (answer.code, "(stopped after 0.5 s)" in answer.err) == (1, True)
    child = int((tmp_path / "pid").read_text())
    assert not os.path.exists(f"/proc/{child}") or "Z" in Path(f"/proc/{child}/stat").read_text().split(") ")[1][:1]
