"""Files of JSON lines given beside a trace: each line one object of a known form, or one sentence that names the line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import pyarrow as pa

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.side_file import side_bytes
from stepprof.profiler.store import Store

T = TypeVar("T", bound=msgspec.Struct)
Count = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


def lines(path: Path) -> list[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers from 1."""
    return [(n, line) for n, line in enumerate(side_bytes(path).splitlines(), 1) if line.strip()]


def decode(path: Path, number: int, line: bytes, kind: type[T]) -> T:
    """One line as an object; InputError where it is none."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise bad_line(path, number, kind, str(fault)) from None


def bad_line(path: Path, number: int, kind: type[msgspec.Struct], why: str) -> InputError:
    """The fault of one line."""
    return InputError(f"{path} line {number} is not a {kind.__name__} ({why}): correct the line.")


def insert(store: Store, table: str, objects: Sequence[msgspec.Struct]) -> None:
    """Objects of one kind as rows of a table whose columns have the names of their keys."""
    if not objects:
        return
    keys = msgspec.structs.fields(objects[0])
    columns = {key.encode_name: [getattr(one, key.name) for one in objects] for key in keys}
    store.con.register("objects", pa.table(columns))  # as arrays: a hundred times as fast as row by row
    store.con.execute(f"INSERT INTO {table} BY NAME FROM objects")
    store.con.unregister("objects")
