"""stepprof yardsticks: several sources' figures side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.compare.yardsticks import yardsticks
from stepprof.profiler.commands.shared import Json, print_json
from stepprof.profiler.errors import UsageError
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.terminal_yardsticks import show_yardsticks, yardsticks_markdown

app = typer.Typer()


@app.command("yardsticks")
def yardsticks_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="Tables named figure: source, metric, test, value and more.")
    ],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown to paste.")] = False,
    json: Json = False,
) -> None:
    """Show every source's figure for a metric beside the others, with ratios and the spread between classes."""
    if markdown and json:
        raise UsageError("--markdown and --json exclude each other: give one of them.")
    result = yardsticks(file)
    if json:
        print_json(document.plain_document(result))
    elif markdown:
        sys.stdout.write(yardsticks_markdown(result))
    else:
        show_yardsticks(terminal.console(), result)
