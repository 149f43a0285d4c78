"""The sidecar's protocol, and what happens when the other side dies, stalls or was never needed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from stepprof.runtime.config import TINY
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import ConfigError, SidecarError
from stepprof.runtime.mailbox import layout_of
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.run import Plan, run
from stepprof.runtime.sidecar import Outbox
from stepprof.runtime.sidecar_modes.call import CallSidecar
from stepprof.runtime.sidecar_modes.persistent import PersistentSidecar
from tests.runtime.engines import PROMPT, decode, engine, generate


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def process_of(made: Engine) -> Any:
    sidecar = made.runner.sidecar
    assert isinstance(sidecar, CallSidecar)
    return sidecar.process


def test_a_box_holds_its_parts_apart():
    layout = layout_of(TINY, 7)
    box = torch.zeros(layout.size, dtype=torch.uint8)
    cold = layout.views(box)
    for i, part in enumerate(cold):
        part.fill_(i + 1)
    assert [float(part.float().mean()) for part in cold] == [1, 2, 3, 4, 5]
    assert all(part.is_contiguous() and part.data_ptr() % 16 == box.data_ptr() % 16 for part in cold)


def test_counts_are_rows_and_distinct_experts_of_each_layer():
    outbox = Outbox(TINY, Options(k=3))
    calls = [(0, [1, 2]), (1, [3, 3, 3]), (2, [0, -1, -1, 1, 0, 1]), (3, [2, 1, 0, 1, 2, 0, 3, 3, 3])]  # [T·A] slots
    for layer, (held, slots) in enumerate(calls):
        cold = outbox.cold(layer, 3)
        cold.held.fill_(held)
        cold.slots.view(-1)[: len(slots)] = torch.tensor(slots, dtype=torch.int32)
    assert outbox.counts(3) == [(0, 0), (1, 1), (2, 2), (3, 4)]


def test_a_process_answers_as_the_graph_does_and_leaves():
    with engine(k=3, sidecar_mode="call") as made:
        process = process_of(made)
        assert decode(made, made.add(PROMPT), 20)[:20] == generate(20, k=3)
    assert gone(process.pid) and process.exitcode == 0


def test_a_stub_computes_nothing_and_says_so():
    hot_answer = generate(20, k=3)
    with engine(k=3, sidecar_mode="stub") as made:
        document = run(made, Plan(("code",), steps=4, warm_up=0, context=0))
        assert document["options"]["simulated"] == ["--sidecar-mode stub"]
        assert document["classes"][0]["p50_step_ms"]["kind"] == "simulated"
        assert made.runner.sidecar.outbox is not None  # rows are split as otherwise
        assert sum(rows for rows, _ in made.runner.sidecar.outbox.counts(4)) > 0
        assert decode(made, made.add(PROMPT), 20)[:20] != hot_answer


@pytest.mark.parametrize(
    ("blow", "message"), [(signal.SIGKILL, "killed by signal 9"), (signal.SIGSTOP, "does not answer")], ids=str
)
def test_a_process_that_dies_or_stalls_fails_the_step(blow: signal.Signals, message: str):
    made = engine(k=3, sidecar_mode="call", limit_ms=1500.0)
    process = process_of(made)
    try:
        slot = made.add(PROMPT)
        decode(made, slot, 3)
        os.kill(process.pid, blow)
        start = time.monotonic()
        with pytest.raises(SidecarError, match=message):
            for _ in range(50):
                made.step()
        assert time.monotonic() - start < 10
    finally:
        made.close()
    assert gone(process.pid)


def test_the_process_leaves_when_its_parent_is_killed():
    script = (
        "import sys, time\n"
        "from tests.runtime.engines import PROMPT, engine\n"
        "if __name__ == '__main__':\n"
        "    made = engine(k=1, sidecar_mode='call')\n"
        "    print(made.runner.sidecar.process.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    root = Path(__file__).resolve().parents[2]
    path = f"{root}{os.pathsep}{root / '.package'}"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert wait_until(lambda: gone(pid))


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def test_the_command_leaves_with_an_error_and_no_orphan_when_the_process_is_killed():
    words = ["run", "--sidecar-mode", "call", "--limit-ms", "500", "--steps", "100000", "--device", "cpu"]
    command = [sys.executable, "-m", "stepprof.runtime", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        until = time.monotonic() + 60
        workers: list[int] = []
        while not workers and time.monotonic() < until:
            time.sleep(0.2)
            lines = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children(program.pid)}
            workers = [pid for pid, line in lines.items() if "spawn_main" in line]
        time.sleep(4)  # let it load and serve
        everybody = children(program.pid)
        os.kill(workers[0], signal.SIGKILL)
        out, err = program.communicate(timeout=30)
    assert program.returncode == 1 and out == ""
    assert "killed by signal 9" in err and "Traceback" not in err
    assert everybody and wait_until(lambda: all(map(gone, everybody)))


def wait_until(true: Callable[[], bool]) -> bool:
    """Whether it comes true within 10 s."""
    until = time.monotonic() + 10
    while not true() and time.monotonic() < until:
        time.sleep(0.05)
    return true()


def test_a_thread_that_fails_fails_the_step(monkeypatch: pytest.MonkeyPatch):
    with engine(k=2, sidecar_mode="persistent", limit_ms=1500.0) as made:
        slot = made.add(PROMPT)
        decode(made, slot, 2)
        sidecar = made.runner.sidecar
        assert isinstance(sidecar, PersistentSidecar)
        monkeypatch.setattr(sidecar.worker, "experts", lambda *_: 1 / 0)
        with pytest.raises(SidecarError, match="ZeroDivisionError"):
            decode(made, slot, 50)


def test_a_resident_worker_stamps_its_calls():
    with engine(k=2, sidecar_mode="persistent") as made:
        decode(made, made.add(PROMPT), 5)
        sidecar = made.runner.sidecar
        assert isinstance(sidecar, PersistentSidecar)
        times, _, _ = sidecar.call_stamps()
    assert times and all(t.seen_ns <= t.answered_ns and t.rows > 0 for t in times)
    assert [t.layer for t in times if t.round == 1] == sorted(t.layer for t in times if t.round == 1)


@pytest.mark.parametrize("mode", ["graph", "persistent"])
def test_calls_without_cold_rows(mode: Any):
    # one expert that the router never chooses is the only cold one
    with engine(replace(TINY, hot_experts=7), k=2, sidecar_mode=mode) as made:
        for layer in made.model.layers:
            layer.moe.bias[7] = -1e9
        decode(made, made.add(PROMPT), 5)
        outbox = made.runner.sidecar.outbox
        assert outbox is not None and outbox.counts(3) == [(0, 0)] * 4
        if isinstance(made.runner.sidecar, PersistentSidecar):
            assert made.runner.sidecar.call_stamps() == ([], 0, 0)


def test_off_needs_every_expert_hot():
    placement = Placement(8, ((0, 1),) * 4)
    with pytest.raises(ConfigError, match="the placement leaves some cold"):
        Engine.make(replace(TINY, hot_experts=8), Options(sidecar_mode="off"), placement=placement)
