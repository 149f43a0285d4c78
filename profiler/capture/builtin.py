"""What a capture runs: the user's program, or the built-in model, which takes switches and leaves facts.

    program = program_of(["python", "decode.py"], machine)     # as given
    program = program_of(["--k", "3"], machine)                # the built-in model with a switch
    program.started(facts)                                     # the command line of one run

The model is started as a command, so that any NVTX-marked server can take its place; what it knows of its steps
and calls comes in a facts file, which is imported beside the trace.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.capture.program import check_command
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.importer import Extras

OURS = ("--facts", "--resident", "--profile", "--gpu-times")  # switches that a capture gives by itself
PERSISTENT = ("persistent", "--sidecar-mode=persistent")


@dataclass(frozen=True)
class Program:
    """`command` as the manifest keeps it."""

    command: list[str]
    built_in: bool = False

    def started(self, facts: Path, *more: str) -> list[str]:
        """The command line of one run; the built-in model is told where to leave its facts, and what else."""
        if not self.built_in:
            return self.command
        persistent = any(word in PERSISTENT for word in self.command)
        stamps = ["--resident", str(_stamps(facts))] if persistent else []
        return [*self.command, "--facts", str(facts), *stamps, *more]

    def extras(self, facts: Path) -> Extras:
        """What the run left beside its trace: facts, and the stamps of a sidecar that never leaves its card."""
        if not self.built_in:
            return Extras()
        return Extras(facts=_whole_lines(facts), resident=_whole_lines(_stamps(facts)))


def program_of(words: list[str], machine: Machine) -> Program:
    """The built-in model where no program is named, with any switches given; InputError where it cannot start."""
    if words and not words[0].startswith("-"):
        check_command(words)
        return Program(words)
    if find_spec("torch") is None:
        raise InputError(
            "no program is given and the built-in model needs torch: pip install 'stepprof[runtime]', "
            "or name a program: stepprof capture -o RUN.duckdb -- python decode.py."
        )
    for word in words:
        if word.partition("=")[0] in OURS:
            raise UsageError(f"{word} is given to the built-in model by the capture itself: leave it out.")
    preset = "mini" if machine.gpus else "tiny"  # a later --preset wins
    return Program([sys.executable, "-m", "stepprof.runtime", "run", "--preset", preset, *words], built_in=True)


def _stamps(facts: Path) -> Path:
    return facts.with_name(f"resident-{facts.name}")


def _whole_lines(path: Path) -> Path | None:
    """The file without a last line that a killed program left unfinished; None where there is none."""
    if not path.is_file():
        return None
    text = path.read_bytes()
    path.write_bytes(text[: text.rfind(b"\n") + 1])
    return path
