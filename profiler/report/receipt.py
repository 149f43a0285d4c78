"""A verdict in one paragraph of Markdown, to be pasted where the decision is made."""

from __future__ import annotations

import re

from stepprof.analyses.gates.judge import Judged
from stepprof.analyses.gates.verdict import Answer
from stepprof.analyses.inflation import TracingInflation
from stepprof.profiler.report.terminal import clean, tracing_lines

MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


def receipt(answer: Answer) -> str:
    """One paragraph; texts of the registration are escaped."""
    gate = answer.gate
    sentences = [
        f"**{_plain(gate.name)}: {answer.verdict}**, rule {gate.rule} {'met' if answer.met else 'not met'}: "
        f"{_plain(answer.reason)}.",
        *_figures(answer),
        *(f"{one.name}: {_plain(one.text)}." for one in answer.conditions),
        _launches(answer),
        *(_plain(line) + "." for line in tracing_lines(traced_launches(answer))),
        *(f"Predicted {gate.predicted.value:+g} ({_plain(gate.predicted.source)})." for _ in [0] if gate.predicted),
        *(f"Excluded: {_plain(gate.exclusions)}." for _ in [0] if gate.exclusions),
        *(f"Cost {_plain(gate.cost)}." for _ in [0] if gate.cost),
        *(_plain(str(warning["text"])) for warning in answer.warnings),
        f"Registered {answer.registered}, SHA-256 {answer.fingerprint[:16]}; ledger head {answer.head[:16]}.",
    ]
    return " ".join(sentences) + "\n"


def figures_of(one: Judged, answer: Answer) -> str:
    """Means, change, interval and floor."""
    a, b = (sum(arm) / len(arm) for arm in (one.control, one.candidate))
    unit = "%" if answer.gate.bar_unit == "percent" else answer.unit
    share = f" ({100 * (b - a) / a:+.2f} %)" if a else ""
    return (
        f"{a:.4f} -> {b:.4f} {answer.unit}, {one.delta.estimate:+.4f} {unit}{share}, "
        f"interval {one.delta.low:+.4f} to {one.delta.high:+.4f}, noise floor {one.noise_floor:.4f}"
    )


def _figures(answer: Answer) -> list[str]:
    gate = answer.gate
    if answer.together is None:
        return []
    unit = "%" if gate.bar_unit == "percent" else answer.unit
    bar = f"bar {gate.bar:+g} {unit}".rstrip()
    found = [f"{_plain(gate.metric)} ({answer.figure_kind}): {figures_of(answer.together, answer)}; {bar}."]
    if len(answer.rounds) > 1:
        each = ", ".join(f"{one.delta.estimate:+.4f} {one.verdict}" for one in answer.rounds)
        found.append(f"Rounds: {each.replace('_', chr(92) + '_')}.")
    return found


def _launches(answer: Answer) -> str:
    counted = len(answer.evidence)
    more = [f"{n} {word}" for n, word in ((answer.crashed, "crashed"), (answer.cut, "cut")) if n]
    left_out = sum(one.left_out for one in answer.evidence)
    ways = ", ".join(sorted({one.made.instrument for one in answer.evidence}))
    return (
        f"{counted} launches in order {answer.gate.order}{f' ({ways})' if ways else ''}"
        f"{f', beside them {chr(44).join(more)}' if more else ''}; {left_out} warm-up steps left out; look {answer.look}."
    )


def traced_launches(answer: Answer) -> list[tuple[str, TracingInflation | None]]:
    """Name of each traced launch, and what tracing did to it."""
    return [(one.made.folder, one.inflation) for one in answer.evidence if one.traced]


def _plain(text: str) -> str:
    return MARKUP.sub(r"\\\1", clean(text)).rstrip(".")
