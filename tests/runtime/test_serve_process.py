"""The command `serve` as a process: signals, a sidecar that is killed, ports that are taken."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stepprof.runtime.__main__ import main
from tests.runtime.test_sidecar import gone

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

COMMAND = [sys.executable, "-m", "stepprof.runtime", "serve", "--preset", "tiny", "--device", "cpu", "--port"]
LONG = {"prompt": "x", "max_tokens": 450, "stream": True, "ignore_eos": True}


@contextmanager
def server(*words: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A process that serves, and its address."""
    with subprocess.Popen(
        [*COMMAND, "0", "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
            assert found is not None
            yield process, found[0]
        finally:
            process.kill()


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in words]


def last_event(lines: Iterator[str]) -> dict[str, Any]:
    return json.loads([line for line in lines if line][-1].removeprefix("data: "))


def test_sigterm_drains_then_fails_what_is_left():
    # 50 ms a step: the long stream cannot end in time, the short one can
    with server("--batch", "2", "--k", "1", "--pad-op", "embedding=50000") as (process, url):
        with httpx.stream("POST", f"{url}/v1/completions", json=LONG, timeout=20) as answer:
            lines = answer.iter_lines()
            next(lines)
            process.send_signal(signal.SIGTERM)
            start = time.monotonic()
            error = last_event(lines)["error"]
        assert "shutting down" in error["message"] and error["type"] == "server_error"
        out, _ = process.communicate(timeout=5)
        assert time.monotonic() - start < 5 and process.returncode == 0
    document = json.loads(out)
    assert (document["failed"], document["running"], document["slots"]["free"]) == (1, 0, 2)


def test_a_killed_sidecar_fails_requests_and_ends_the_server():
    with server("--k", "1", "--sidecar-mode", "call", "--limit-ms", "500") as (process, url):
        started = children(process.pid)
        with httpx.stream("POST", f"{url}/v1/completions", json=LONG, timeout=20) as answer:
            lines = answer.iter_lines()
            next(lines)
            for pid in started:
                os.kill(pid, signal.SIGKILL)
            assert "killed by signal 9" in last_event(lines)["error"]["message"]
        _, errors = process.communicate(timeout=5)
    assert process.returncode == 1 and "Traceback" not in errors and "killed by signal 9" in errors
    assert all(gone(pid) for pid in started)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [("taken", 1, "choose another --port"), ("70000", 1, "--port"), ("0 --max-waiting -1", 2, "at least 0")],
)
def test_what_cannot_be_served_is_said_before_loading(
    words: str, code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = words.replace("taken", str(taken.getsockname()[1]))
        monkeypatch.setattr(sys, "argv", ["runtime", *COMMAND[3:], *words.split()])
        assert main() == code
    out, errors = capsys.readouterr()
    assert out == "" and message in errors
