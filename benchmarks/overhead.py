"""What recording costs: workloads untraced, with marks alone, and under each tool, in a round robin.

    python benchmarks/overhead.py --workloads chains,mini --seconds 480 --receipt benchmarks/receipts/overhead.json

A launch is a process of its own; its figure is the median step by the workload's own clocks. Inflation is the ratio of
launches to untraced launches with a 95 % t interval. A launch is not started where it would likely end after
--seconds; --continue RECEIPT adds launches to those of a like machine. A mode that does not work here keeps its
sentence. One GPU is enough; a second one is used where it is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from overhead_figures import fits, order
from overhead_modes import MODES, Launched, launch
from overhead_session import NO_TIME, Session, continued
from receipt import changed, commands, gpus, versions

FOLDER = Path(__file__).with_name("workloads")
LAUNCH_LIMIT_S = 300
WORKLOADS: dict[str, list[str]] = {
    "chains": ["chains.py", "--steps", "20"],
    "mini": ["model.py", "--preset", "mini"],
    "flash": ["model.py", "--preset", "flash", "--steps", "20"],
    "hf_decode": ["hf_decode.py"],
    "tiny": ["model.py", "--preset", "tiny"],
    "marks": ["marks.py"],
}
WITHOUT_GPU = {"tiny", "marks"}
DEFAULT = ("chains", "mini", "flash", "hf_decode")


def measure(
    workloads: list[str],
    modes: list[str],
    rounds: int,
    seconds: float,
    start: Callable[..., Launched] = launch,
    keep: Callable[[Session], None] = lambda session: None,
    session: Session | None = None,
) -> Session:
    """Round robin until the rounds are done or no launch fits the time that is left; a mode that failed twice rests.

    `keep` gets all that is known after each launch, so that an end from outside loses one launch only. What a given
    session has counts as rounds done.
    """
    session, until = session or Session(), time.monotonic() + seconds
    cells = [(workload, mode) for workload in workloads for mode in modes]
    for number in range(rounds):
        started, due = 0, [cell for cell in order(number, cells) if session.launches(*cell) <= number]
        for workload, mode in due:
            left = until - time.monotonic()
            same = [s for (name, _), past in session.taken.items() if name == workload for s in past]
            if len(session.faults.get((workload, mode), ())) >= 2 or not fits(
                session.taken[workload, mode], same, left
            ):
                continue
            started += 1
            with tempfile.TemporaryDirectory(prefix="stepprof-overhead-") as name:
                begin, folder = time.monotonic(), Path(name)
                command = [sys.executable, str(FOLDER / WORKLOADS[workload][0]), *WORKLOADS[workload][1:]]
                launched = start(mode, command, folder, min(LAUNCH_LIMIT_S, left + 30))
                session.add(workload, mode, launched, folder)
                session.taken[workload, mode].append(time.monotonic() - begin)
            keep(session)
            sys.stderr.write(f"{workload} {mode}: {session.taken[workload, mode][-1]:.1f} s {launched.fault}\n")
        if due and not started:
            break
    for key in cells:
        if not session.taken[key] and not session.launches(*key):
            session.faults[key].append(NO_TIME)
    return session


def machine() -> dict[str, Any]:
    """GPUs, driver, versions; None for what is not there."""
    cards = gpus()
    name = cards[0][0] if cards else None
    return {
        "gpu": f"{len(cards)} x {name}" if len(cards) > 1 else name,
        "driver": cards[0][1] if cards else None,
        "versions": versions("torch", "triton", "transformers"),
    }


def parser() -> argparse.ArgumentParser:
    """All switches."""
    top = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    top.add_argument("--workloads", type=lambda text: text.split(","), default=list(DEFAULT), help="with commas")
    top.add_argument("--modes", type=lambda text: text.split(","), default=list(MODES), help="with commas")
    top.add_argument("--rounds", type=int, default=100, help="rounds at most")
    top.add_argument("--seconds", type=float, default=480, help="start no launch that would end after this time")
    top.add_argument("--receipt", type=Path, help="write the document here too")
    top.add_argument("--continue", dest="before", type=Path, help="receipt of a like machine to add launches to")
    return top


def main() -> None:
    """Measure and print the receipt as one JSON document."""
    top = parser()
    given = top.parse_args()
    for word in {*given.workloads} - {*WORKLOADS}:
        top.error(f"--workloads: no '{word}'; there are {', '.join(WORKLOADS)}")
    for word in {*given.modes} - {*MODES}:
        top.error(f"--modes: no '{word}'; there are {', '.join(MODES)}")
    before = json.loads(given.before.read_text()) if given.before else None
    words = f"--workloads {','.join(given.workloads)} --modes {','.join(given.modes)} --seconds {given.seconds:g}"
    words += f" --rounds {given.rounds}" if given.rounds != top.get_default("rounds") else ""
    head = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **machine(),
        "command": f"python benchmarks/overhead.py {words}",
    }

    if head["gpu"] is None and {*given.workloads} - WITHOUT_GPU:
        top.error(f"no NVIDIA GPU is here: --workloads {','.join(sorted(WITHOUT_GPU))} run without one")
    if before is not None and (why := changed(before, head, ("gpu", "driver", "versions"))):
        top.error(f"--continue: {why}: start a receipt of its own")
    if before is not None:
        head = {**head, "command": [*commands(before), head["command"]]}

    def keep(session: Session) -> None:
        if given.receipt:
            given.receipt.write_text(json.dumps({**head, "rows": session.rows()}, indent=1) + "\n")

    start = Session() if before is None else continued(before)
    session = measure(given.workloads, given.modes, given.rounds, given.seconds, keep=keep, session=start)
    keep(session)
    print(json.dumps({**head, "rows": session.rows()}, indent=1))


if __name__ == "__main__":
    main()
