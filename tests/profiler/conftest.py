"""The command line in the tests' own process."""

import json
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stepprof.profiler.cli import main


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def answer(done: Done) -> Any:
    """The document that it printed."""
    return json.loads(done.stdout)


@pytest.fixture
def stepprof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Generator[Callable[..., Done]]:
    """`stepprof("breakdown", path)`, in an empty folder and with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path / "cache"))
    before = signal.getsignal(signal.SIGTERM)

    def call(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["stepprof", *map(str, words)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        said = capfd.readouterr()
        return Done(int(left.value.code or 0), said.out, said.err)

    yield call
    signal.signal(signal.SIGTERM, before)
