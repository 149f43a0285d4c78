"""One launch of a gate: the program through `stepprof capture`, or alone, its output kept in a folder.

    code = launch(command, {}, folder, "marks", lock=lock)

traced   ops and marks, into run.duckdb
marks    marks alone, into run.duckdb: an untraced run
none     the program alone; its JSON document is all there is

What the program prints is kept in output.txt, as output.json where it is a JSON document, and what it says
on standard error in errors.txt. `lock` is held by the launch, so that others see when it has ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.capture.manifest import manifest
from stepprof.profiler.errors import InputError

Instrument = Literal["traced", "marks", "none"]
OURSELVES = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]
MOST_BYTES = 256 << 20
TAIL = 2000  # characters of what went wrong


@dataclass(frozen=True)
class Capturing:
    """How `stepprof capture` is called."""

    instrument: Instrument
    arm: str
    prefixes: tuple[str, ...]
    marker: str | None
    control: bool

    def words(self, command: Sequence[str], folder: Path) -> list[str]:
        """The command line."""
        backend = "marks" if self.instrument == "marks" else "auto"
        before = [] if self.control and self.instrument == "traced" else ["--no-control"]
        words = [*OURSELVES, "capture", "-o", str(folder / "run.duckdb"), "--backend", backend, *before]
        words += ["--arm", self.arm] + [word for prefix in self.prefixes for word in ("--env-prefix", prefix)]
        words += ["--marker", self.marker] if self.marker is not None else []
        return [*words, "--", *command]


def launch(
    command: Sequence[str],
    env: Mapping[str, str],
    folder: Path,
    instrument: Instrument,
    lock: int,
    arm: str = "",
    prefixes: Sequence[str] = (),
    marker: str | None = None,
    control: bool = False,
) -> int:
    """Run it, wait, return its exit code; InputError where it cannot be started.

    `control` makes an untraced run before a traced one.
    """
    how = Capturing(instrument, arm, tuple(prefixes), marker, control)
    words = list(command) if instrument == "none" else how.words(command, folder)
    added = dict(os.environ) | dict(env)
    if instrument == "none":
        _write_manifest(command, folder, prefixes, arm, env)
    try:
        with (folder / "output.txt").open("wb") as out, (folder / "errors.txt").open("wb") as errors:
            program = subprocess.Popen(words, env=added, stdout=out, stderr=errors, pass_fds=[lock])
    except OSError as fault:
        raise InputError(f"{words[0]} cannot be started ({fault.strerror}): check the command of the gate.") from None
    code = _wait(program)
    _keep_document(folder)
    return code


def last_words(folder: Path) -> str:
    """What a launch said last on standard error."""
    try:
        text = (folder / "errors.txt").read_bytes()[-TAIL:].decode(errors="replace")
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _write_manifest(
    command: Sequence[str], folder: Path, prefixes: Sequence[str], arm: str, env: Mapping[str, str]
) -> None:
    """How a program that runs alone was started; a run file has it in its own table."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)  # so that the hashes are those of what the program sees
    try:
        entries: dict[str, Any] = dict(manifest(command, Machine(None, 0), prefixes, arm))
    finally:
        for name, value in before.items():
            _restore(name, value)
    (folder / "manifest.json").write_text(json.dumps(entries))


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _wait(program: subprocess.Popen[bytes]) -> int:
    """Its exit code, 128 + signal where one ended it; it does not outlive an interrupted wait."""
    try:
        code = program.wait()
    except BaseException:
        program.terminate()
        program.wait()
        raise
    return 128 - code if code < 0 else code


def _keep_document(folder: Path) -> None:
    """The JSON document among what the program printed: all of it, or its last line."""
    path = folder / "output.txt"
    if path.stat().st_size > MOST_BYTES:
        return
    text = path.read_text(errors="replace").strip()
    for candidate in (text, text.rpartition("\n")[2]):
        try:
            document = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            (folder / "output.json").write_text(json.dumps(document))
            return
