"""The ledger: an append-only file of JSON lines, each sealed by a hash over itself and the line before.

    ledger = read_ledger(path)          # Refused where a line was changed, removed or moved
    ledger.append("launch", body)       # on disk when it returns
    ledger.head                         # to be kept in git

Tampering is made evident, not impossible: who can write the file can write it anew from any line on,
hashes included. A head hash kept elsewhere (a commit, a message) then no longer occurs in the file,
which `check_head` finds. Lines cut off the end are found the same way. Times are the machine's own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from stepprof.profiler.errors import InputError, Refused

Kind = Literal["registered", "launch", "look", "verdict"]
NOTHING = "0" * 64  # what the first line follows
BACKWARDS_S = 1.0  # a clock may be set back by this much


@dataclass(frozen=True)
class Entry:
    """One line; `time` in seconds since 1970."""

    prev: str
    hash: str
    time: float
    kind: Kind
    body: dict[str, Any]

    @property
    def when(self) -> str:
        """The time as text, UTC."""
        return utc(self.time)


@dataclass
class Ledger:
    """All entries of a file in order; `torn` bytes of a line that was never finished lie behind them."""

    path: Path
    entries: list[Entry] = field(default_factory=list[Entry])
    torn: int = 0

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return self.entries[-1].hash if self.entries else NOTHING

    def of_gate(self, name: str, *kinds: Kind) -> list[Entry]:
        """Entries of one gate."""
        return [e for e in self.entries if e.body.get("name") == name and (not kinds or e.kind in kinds)]

    def check_head(self, head: str) -> None:
        """Refused where a hash kept elsewhere is not in this ledger."""
        if head != NOTHING and not any(entry.hash.startswith(head) for entry in self.entries):
            raise Refused(
                f"{self.path}: no entry has the hash {head}: entries were changed or cut off since it was kept."
            )

    def append(self, kind: Kind, body: dict[str, Any]) -> Entry:
        """A new last line, flushed to disk; InputError where it cannot be written, and then nothing is."""
        with _locked(self.path) as file:
            self._follow(file)
            now = datetime.now(UTC).timestamp()
            entry = Entry(self.head, seal(self.head, now, kind, body), now, kind, body)
            line = _line(entry)
            end = os.fstat(file.fileno()).st_size
            try:
                while line:  # a full disk may take a part of it first
                    line = line[file.write(line) :]
                os.fsync(file.fileno())
            except OSError as fault:
                _undo(file, end)
                raise InputError(
                    f"{self.path} took no more ({fault.strerror}), so nothing was noted: free space and go on."
                ) from None
        self.entries.append(entry)
        return entry

    def _follow(self, file: FileIO) -> None:
        """Take in what others appended, and cut an unfinished line off."""
        file.seek(0)
        now = parse(self.path, file.read())
        if [e.hash for e in now.entries[: len(self.entries)]] != [e.hash for e in self.entries]:
            raise Refused(f"{self.path} was changed while it was in use: nothing was noted.")
        self.entries = now.entries
        if now.torn:
            file.seek(0, os.SEEK_END)
            file.truncate(file.tell() - now.torn)
        file.seek(0, os.SEEK_END)


def read_ledger(path: Path, make: bool = False) -> Ledger:
    """The ledger of a file; InputError where there is none (unless it may be made), Refused where it was tampered with."""
    try:
        return parse(path, path.read_bytes())
    except FileNotFoundError:
        if make:
            return Ledger(path)
        raise InputError(f"{path} is not there: register a gate first, or name the ledger with --ledger.") from None
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): name the ledger with --ledger.") from None


def parse(path: Path, data: bytes) -> Ledger:
    """Check every line; an unfinished last one is told apart from a changed one by its missing line end."""
    ledger = Ledger(path)
    *lines, rest = data.split(b"\n")
    ledger.torn = len(rest)
    for number, line in enumerate(lines, 1):
        entry = _entry(path, number, line)
        if entry.prev != ledger.head:
            raise Refused(f"{path}, line {number}: does not follow line {number - 1}: entries were moved or removed.")
        if ledger.entries and entry.time < ledger.entries[-1].time - BACKWARDS_S:
            raise Refused(f"{path}, line {number}: is older than the line before: it was back-dated.")
        ledger.entries.append(entry)
    return ledger


def seal(prev: str, time: float, kind: str, body: dict[str, Any]) -> str:
    """SHA-256 over all that a line says."""
    text = json.dumps([prev, time, kind, body], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def utc(time: float) -> str:
    """Seconds since 1970 as text."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        cells = json.loads(line)
        entry = Entry(cells["prev"], cells["hash"], float(cells["time"]), cells["kind"], dict(cells["body"]))
        sealed = seal(entry.prev, entry.time, entry.kind, entry.body)
        if not math.isfinite(entry.time):
            raise ValueError("no time")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(f"{path}, line {number}: is no entry of a ledger: it was changed.") from None
    if sealed != entry.hash:
        raise Refused(f"{path}, line {number}: was changed: its hash is not that of its text.")
    return entry


def _line(entry: Entry) -> bytes:
    cells = {"prev": entry.prev, "hash": entry.hash, "time": entry.time, "kind": entry.kind, "body": entry.body}
    return json.dumps(cells, ensure_ascii=False).encode() + b"\n"


@contextmanager
def _locked(path: Path) -> Generator[FileIO]:
    """The file for reading and appending, ours alone; made where it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)
    except OSError as fault:
        raise InputError(f"{path} cannot be written ({fault.strerror}): name another ledger with --ledger.") from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _undo(file: FileIO, end: int) -> None:
    """Take back half a line; where even that fails the next reader cuts it off."""
    with suppress(OSError):
        file.truncate(end)
