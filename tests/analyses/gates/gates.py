"""Gates in a folder with a launcher that takes no time: it writes the document a program would print.

gate = Gate(tmp_path).register(bar=-0.5)
gate.run(A=[10.0, 10.1], B=[9.0, 9.1])
gate.verdict().verdict
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from stepprof.analyses.gates.ledger import Ledger, read_ledger
from stepprof.analyses.gates.registering import register
from stepprof.analyses.gates.registration import ArmText, Registration
from stepprof.analyses.gates.running import Launcher, Order, Progress, run_gate
from stepprof.analyses.gates.verdict import Answer, verdict_on

PLAIN = Registration("g", "step_ms", -0.5, ArmText(["a"]), ArmText(["b"]), launches=2, instrument="none", differs=["x"])


def document(step_ms: float, tokens_per_s: dict[str, float] | None = None, **options: Any) -> dict[str, Any]:
    """What `stepprof run --json` prints, in short: three steps around a median."""
    cells = tokens_per_s or {"code": 100.0}
    classes = [
        {
            "class": name,
            "step_ms": [step_ms - 0.01, step_ms, step_ms + 0.01],
            "p50_step_ms": {"value": step_ms, "kind": "measured"},
            "tokens_per_s": {"value": value, "kind": "measured"},
            "tokens": [[1, 2, 3]],
        }
        for name, value in cells.items()
    ]
    return {"preset": "tiny", "options": {"batch": 1} | options, "classes": classes}


def writes(documents: dict[str, list[Any]]) -> Launcher:
    """A launcher whose n-th launch of an arm leaves the n-th document; None leaves nothing, an int is an exit code."""
    left = {arm: list(found) for arm, found in documents.items()}

    def launcher(order: Order) -> int:
        found = left[order.slot.arm].pop(0)
        if isinstance(found, int):
            return found
        if found is not None:
            (order.folder / "output.json").write_text(json.dumps(found))
        return 0

    return launcher


@contextmanager
def unopened(path: Path):
    raise AssertionError(f"{path} should not be opened")
    yield


class Gate:
    """One gate and its ledger."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gates" / "ledger.jsonl"

    @property
    def ledger(self) -> Ledger:
        return read_ledger(self.path)

    @property
    def folder(self) -> Path:
        return self.path.parent / "g"

    def register(self, **fields: Any) -> Gate:
        register(read_ledger(self.path, make=True), msgspec.structs.replace(PLAIN, **fields))
        return self

    def launch(self, launcher: Launcher, **how: Any) -> Progress:
        return run_gate(self.ledger, "g", launcher, **how)

    def run(self, A: list[Any], B: list[Any], **how: Any) -> Progress:
        """Launches in the registered order; a float is a median step in ms."""
        found = {"A": A, "B": B}
        made = {arm: [document(v) if isinstance(v, float) else v for v in values] for arm, values in found.items()}
        return self.launch(writes(made), **how)

    def verdict(self, check: Callable[[Any], bool] = lambda command: True) -> Answer:
        return verdict_on(self.ledger, "g", unopened, check)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()]
