"""What a gate promises before any data: metric, bar, rule, arms, launches, side conditions.

    registration = read_registration(Path("topk.toml"))
    fingerprint(registration)        # SHA-256 of its canonical text

Every field is described here; a field that is not known is refused, so that a typing error cannot
silently drop a condition.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from stepprof.analyses.compare.metrics import Better, metric_of
from stepprof.profiler.errors import InputError, StepprofError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
NEED_OPS = ("exposed_ms", "gap_ms", "sidecar_call_us", "join_wait_us")  # metrics of traced launches
Instrument = Literal["traced", "marks", "none"]


class ArmText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is started for one launch of an arm."""

    command: Annotated[list[str], Meta(min_length=1)]
    env: dict[str, str] = {}


class Predicted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was expected, and who said so."""

    value: float
    source: str


class Registration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gate. `bar` bounds candidate − control, in the metric's unit or in percent of control."""

    name: str
    metric: str
    bar: float
    control: ArmText
    candidate: ArmText
    bar_unit: Literal["absolute", "percent"] = "absolute"
    better: Better | None = None  # for json: figures
    rule: Literal["point", "ci"] = "ci"
    differs: list[str] = []  # settings meant to differ between the arms
    launches: Annotated[int, Meta(ge=2, le=64)] = 4  # of each arm, in each round
    order: str = "ABBA"  # A is control; repeated until all launches are made
    warm_up: Annotated[int, Meta(ge=0)] = 0  # steps left out of each launch
    exclusions: str = ""  # what will not be counted, in words
    looks: Annotated[int, Meta(ge=1, le=2)] = 1
    replicates: Annotated[int, Meta(ge=0, le=8)] = 0  # rounds wanted beside the first
    max_regression: float | dict[str, float] | None = None  # percent of tokens/s, for all cells or by cell
    equality: Literal["none", "bit-identical", "flip-rate"] = "none"
    outputs: str = ""  # for flip-rate: the answer of stepprof compare-outputs --json, beside the ledger
    checks: list[str | list[str]] = []  # commands that must pass
    predicted: Predicted | None = None
    cost: str = ""
    owner: str = ""
    environment: list[str] = []  # prefixes of variables that are compared, by hash
    instrument: Instrument = "traced"
    tracing_control: bool = False  # before each traced launch an untraced run, so that the cost of tracing is known
    marker: str | None = None
    on_crash: Literal["rerun", "refuse"] = "rerun"
    reruns: Annotated[int, Meta(ge=0, le=8)] = 1  # of one launch

    @property
    def direction(self) -> Better:
        """Which way the metric improves."""
        found = self.better or metric_of(self.metric).better
        assert found is not None, f"{self.metric=}"
        return found

    @property
    def rounds(self) -> int:
        """The first round and its replicates."""
        return 1 + self.replicates


def read_registration(path: Path) -> Registration:
    """The gate of a TOML file; InputError with the field at fault."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Registration)
        _check(found)
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): give the TOML file of a gate.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, StepprofError) as fault:
        raise InputError(f"{path} is no gate ({str(fault).rstrip('.')}): correct the file.") from None
    return found


def registration_of(body: Any) -> Registration:
    """The gate of a ledger entry."""
    try:
        return msgspec.convert(body, Registration)
    except msgspec.ValidationError as fault:
        raise InputError(
            f"the ledger holds a gate that this stepprof cannot read ({fault}): update stepprof."
        ) from None


def canonical(registration: Registration) -> str:
    """Its text in one form, whatever the order and spacing of the TOML file."""
    return json.dumps(as_body(registration), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def as_body(registration: Registration) -> dict[str, Any]:
    """As plain data."""
    return msgspec.to_builtins(registration)


def fingerprint(registration: Registration) -> str:
    """SHA-256 of the canonical text."""
    return hashlib.sha256(canonical(registration).encode()).hexdigest()


def _check(gate: Registration) -> None:
    """InputError where fields do not go together."""
    metric = metric_of(gate.metric)
    pattern = gate.order
    wrong = (
        (not NAME.fullmatch(gate.name), f"name {gate.name!r} is not of letters, digits and _.-, at most 64"),
        (gate.better is None and metric.better is None, f"metric {gate.metric} needs better = 'lower' or 'higher'"),
        (
            gate.better is not None and metric.better not in (None, gate.better),
            f"better = {gate.better!r} is not how {gate.metric} improves",
        ),
        (
            set(pattern) != {"A", "B"} or pattern.count("A") != pattern.count("B"),
            f"order {pattern!r} must hold as many A as B and nothing else",
        ),
        (
            (2 * gate.launches) % len(pattern) != 0,
            f"{gate.launches} launches of each arm do not fill the order {pattern!r}",
        ),
        (
            gate.looks == 2 and (gate.replicates > 0 or gate.launches % 2 != 0 or gate.launches % len(pattern) != 0),
            "looks = 2 needs replicates = 0 and half of the launches to fill the order",
        ),
        (
            (gate.equality == "flip-rate") != bool(gate.outputs),
            "equality = 'flip-rate' and outputs = 'FILE.json' go together",
        ),
        (
            gate.instrument != "traced" and gate.metric.startswith(NEED_OPS),
            f"metric {gate.metric} needs instrument = 'traced'",
        ),
    )
    for fault, text in wrong:
        if fault:
            raise InputError(f"{text}.")
