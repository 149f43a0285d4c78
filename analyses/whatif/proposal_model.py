"""Proposals as plain data: what a change selects, what it does, the human's estimate and the gate beside it.

    Proposal("norms in one op", (Fuse(Select(role=("norm",))),), gate=Gate("<=", -0.10))

One frozen dataclass a kind of edit; times in µs as in the file, a pair (value, low, high) where bounds are given.
whatif/proposals.py reads them from TOML, whatif/edits.py applies them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Select:
    """Which ops: every given condition must hold; within one, any of its values. Regular expressions are searched."""

    role: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    layer: tuple[int, ...] = ()
    phase: tuple[str, ...] = ()
    name: str | None = None  # regular expression of the op's name
    device: tuple[int, ...] = ()
    label: str | None = None  # regular expression of the range path, a/b/c

    @property
    def empty(self) -> bool:
        """Whether no condition is given, which selects every op."""
        return self == Select()


@dataclass(frozen=True)
class Given:
    """A figure that the file brings, with bounds where it has them, and its kind."""

    value: float
    low: float
    high: float
    kind: Literal["measured", "modelled", "simulated", "quoted"] = "quoted"
    basis: str = ""  # where it is from, if not from the file of proposals itself


@dataclass(frozen=True)
class Remove:
    """Leave the ops out; with the last op of a launch goes the launch."""

    select: Select


@dataclass(frozen=True)
class Scale:
    """Other durations: times a factor, set to µs, or the roofline (bytes over bandwidth). Exactly one is given."""

    select: Select
    factor: Given | None = None
    to_us: Given | None = None
    floor: bool = False
    traffic_bytes: Given | None = None  # that each op moves, where no costs are on record
    bandwidth_gb_s: Given | None = None


@dataclass(frozen=True)
class Fuse:
    """Each contiguous run of selected ops, or each chain of ops of these names, becomes one op."""

    select: Select
    chain: tuple[str, ...] = ()  # regular expressions of names, in order
    within_layer: bool = False  # a run ends where the layer does
    to_us: Given | None = None  # measured time of the fused op
    bandwidth_gb_s: Given | None = None


@dataclass(frozen=True)
class Split:
    """Each op becomes `parts` ops that share its work."""

    select: Select
    parts: int


@dataclass(frozen=True)
class Break:
    """The graph is cut before each run of selected ops: what follows waits for all before, plus a boundary."""

    select: Select
    us: Given | None = None  # None: the trace's own boundaries


@dataclass(frozen=True)
class Move:
    """The ops leave their chain for a branch of their own, on a card; behind each run the next op of `until` waits."""

    select: Select
    until: Select
    device: int | None = None  # None: the same card
    factor: Given | None = None  # durations there over those here
    signal_us: Given | None = None  # latency between the cards; None: the trace's own


@dataclass(frozen=True)
class Overlap:
    """Neighbouring runs of the two selections no longer wait for each other; what follows waits for both."""

    select: Select
    beside: Select


@dataclass(frozen=True)
class Serialize:
    """The ops run one after the other, in today's order of start; with `after`, behind those ops of their layer."""

    select: Select
    after: Select | None = None


@dataclass(frozen=True)
class Share:
    """Only the source layers compute; each later layer takes over the last source's answer."""

    select: Select
    source: tuple[int, ...] = ()


@dataclass(frozen=True)
class Place:
    """Experts move to the main card: the sidecar's calls shrink by a share, or go wholly in some layers."""

    select: Select
    fraction: Given | None = None
    layers: tuple[int, ...] = ()
    main_us: Given | None = None  # what the main card's expert ops of such a layer take longer


@dataclass(frozen=True)
class Draft:
    """Other drafts a step: ops of later drafts go, or the cost of a row is added or taken."""

    k: int
    row_ms: Given | None = None


@dataclass(frozen=True)
class Add:
    """One more op behind (or before) each run of selected ops."""

    select: Select
    us: Given = field(default_factory=lambda: Given(0.0, 0.0, 0.0))
    at: Literal["after", "before"] = "after"
    each: Literal["run", "op"] = "run"


Edit = Remove | Scale | Fuse | Split | Break | Move | Overlap | Serialize | Share | Place | Draft | Add


@dataclass(frozen=True)
class Gate:
    """A bar for the change of the step, written down before the measurement."""

    sign: Literal["<=", ">="]
    ms: float

    def __str__(self) -> str:
        return f"{self.sign} {self.ms:+.3f} ms"

    def verdict(self, low: float, high: float) -> Literal["met", "not met", "open"]:
        """Of a change known to lie in an interval, ms; open where the interval straddles the bar."""
        holds = [x <= self.ms if self.sign == "<=" else x >= self.ms for x in (low, high)]
        return "met" if all(holds) else "open" if any(holds) else "not met"


@dataclass(frozen=True)
class Proposal:
    """A change: its edits, one behind the other."""

    name: str
    edits: tuple[Edit, ...]
    predicted_ms: float | None = None  # a human's estimate of the change of the step
    gate: Gate | None = None
    optional: bool = False  # a selection may match nothing
    where: tuple[str, ...] = ()  # file and line of each edit, for sentences
