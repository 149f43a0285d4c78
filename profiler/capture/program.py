"""Running the user's program: its output and its exit code are its own.

    sitting = Sitting(folder / "input")                    # of the runs of one capture
    code = sitting.run(["python", "decode.py"], {"STEPPROF_MODE": "marks"})
    sitting.stop                                           # the signal that asked a run to end, or 0

Ctrl-C reaches the program, which shares our terminal; we wait for it and keep what was recorded. Runs of one capture
read the same standard input (standard_input.py).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from stepprof.profiler.capture.standard_input import StandardInput
from stepprof.profiler.errors import InputError

PATIENCE = 3  # Ctrl-C this often ends the program the hard way


class Sitting:
    """What the runs of one capture share: standard input, and the signal that asked one of them to stop."""

    def __init__(self, spool: Path | None) -> None:
        self.input = StandardInput(spool)
        self.stop = 0

    def run(self, command: list[str], added: dict[str, str], quiet: bool = False) -> int:
        """Start a program with these variables added, wait, return its code (128 + signal where one ended it).

        `quiet` sends its standard output to standard error, for runs whose answer is not the user's.
        """
        output = sys.stderr if quiet else None
        with self.input.of_a_run() as read:
            try:
                program = subprocess.Popen(command, env=os.environ | added, stdin=read, stdout=output)
            except OSError as fault:
                raise InputError(
                    f"{command[0]} cannot be started ({fault.strerror}): check the command after --."
                ) from None
            with self._signals_to(program):
                code = program.wait()
        return 128 - code if code < 0 else code

    @contextmanager
    def _signals_to(self, program: subprocess.Popen[bytes]) -> Generator[None]:
        interrupts = 0

        def interrupted(number: int, frame: FrameType | None) -> None:
            nonlocal interrupts
            interrupts += 1
            self.stop = number
            if interrupts >= PATIENCE:
                program.kill()

        def terminated(number: int, frame: FrameType | None) -> None:
            self.stop = number
            program.terminate()

        handlers = {signal.SIGINT: interrupted, signal.SIGTERM: terminated, signal.SIGHUP: terminated}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def check_command(command: list[str]) -> None:
    """InputError where the program cannot be started."""
    name = command[0]
    if shutil.which(name):
        return
    if Path(name).is_file():
        raise InputError(f"{name} is not executable: make it so, or put its interpreter in front of it.")
    raise InputError(f"{name} is not found: check the command after --.")
