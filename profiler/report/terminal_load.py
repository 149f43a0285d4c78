"""The terminal form of stepprof load."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stepprof.profiler.load.result import LoadResult
from stepprof.profiler.report.terminal import clean, show_warnings


def show_load(out: Console, result: LoadResult) -> None:
    """A line a class and concurrency, a line a prompt length."""
    think = {None: "", True: ", thinking on", False: ", thinking off"}[result.thinking]
    head = f"{clean(result.url)}: {clean(result.model)}, {result.route}{think}, at most {result.max_tokens} tokens"
    out.print(Text(f"{head}, measured"), style="bold")
    if result.cells:
        columns = f"{'class':16}{'at once':>8}{'requests':>9}{'errors':>7}{'a stream':>10}{'total':>10}{'first ms':>10}"
        out.print(f"{columns}{'p95 ms':>9}", style="bold")
    for cell in result.cells:
        first = cell.first_token_ms
        out.print(
            Text(
                f"{clean(cell.class_)[-15:]:16}{cell.concurrency:8}{cell.requests:9}{sum(cell.errors.values()):7}"
                f"{_number(cell.stream_tokens_per_s):>10}{_number(cell.tokens_per_s):>10}"
                f"{_number(first and first.p50):>10}{_number(first and first.p95):>9}"
            )
        )
    if result.cells:
        out.print("tokens/s of one stream after its first piece, and of all;\ntime to the first token: p50, p95")
    for read in result.prefill:
        first = read.first_token_ms
        out.print(
            f"prefill {read.asked_tokens:,} tokens (sent {_number(read.prompt_tokens)}): {_number(read.tokens_per_s)} "
            f"tokens/s, first token {_number(first and first.p50)} ms, {sum(read.errors.values())} errors"
        )
    show_warnings(out, list(result.warnings))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"
