"""`stepprof compare` for a person: the answer, the launches behind it, where it went, what differs."""

from __future__ import annotations

import textwrap

from rich.console import Console
from rich.text import Text

from stepprof.analyses.compare.comparison import Arm, Comparison
from stepprof.analyses.compare.op_deltas import OneSided
from stepprof.analyses.compare.row_deltas import RowDelta
from stepprof.analyses.compare.settings import Difference
from stepprof.analyses.short_names import short_name
from stepprof.profiler.report.terminal import WIDTH, clean, show_tracing, show_warnings

OUTCOMES = {
    "lower": "the candidate's step is shorter",
    "higher": "the candidate's step is longer",
    "not_told_apart": "not told apart",
    "refused": "no answer",
}
MOST_ROWS, MOST_OPS, MOST_SETTINGS = 8, 8, 20


def show_comparison(out: Console, found: Comparison) -> None:
    """Headline, launches, rows, ops, settings, warnings."""
    _headline(out, found)
    for name, arm in (("control", found.control), ("candidate", found.candidate)):
        _launches(out, name, arm)
    for by, rows in found.rows.items():
        _rows(out, by, rows)
    _ops(out, found)
    _cells(out, found)
    show_settings(out, found.settings)
    show_warnings(out, found.warnings)


def _headline(out: Console, found: Comparison) -> None:
    share = 100 * found.estimate / found.control.mean if found.control.mean else 0.0
    out.print(
        f"step {found.control.mean:.4f} -> {found.candidate.mean:.4f} ms: {found.estimate:+.4f} ms ({share:+.2f} %), "
        f"{found.figure_kind}",
        style="bold",
    )
    if found.delta is not None:
        floor = f", noise floor {found.noise_floor:.4f}" if found.noise_floor is not None else ""
        out.print(f"95 % interval {found.delta.low:+.4f} to {found.delta.high:+.4f} ms{floor}")
    if found.permutation is not None:
        out.print(
            f"without assumptions: shift {found.shift:+.4f} ms (Hodges-Lehmann), "
            f"permutation p {found.permutation.two_sided:.4f}"
        )
    out.print(Text(textwrap.fill(f"{OUTCOMES[found.outcome]}: {found.reason}", WIDTH)))


def _launches(out: Console, name: str, arm: Arm) -> None:
    out.print(
        f"{name:<22}{'p50 ms':>9}{'error':>9}{'steps':>7}{'left out':>9}{'worth':>7}{'rho':>6}  drift", style="bold"
    )
    for sample in arm.samples:
        s = sample.series
        out.print(
            Text(
                f"  {clean(sample.name)[-19:]:20}{s.median:9.4f}{_known(s.error, '9.4f')}{s.steps:7}{sample.left_out:9}"
                f"{_known(s.effective, '7.0f')}{_known(s.autocorrelation, '6.2f')}  "
                f"{'-' if s.drift is None else f'{100 * s.drift:+.1f} %'}{' !' if s.drifts else ''}"
            )
        )
    show_tracing(out, [(sample.name, sample.inflation) for sample in arm.samples if sample.kind == "trace"])


def _known(value: float | None, form: str) -> str:
    return f"{'-':>{form.split('.')[0]}}" if value is None else f"{value:{form}}"


def _rows(out: Console, by: str, rows: list[RowDelta]) -> None:
    changed = [row for row in rows if row.delta]
    if not changed:
        return
    out.print(f"{by:<28}{'control':>10}{'candidate':>11}{'delta':>10}{'chance':>10}  µs a step", style="bold")
    for row in changed[:MOST_ROWS]:
        out.print(_row(row, _op_key(row.key) if by == "op" else clean(row.key)[:27]))
    if len(changed) > MOST_ROWS:
        rest = sum(row.delta for row in changed[MOST_ROWS:])
        out.print(f"({len(changed) - MOST_ROWS} more rows, together {rest / 1e3:+.2f} µs)")


def _op_key(key: str) -> str:
    """Place, innermost label and short name of an op."""
    head, _, name = key.rpartition(" › ")
    place, _, rest = (head or key).partition(" ")
    label = f"{clean(rest.rpartition(' › ')[2])} " if head else ""
    return f"{place} {label}{short_name(name if head else rest)}"[:27]


def _row(row: RowDelta, key: str) -> Text:
    bound = f"{'-':>10}" if row.bound is None else f"{row.bound / 1e3:10.2f}"
    mark = " *" if row.beyond else ""
    return Text(f"{key:<28}{row.control / 1e3:10.2f}{row.candidate / 1e3:11.2f}{row.delta / 1e3:+10.2f}{bound}{mark}")


def _ops(out: Console, found: Comparison) -> None:
    if found.ops is None:
        return
    _rows(out, "op", [row for row in found.ops.aligned if row.delta])
    for word, ops in (("appeared", found.ops.appeared), ("vanished", found.ops.vanished)):
        if ops:
            total, exposed = sum(one.ops for one in ops), sum(one.exposed_ns for one in ops)
            out.print(f"{word}: {total} ops a step, {exposed / 1e3:.2f} µs exposed", style="bold")
        for one in ops[:MOST_OPS]:
            out.print(_one_sided(one))
    if found.ops.steps_share < 1:
        out.print(f"ops: {100 * found.ops.steps_share:.0f} % of steps are like the typical one and count here")


def _one_sided(one: OneSided) -> Text:
    where = f" in {clean(one.label)}" if one.label else ""
    return Text(f"  {one.ops:4} x {short_name(one.name)}{where}, {one.exposed_ns / 1e3:.2f} µs exposed"[:WIDTH])


def _cells(out: Console, found: Comparison) -> None:
    if found.cells:
        out.print(f"{'class@concurrency':<28}{'control':>10}{'candidate':>11}{'delta':>10}  tokens/s", style="bold")
    for row in found.cells:
        out.print(Text(f"{clean(row.key)[:27]:<28}{row.control:10.2f}{row.candidate:11.2f}{row.delta:+10.2f}"))


def show_settings(out: Console, settings: list[Difference]) -> None:
    """The settings that are not the same in every launch."""
    if settings:
        out.print("settings that differ", style="bold")
    for one in settings[:MOST_SETTINGS]:
        head = f"  {clean(one.setting)}{' (within an arm)' if one.within else ''}: {_values(one.control)}"
        tail = f" -> {_values(one.candidate)}"
        out.print(Text(head + (tail if len(head + tail) <= WIDTH else f"\n   {tail}")))
    if len(settings) > MOST_SETTINGS:
        out.print(f"({len(settings) - MOST_SETTINGS} more; all of them with --json)")


def _values(values: list[str]) -> str:
    text = ", ".join(clean(value) for value in values)
    return text if len(text) <= 60 else text[:57] + "..."
