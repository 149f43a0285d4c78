"""Standard input of a program that a capture runs several times: each run reads from where the first one began.

    shared = StandardInput(folder / "input")      # None where there is one run, which has our own
    with shared.of_a_run() as handle:
        subprocess.Popen(command, stdin=handle)

A file is wound back; what comes through a pipe is kept as far as a run was given it. A terminal or a device is as it is.
"""

from __future__ import annotations

import os
import select
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from stepprof.profiler.errors import InputError

CHUNK = 1 << 16  # bytes passed on at once
STDIN = 0


class StandardInput:
    """Ours, as the runs of one capture share it; `spool` is a file that keeps the input of a pipe."""

    def __init__(self, spool: Path | None) -> None:
        self.spool = spool
        self._fault: OSError | None = None
        self._kind = _kind_of_input()
        self._start = os.lseek(STDIN, 0, os.SEEK_CUR) if self._kind == stat.S_IFREG else 0

    @contextmanager
    def of_a_run(self) -> Generator[int | None]:
        """What the next run reads, from the beginning; None for our own. InputError where it could not be kept."""
        if self.spool is not None and self._kind in (stat.S_IFIFO, stat.S_IFSOCK):
            with self._fed(self.spool) as read:
                yield read
            if self._fault is not None:
                raise InputError(
                    f"{self.spool.parent} took no more of standard input ({self._fault.strerror}), so the runs did not "
                    "read the same: free space, choose another -o, or pass --no-control."
                )
            return
        if self.spool is not None and self._kind == stat.S_IFREG:
            os.lseek(STDIN, self._start, os.SEEK_SET)
        yield None

    @contextmanager
    def _fed(self, spool: Path) -> Generator[int]:
        """A pipe that a thread fills until the run ends, so that input without an end holds up nobody."""
        read, write = os.pipe()
        ended, end = os.pipe()
        feeder = threading.Thread(target=self._feed, args=(spool, write, ended), daemon=True)
        feeder.start()
        try:
            yield read
        finally:
            os.close(end)
            feeder.join()
            os.close(read)
            os.close(ended)

    def _feed(self, spool: Path, write: int, ended: int) -> None:
        """What earlier runs were given, then what comes."""
        try:
            with spool.open("a+b") as kept:
                kept.seek(0)
                while (chunk := kept.read(CHUNK) or _next(kept, ended)) and _passed_on(chunk, write, ended):
                    pass
        except OSError as fault:
            self._fault = fault
        finally:
            os.close(write)


def _kind_of_input() -> int:
    """Which kind of file standard input is; 0 where it is closed."""
    try:
        return stat.S_IFMT(os.fstat(STDIN).st_mode)
    except OSError:
        return 0


def _next(kept: BinaryIO, ended: int) -> bytes:
    """More of standard input, which is kept; nothing at its end, or at that of the run."""
    ready, _, _ = select.select([STDIN, ended], [], [])
    chunk = b"" if ended in ready else os.read(STDIN, CHUNK)
    kept.write(chunk)
    return chunk


def _passed_on(chunk: bytes, write: int, ended: int) -> bool:
    """Whether the run took it all."""
    os.set_blocking(write, False)
    while chunk:
        ready, _, _ = select.select([ended], [write], [])
        if ended in ready:
            return False
        chunk = chunk[os.write(write, chunk) :]
    return True
