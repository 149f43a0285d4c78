"""A file that appears whole or not at all: written beside its place, then renamed.

with whole_file(Path("trace.json.gz")) as file: file.write(b"…")     # gzipped by its name
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from stepprof.profiler.errors import InputError


@contextmanager
def whole_file(path: Path) -> Generator[IO[bytes]]:
    """A binary file to write to; InputError where it cannot be written, and nothing is left behind."""
    name = ""
    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name[:40]}.", delete=False) as raw:
            name = raw.name
            with gzip.open(raw, "wb", compresslevel=5) if path.suffix == ".gz" else raw as file:
                yield cast("IO[bytes]", file)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as fault:
        raise InputError(f"{path} cannot be written ({fault.strerror}): choose another file.") from None
    finally:
        Path(name).unlink(missing_ok=True) if name else None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
