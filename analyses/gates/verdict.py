"""The verdict on a gate: integrity, looks, settings, then figures, then side conditions.

    answer = verdict_on(ledger, "topk", opened, run_check)

Whatever would bend it is Refused with the reason: a changed byte, moved or back-dated entries, files older than
the registration, an undeclared setting that differs, a look that was not registered. The look is noted
in the ledger before its answer is returned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stepprof.analyses.compare.comparison import doubt_warnings
from stepprof.analyses.compare.settings import Difference, differences
from stepprof.analyses.gates.evidence import Evidence, Opened, check_files, read_evidence
from stepprof.analyses.gates.judge import Bar, Judged, Verdict, judge, judge_rounds, rule_met
from stepprof.analyses.gates.ledger import Ledger
from stepprof.analyses.gates.registration import Registration
from stepprof.analyses.gates.running import folder_of
from stepprof.analyses.gates.schedule import stages
from stepprof.analyses.gates.side_conditions import (
    Cell,
    Condition,
    cells_condition,
    flip_rate,
    identical_outputs,
    judge_cells,
)
from stepprof.analyses.gates.state import GateState, gate_state
from stepprof.analyses.inflation import beyond, farthest
from stepprof.analyses.statistics import level_of_look
from stepprof.profiler.errors import InputError, Refused

Check = Callable[[str | list[str]], bool]


@dataclass(frozen=True)
class Answer:
    """A verdict and all it rests on; `rounds` and `together` are empty where there are no data."""

    gate: Registration
    registered: str
    fingerprint: str
    head: str
    verdict: Verdict
    met: bool
    reason: str
    unit: str
    figure_kind: str
    rounds: list[Judged]
    together: Judged | None
    look: int
    cells: list[Cell]
    conditions: list[Condition]
    settings: list[Difference]
    evidence: list[Evidence]
    crashed: int
    cut: int
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def verdict_on(ledger: Ledger, name: str, opened: Opened, check: Check) -> Answer:
    """Judge what there is; the answer is in the ledger when this returns."""
    state = gate_state(ledger, name)
    look, data = _look(state)
    root = folder_of(ledger, name)
    gate, registered = state.registration, state.registered.time
    for made in state.made:  # those that do not count are kept too
        check_files(root / made.folder, made, registered)
    evidence = [read_evidence(root / made.folder, made, gate, opened) for _, made in sorted(state.done.items())]
    differing = _settings(evidence, gate)
    answer = _answer(state, evidence, differing, look, check, ledger.path.parent)
    return _noted(ledger, state, answer, data)


def _look(state: GateState) -> tuple[int, str]:
    """Number of the look at these data, and their hash; Refused where it was not registered."""
    gate, done = state.registration, sorted(state.done)
    data = hashlib.sha256("".join(state.done[n].entry.hash for n in done).encode()).hexdigest()
    places = stages(gate)
    if not done:
        return 1, data
    if done != list(range(len(done))):
        raise Refused(f"launches of {gate.name} are missing between others: run the gate to its end.")
    if len(done) not in places:
        following = next(place for place in places if place > len(done))
        raise Refused(
            f"{len(done)} launches of {gate.name} are made and the next registered look is at {following}: "
            f"an extra look is refused, finish stepprof gate run {gate.name}."
        )
    look = places.index(len(done)) + 1
    others = [e for e in state.looks if e.body["launches"] == len(done) and e.body["data"] != data]
    if others:
        raise Refused(f"{gate.name}: other data were looked at before at this place: an extra look is refused.")
    return look, data


def _settings(evidence: Sequence[Evidence], gate: Registration) -> list[Difference]:
    """Settings that differ as declared; Refused where others do, or where launches of one arm differ."""
    known = [one for one in evidence if one.settings or one.reading]  # one that left nothing differs in nothing
    a, b = ([one.settings for one in known if one.made.slot.arm == arm] for arm in ("A", "B"))
    found = differences(a, b) if a and b else []
    declared = {*gate.differs, *(f"env:{name}" for name in gate.differs)}
    wrong = [one for one in found if one.setting not in declared or one.within]
    if wrong:
        said = "; ".join(_difference(one) for one in wrong[:3])
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise Refused(
            f"{gate.name}: settings differ that were not declared in differs: {said}{more}: "
            "make the arms alike, or register a gate that names them."
        )
    return found


def _difference(one: Difference) -> str:
    within = " (within an arm)" if one.within else ""
    return f"{one.setting} {'/'.join(one.control)[:60]} against {'/'.join(one.candidate)[:60]}{within}"


def _answer(
    state: GateState, evidence: list[Evidence], differing: list[Difference], look: int, check: Check, folder: Path
) -> Answer:
    gate = state.registration
    lost = [one for one in evidence if one.reading is None]
    rounds: list[Judged] = []
    together, met = None, False
    verdict: Verdict = "NO_DATA"
    reason = "no launch was made" if not evidence else lost[0].why if lost else ""
    if evidence and not lost:
        rounds = _rounds(gate, evidence, look)
        together = judge_rounds(rounds, bar_of(gate))
        verdict = together.verdict
        met, reason = rule_met(gate.rule, rounds, gate.rounds, together)
    cells = _cells(gate, evidence)
    conditions = _conditions(state, evidence, cells, check if evidence else None, folder)
    if met and (broken := [one for one in conditions if not one.passed]):
        met, reason = False, "; ".join(f"{one.name}: {one.text}" for one in broken)
    return Answer(
        gate=gate,
        registered=state.registered.when,
        fingerprint=state.registered.body["sha256"],
        head="",
        verdict=verdict,
        met=met,
        reason=reason,
        unit=next((one.unit for one in evidence), ""),
        figure_kind=_kind(evidence),
        rounds=rounds,
        together=together,
        look=look,
        cells=cells,
        conditions=conditions,
        settings=differing,
        evidence=evidence,
        crashed=sum(made.status == "crashed" for made in state.made),
        cut=sum(made.status == "cut" for made in state.made),
        warnings=_warnings(evidence),
    )


def bar_of(gate: Registration) -> Bar:
    """The registered pass mark."""
    return Bar(gate.bar, gate.direction, gate.bar_unit == "percent")


def _rounds(gate: Registration, evidence: Sequence[Evidence], look: int) -> list[Judged]:
    level = level_of_look(look if gate.looks == 2 else 1, gate.looks)
    found: list[Judged] = []
    for number in sorted({one.made.slot.round for one in evidence}):
        mine = [one for one in evidence if one.made.slot.round == number]
        a, b = ([one.reading.value for one in mine if one.reading and one.made.slot.arm == arm] for arm in ("A", "B"))
        found.append(judge(a, b, bar_of(gate), level))
    return found


def _cells(gate: Registration, evidence: Sequence[Evidence]) -> list[Cell]:
    if gate.max_regression is None or not evidence:
        return []
    a, b = ([one.cells for one in evidence if one.made.slot.arm == arm] for arm in ("A", "B"))
    return judge_cells(a, b, gate.max_regression)


def _conditions(
    state: GateState, evidence: Sequence[Evidence], cells: Sequence[Cell], check: Check | None, folder: Path
) -> list[Condition]:
    gate = state.registration
    found: list[Condition] = []
    if gate.max_regression is not None:
        found.append(cells_condition(cells))
    if gate.equality == "bit-identical":
        found.append(
            identical_outputs(*([one.output for one in evidence if one.made.slot.arm == arm] for arm in ("A", "B")))
        )
    if gate.outputs:
        found.append(_flips(state, folder / gate.outputs))
    for command in gate.checks if check else []:
        passed = check is not None and check(command)
        text = command if isinstance(command, str) else " ".join(command)
        found.append(Condition("check", passed, f"{'passed' if passed else 'failed'}: {text}"))
    return found


def _flips(state: GateState, path: Path) -> Condition:
    """The flip-rate rule on a file made after the registration."""
    try:
        if path.stat().st_mtime < state.registered.time:
            raise Refused(f"{path} is older than the registration: data from before it decide nothing.")
        document = json.loads(path.read_bytes())
    except OSError as fault:
        return Condition("equality", None, f"{path} cannot be read ({fault.strerror})")
    except (ValueError, RecursionError):
        raise InputError(f"{path} is no JSON document: write it with stepprof compare-outputs --json.") from None
    return flip_rate(document, path.name)


def _kind(evidence: Sequence[Evidence]) -> str:
    kinds = {one.reading.kind for one in evidence if one.reading}
    return next((kind for kind in ("quoted", "modelled", "simulated") if kind in kinds), "measured")


def _warnings(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    inflated = [one.inflation.ratio for one in evidence if one.inflation is not None and beyond(one.inflation.ratio)]
    unknown = sum(one.traced and one.inflation is None for one in evidence)
    drifting = sum(one.series is not None and one.series.drifts for one in evidence)
    texts = [
        ("tracing_inflation", len(inflated),
         f"Tracing makes steps up to {farthest(inflated):.2f} times as long: gate run --untraced judges better."),
        ("tracing_cost_unknown", unknown, f"What tracing cost is unknown in {unknown} launches (no untraced control)."),
        ("drift", drifting, f"Steps drift within {drifting} launches: let the machine warm up first."),
    ]  # fmt: skip
    found = [{"code": code, "count": n, "text": text} for code, n, text in texts if n]
    return found + doubt_warnings([one.doubts for one in evidence])


def _noted(ledger: Ledger, state: GateState, answer: Answer, data: str) -> Answer:
    """The answer with the ledger's head behind it; the same answer to the same data is noted once."""
    launches = len(state.done)
    final = launches == len(state.plan)
    body = {"name": answer.gate.name, "launches": launches, "data": data, **summary(answer)}
    if launches and not any(entry.body == body for entry in state.looks):
        ledger.append("verdict" if final else "look", body)
    return replace(answer, head=ledger.head)


def summary(answer: Answer) -> dict[str, Any]:
    """What the ledger keeps of an answer."""
    delta = None if answer.together is None else asdict(answer.together.delta)
    return {"verdict": answer.verdict, "met": answer.met, "reason": answer.reason, "look": answer.look, "delta": delta}
