"""A gzip file unpacked to a temporary one, never more than the disk has room for.

    with unpacked_file(path) as plain: ...

A file that unpacks to more is refused before it fills the disk: 1 MB of gzip can hold 1 GB of zeros.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stepprof.profiler.errors import InputError

BLOCK = 1 << 20
KEPT_FREE = 0.1  # share of the free space that stays free for the run file and for others


@contextmanager
def unpacked_file(path: Path) -> Generator[Path]:
    """The file without gzip, for the time of the block."""
    with tempfile.NamedTemporaryFile(prefix="stepprof-", suffix=".unpacked") as plain:
        try:
            with gzip.open(path, "rb") as packed:
                _copy(path, packed, plain.file)
        except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
            raise InputError(f"{path} is a damaged gzip file ({fault}): copy or export it again.") from None
        except OSError as fault:
            raise InputError(
                f"{path} cannot be unpacked ({fault.strerror}): free space in {tempfile.gettempdir()}."
            ) from None
        yield Path(plain.name)


def _copy(path: Path, packed: gzip.GzipFile, plain: IO[bytes]) -> None:
    folder = tempfile.gettempdir()
    room = limit = int(shutil.disk_usage(folder).free * (1 - KEPT_FREE))
    while block := packed.read(BLOCK):
        room -= len(block)
        if room < 0:
            raise InputError(
                f"{path} unpacks to more than {limit / 1e9:.1f} GB, which is what {folder} has room for: "
                "free space there or name another folder in TMPDIR."
            )
        plain.write(block)
    plain.flush()
