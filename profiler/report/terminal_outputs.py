"""The terminal form of stepprof compare-outputs: pairs, the test against the controls, first divergences."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stepprof.analyses.compare.compared_outputs import ComparedOutputs, Pair
from stepprof.profiler.report.terminal import clean, paragraph, show_warnings

SHOWN = 10


def show_outputs(out: Console, result: ComparedOutputs) -> None:
    """Flip rates of every pair, the excess with its interval, the verdict."""
    what = "flips under teacher forcing" if result.forced else "first divergences of free outputs"
    out.print(f"{what}, measured", style="bold")
    _pair(out, "candidate", result.candidate)
    for pair in result.controls:
        _pair(out, "control", pair)
    test = result.test
    if test is not None:
        out.print(
            f"excess {100 * test.excess:+.3f} points ({100 * test.low:+.3f} … {100 * test.high:+.3f}, 95 %, clustered by "
            f"{test.clusters} prompts)\np = {test.p:.3f}; an excess of {100 * test.detectable:.3f} points would be found "
            "in 80 % of trials"
        )
        said = "more than controls differ from each other: a regression" if result.regression else "no regression"
        out.print(f"{100 * test.share:.3f} % against {100 * test.control:.3f} %: {said}", style="bold")
    if result.divergences:
        out.print("first divergences of A and B", style="bold")
    for one in result.divergences[:SHOWN]:
        out.print(Text(f"  {clean(one.prompt)[:40]} at {one.position}: {_token(one.a)} became {_token(one.b)}"))
    if len(result.divergences) > SHOWN:
        out.print(f"  ({len(result.divergences) - SHOWN} more prompts; all of them with --json)")
    show_warnings(out, list(result.warnings))


def _pair(out: Console, kind: str, pair: Pair) -> None:
    first = "" if pair.first_divergence_p50 is None else f", first at {pair.first_divergence_p50:g} (median)"
    out.print(Text(f"  {kind:10}{clean(pair.a)} × {clean(pair.b)}"))
    shares = f"{100 * pair.rate:.3f} % = {pair.flips:,} of {pair.positions:,} positions; "
    prompts = f"{pair.differing_prompts:,} of {pair.prompts:,} prompts differ{first}"
    paragraph(out, shares + prompts, first=12, indent=12)


def _token(token: int | str) -> str:
    return str(token) if isinstance(token, int) else repr(clean(token)[:30])
