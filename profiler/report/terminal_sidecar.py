"""`stepprof breakdown --sidecar` in the terminal: 80 columns.

First what a call is made of and whether that is copying or computing, then sizes, phases, fit, waits.
"""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

from stepprof.analyses.sidecar.fit import Fit
from stepprof.analyses.sidecar.groups import kinds_of_experts
from stepprof.analyses.sidecar.result import ClassWait, Group, LayerWait, PhaseKinds, Sidecar
from stepprof.profiler.report.terminal import WIDTH, clean, show_inflation, show_warnings

KEY, BAR = 24, 10
SMALL = 0.01  # of a call: phases below it share a line
LAYERS = 12
COSTS = {"fixed_us": "", "per_row_us": " a row", "per_expert_us": " an expert"}


def show_sidecar(out: Console, source: str, answer: Sidecar) -> None:
    """The whole answer."""
    _headline(out, source, answer)
    show_inflation(out, answer.inflation)
    _sizes(out, answer)
    _phases(out, answer.phases, answer.all.mean_us)
    _fit(out, answer)
    _waits(out, answer)
    _classes(out, answer)
    _say(out, answer.headroom_said)
    if answer.all.floor_us is not None:
        _say(out, f"floor: {answer.floor_said}")
    show_warnings(out, answer.warnings)


def _say(out: Console, text: str, style: str = "") -> None:
    out.print(Text(textwrap.fill(clean(text), WIDTH, break_long_words=False), style=style))


def _headline(out: Console, source: str, answer: Sidecar) -> None:
    every, a_step = answer.all, answer.calls / max(answer.steps, 1)
    _say(out, f"{source}: {answer.calls:,} sidecar calls in {answer.steps} steps, {a_step:.1f} a step")
    _say(
        out,
        f"found by {answer.source}, {answer.rows_said}, {answer.empty_calls} without rows{_skipped(answer)}; measured",
    )
    parts = " + ".join(f"{us:.1f} {name}" for name, us in every.parts_mean_us.items())
    _say(out, f"call mean {every.mean_us:.1f} µs = {parts}", style="bold")
    _say(out, verdict(answer), style="bold")


def _skipped(answer: Sidecar) -> str:
    return "" if answer.skipped_share is None else f", {100 * answer.skipped_share:.1f} % skipped"


def verdict(answer: Sidecar) -> str:
    """Whether a call copies, computes or waits, in words."""
    first, us = max(answer.all.parts_mean_us.items(), key=lambda part: part[1])
    share = 100 * us / max(answer.all.mean_us, 1e-9)
    what = "gaps between ops" if first == "gaps" else first
    said = f"{'Most' if share > 50 else 'The largest part'} of a call is {what} ({share:.0f} %)"
    experts = kinds_of_experts(answer.phases)
    if not experts or answer.source != "marks":  # without marks a phase is named after its kind
        return f"{said}."
    kind, us = next(iter(experts.items()))
    inside = 100 * us / sum(experts.values())
    return f"{said}; in the phases that serve the experts {kind} is the largest kind ({inside:.0f} %)."


def _sizes(out: Console, answer: Sidecar) -> None:
    """Distributions by rows, then what the mean call is made of."""
    groups = [*answer.per_rows, *([answer.all] if len(answer.per_rows) > 1 else [])]
    heads = ("p50", "p95", "p99", "max", "mean", "wait", "away")
    out.print(f"{'rows':5}{'calls':>8}" + "".join(f"{head:>9}" for head in heads) + " µs", style="bold")
    for group in groups:
        figures = [group.p50_us, group.p95_us, group.p99_us, group.max_us, group.mean_us, group.join_wait_us]
        away = f"{'-':>9}" if group.away_us is None else f"{group.away_us:9.1f}"
        out.print(Text(f"{_rows(group, answer):5}{group.calls:8,}" + "".join(f"{f:9.1f}" for f in figures) + away))
    out.print(
        f"{'':5}{'':8}{'copying':>9}{'computing':>11}{'gaps':>8}   of which {'floor':>7}{'fixed':>8}", style="bold"
    )
    for group in groups:
        mean = max(group.mean_us, 1e-9)
        shown = [_percent(value / mean) for value in group.parts_mean_us.values()]
        floor, fixed = (_percent(None if x is None else x / mean) for x in (group.floor_us, _fixed(answer, group)))
        out.print(Text(f"{_rows(group, answer):13}{shown[0]:>9}{shown[1]:>11}{shown[2]:>8}{'':12}{floor:>7}{fixed:>8}"))


def _rows(group: Group, answer: Sidecar) -> str:
    if group is answer.all and len(answer.per_rows) > 1:
        return "all"
    return "?" if group.rows is None else str(group.rows)


def _fixed(answer: Sidecar, group: Group) -> float | None:
    fixed = answer.fits.fixed_us
    return None if fixed is None or group.rows == 0 else fixed


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _phases(out: Console, phases: list[PhaseKinds], mean: float) -> None:
    """Phases of the mean call in their order; small ones together."""
    out.print(f"{'phase':{KEY}}{'mean µs':>9}{'of call':>9}  {'':{BAR}}  kinds", style="bold")
    small = [p for p in phases if p.mean_us < SMALL * mean]
    shown = [p for p in phases if p.mean_us >= SMALL * mean]
    for phase in [*shown, *([_together(small)] if small else [])]:
        for line in _phase_lines(phase, mean):
            out.print(Text(line.rstrip()))


def _together(phases: list[PhaseKinds]) -> PhaseKinds:
    """These phases as one."""
    kinds: dict[str, float] = {}
    for phase in phases:
        for kind, us in phase.kinds.items():
            kinds[kind] = kinds.get(kind, 0.0) + us
    ordered = dict(sorted(kinds.items(), key=lambda item: -item[1]))
    return PhaseKinds(f"({len(phases)} smaller ones)", sum(kinds.values()), ordered)


