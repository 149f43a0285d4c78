"""The nsys backend against a stand-in that behaves as measured: switches by version, reports, exit codes."""

import gzip
import json
import shutil

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.profiler.capture import command, nsys
from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.capture.options import CaptureOptions
from stepprof.profiler.capture.program import Sitting
from stepprof.profiler.demo import TRACE
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.window import Window
from stepprof.profiler.store import open_run

FAKE = """#!/bin/sh
echo "$@" >> {folder}/calls
case "$1 $2" in
"profile --help") echo "{help}"; exit 0;;
esac
{profile}
"""
NEW = "--cuda-graph-trace= --sample= --cpuctxsw= --resolve-symbols= --stats= --cuda-event-trace="


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Put a stand-in for nsys in place; returns the calls it got."""
    with gzip.open(TRACE) as packed, (tmp_path / "demo.sqlite").open("wb") as plain:
        shutil.copyfileobj(packed, plain)

    def make(profile="touch {folder}/report.nsys-rep; exit 0", help_text=NEW):
        path = tmp_path / "nsys"
        path.write_text(FAKE.format(folder=tmp_path, help=help_text, profile=profile.format(folder=tmp_path)))
        path.chmod(0o755)
        monkeypatch.setenv("NSYS", str(path))

    return make


def calls(folder) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def test_node_mode_and_the_switches_this_version_has(fake, tmp_path):
    fake()
    done = nsys.record(Sitting(None), ["prog", "--x"], tmp_path, Window(delay_s=2))
    assert (done.code, done.made) == (0, True)
    profile = calls(tmp_path)[1]
    assert profile.startswith("profile -t cuda,nvtx --cuda-graph-trace=node --sample=none")
    assert "--cuda-event-trace=false --delay=2" in profile and profile.endswith("-- prog --x")


def test_a_switch_it_has_not_is_not_used(fake, tmp_path):
    fake(help_text="--cuda-graph-trace= --sample=")
    nsys.record(Sitting(None), ["prog"], tmp_path, Window())
    assert "--cuda-event-trace" not in calls(tmp_path)[1] and "--stats" not in calls(tmp_path)[1]


@pytest.mark.parametrize(("code", "window", "passed"), [
    (7, Window(), 7), (143, Window(duration_s=1), 0), (143, Window(), 143),
])  # fmt: skip
def test_the_report_decides_and_the_programs_code_is_passed_on(fake, tmp_path, code, window, passed):
    fake(f"touch {{folder}}/report.nsys-rep; exit {code}")
    assert nsys.record(Sitting(None), ["prog"], tmp_path, window).code == passed


@pytest.mark.parametrize(("profile", "sentence"), [
    ("exit 0", r"left no report \(exit code 0\)"),
    ("echo no space; exit 1", r"left no report \(exit code 1\)"),
])  # fmt: skip
def test_no_report_is_told(fake, tmp_path, profile, sentence):
    fake(profile)
    with pytest.raises(InputError, match=sentence):
        nsys.record(Sitting(None), ["prog"], tmp_path, Window())


def test_a_capture_that_nsys_did_not_import_is_taken_as_it_is(fake, tmp_path):
    fake("touch {folder}/report.qdstrm; exit 0")
    assert nsys.record(Sitting(None), ["prog"], tmp_path, Window()).trace == tmp_path / "report.qdstrm"


def test_too_old(fake, tmp_path):
    fake(help_text="--sample=")
    with pytest.raises(InputError, match="too old to see inside CUDA graphs"):
        nsys.record(Sitting(None), ["prog"], tmp_path, Window())


def test_steps_and_ranges_are_kept_to_at_the_import(fake, tmp_path):
    fake()
    assert nsys.record(Sitting(None), ["prog"], tmp_path, Window(steps="1:2")).made
    assert calls(tmp_path)[1].endswith(f"--cuda-event-trace=false -f true -o {tmp_path}/report -- prog")


def test_nsys_takes_whole_seconds():
    with pytest.raises(UsageError, match=r"--duration 0\.4: nsys takes whole seconds"):
        nsys._window(Window(duration_s=0.4))
    assert nsys._window(Window(delay_s=2, duration_s=3)) == ["--delay=2", "--duration=3"]


@pytest.mark.parametrize(("window", "steps"), [(Window(), 8), (Window(steps="2:4"), 2)])
def test_capture_imports_what_nsys_leaves(fake, tmp_path, monkeypatch, window, steps):
    monkeypatch.setattr(command, "this_machine", lambda: Machine(13000, 2))
    monkeypatch.setattr(nsys, "record", lambda *_: nsys.Recording(0, tmp_path / "demo.sqlite"))
    fake()
    options = CaptureOptions(["true"], tmp_path / "r.duckdb", "nsys", "none", window)
    assert command.capture(options, []).code == 0
    store = open_run(tmp_path / "r.duckdb")
    facts = dict(store.rows("FROM manifest"))
    found = attribute(store).steps
    store.close()
    assert (facts["backend"], json.loads(facts["command"])) == ("nsys", ["true"])
    assert int((found.windows.ops > 0).sum()) == steps
