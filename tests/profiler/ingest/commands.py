"""stepprof called in this process, as a user would call it; fixture `stepprof` of conftest.py.

    answer = stepprof("breakdown", path, "--json")
    answer.code, answer.out, answer.err

Every call asserts what holds for any input: no traceback, one sentence for a fault, an
unchanged folder, no temporary file left.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stepprof.profiler.cli import main


@dataclass(frozen=True)
class Answer:
    """What a call printed and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def warnings(self) -> dict[str, int]:
        """Count by code, of the document's warnings."""
        return {w["code"]: w["count"] for w in self.document["warnings"]}


class Stepprof:
    """The command line with a cache and a temporary folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.temporary, self.cache = folder / "tmp", folder / "cache"
        self.temporary.mkdir()
        self.cache.mkdir()
        self._monkeypatch, self._capsys = monkeypatch, capsys
        monkeypatch.setenv("STEPPROF_CACHE", str(self.cache))
        monkeypatch.setattr("tempfile.tempdir", str(self.temporary))

    def __call__(self, command: str, trace: Path, *words: object) -> Answer:
        before = snapshot(trace.parent)
        answer = self._called([command, str(trace), *map(str, words)])
        assert snapshot(trace.parent) == before
        assert os.listdir(self.temporary) == []
        assert [f for f in os.listdir(self.cache) if not f.endswith(".duckdb")] == []
        if answer.code:
            assert answer.out == ""
            assert answer.err.startswith("stepprof: ") and len(answer.err.strip().splitlines()) == 1
        return answer

    def _called(self, words: list[str]) -> Answer:
        self._monkeypatch.setattr("sys.argv", ["stepprof", *words])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = self._capsys.readouterr()
        code = left.value.code
        assert code is None or isinstance(code, int)
        return Answer(code or 0, out, err)


def snapshot(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Name, kind, bytes and time of change of all that a folder holds."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size < 1 << 24 else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    return found