def _phase_lines(phase: PhaseKinds, mean: float) -> list[str]:
    """The phase, and as many lines as all its kinds need."""
    share = phase.mean_us / max(mean, 1e-9)
    bar = "█" * round(BAR * share)
    head = f"{clean(phase.phase)[: KEY - 1]:{KEY}}{phase.mean_us:9.1f}{100 * share:8.1f}%  {bar:{BAR}}  "
    first, *more = _kinds(phase, WIDTH - len(head))
    return [head + first, *(" " * len(head) + line for line in more)]


def _kinds(phase: PhaseKinds, width: int) -> list[str]:
    """All its kinds in lines of this width; one empty line for a gap."""
    if set(phase.kinds) == {"gap"}:
        return [""]
    lines: list[str] = []
    for kind, us in phase.kinds.items():
        text = f"{kind} {_whole_percent(us / phase.mean_us)}"
        if lines and len(lines[-1]) + len(text) + 3 <= width:
            lines[-1] += f" · {text}"
        else:
            lines.append(text)
    return lines


def _whole_percent(share: float) -> str:
    return "<1 %" if share < 0.005 else f"{100 * share:.0f} %"


def _fit(out: Console, answer: Sidecar) -> None:
    for fit in (answer.fits.medians, answer.fits.robust):
        if fit.fixed_us is not None:
            _say(out, f"cost {_costs(fit)}; {fit.estimator}, off by {fit.max_residual_us:.1f} µs at most")
    if answer.fits.said:
        _say(out, answer.fits.said)


def _costs(fit: Fit) -> str:
    """63.1 (58.7 to 64.8) µs + 54.7 (54.2 to 55.9) µs a row."""
    text = ""
    for name, unit in COSTS.items():
        value = getattr(fit, name)
        if value is not None:
            low, high = fit.intervals.get(name, (value, value))
            text += f"{' + ' if text else ''}{value:.1f} ({low:.1f} to {high:.1f}) µs{unit}"
    return text


def _waits(out: Console, answer: Sidecar) -> None:
    """Per step, then the layers that are waited for longest."""
    ms = [step.join_wait_ns / 1e6 for step in answer.by_step]
    _say(
        out,
        f"the main card waits {answer.join_wait_us_per_step / 1e3:.3f} ms a step at joins "
        f"({min(ms):.3f} to {max(ms):.3f}); away {answer.away_us_per_step / 1e3:.3f} ms a step",
        style="bold",
    )
    _say(out, held_said(answer))
    for sentence in answer.waits_said:
        _say(out, sentence)
    if answer.clocks_said:
        _say(out, answer.clocks_said)
    out.print(f"{'layer':8}{'rows':>6}{'calls':>8}{'main ready':>13}{'sidecar':>10}{'wait':>10} µs", style="bold")
    order = sorted(range(len(answer.by_layer)), key=lambda i: -answer.by_layer[i].join_wait_us)[:LAYERS]
    for i in sorted(order):
        out.print(Text(_layer_line(answer.by_layer[i]).rstrip()))
    if len(answer.by_layer) > LAYERS:
        out.print(f"({len(answer.by_layer) - LAYERS} layers with shorter waits; all of them with --json)")


def held_said(answer: Sidecar) -> str:
    """What an answer that is there at once saves, in words; less than the waits where the host launches late."""
    held = answer.held_us_per_step / 1e3
    if answer.held_us_per_step < answer.join_wait_us_per_step:
        return f"an answer that is there at once saves about {held:.3f} ms of that, with the wake-ups after the waits (modelled)"
    return f"with the wake-ups after them {held:.3f} ms: about what an answer that is there at once saves (modelled)"


def _layer_line(row: LayerWait) -> str:
    layer = "?" if row.layer is None else str(row.layer)
    rows = "?" if row.rows is None else f"{row.rows:.2f}".removesuffix(".00")
    mark = " <" if row.below_bound == row.calls else f" ({row.below_bound:,} <)" if row.below_bound else ""
    return (
        f"{layer:8}{rows[:6]:>6}{row.calls:8,}{row.main_ready_us:13.1f}{row.sidecar_us:10.1f}"
        f"{row.join_wait_us:10.1f}{mark}"
    )


def _classes(out: Console, answer: Sidecar) -> None:
    """Classes of prompts or runs, per step."""
    if not answer.classes:
        return
    out.print(
        f"{'class':16}{'steps':>7}{'calls':>8}{'rows':>7}{'skipped':>9}{'p50':>9}{'wait':>11}{'away':>11}", style="bold"
    )
    for c in answer.classes:
        rows = "?" if c.mean_rows is None else f"{c.mean_rows:.2f}"
        p50 = "-" if c.p50_us is None else f"{c.p50_us:.1f}"
        skipped = _percent(c.skipped_share)
        out.print(
            Text(
                f"{clean(c.name)[:15]:16}{c.steps:7,}{c.calls:8.1f}{rows:>7}{skipped:>9}{p50:>9}"
                f"{c.join_wait_us:11.1f}{c.away_us:11.1f}"
            )
        )
    runs = [f"{c.name} {c.steps_used}{_traced(c)}" for c in answer.classes if c.own_run]
    if runs:
        _say(
            out,
            f"steps of --class runs: {'; '.join(runs)} (all whole ones; --step and --steps choose those of TRACE alone)",
        )


def _traced(run: ClassWait) -> str:
    return "" if run.tracing_inflation is None else f", traced {run.tracing_inflation:.2f} times as long as untraced"
