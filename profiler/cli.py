"""The command line: the commands (profiler/commands/) joined, and faults made into one sentence.

Standard output carries the answer (one JSON document with --json), standard error
everything else. Exit codes: profiler/errors.py.
"""

from __future__ import annotations

import signal
import sys

import typer

from stepprof.profiler.capture.options import spelled
from stepprof.profiler.commands import (
    breakdown,
    capture,
    compare,
    demo,
    export,
    gate,
    host,
    load,
    model,
    outputs,
    placement,
    report,
    speculation,
    traces,
    whatif,
    yardsticks,
)
from stepprof.profiler.commands.tour import Tour, panelled
from stepprof.profiler.errors import InputError, StepprofError
from stepprof.profiler.report import terminal

app = typer.Typer(
    name="stepprof",
    cls=Tour,
    help="Where did this decode step's time go, and what would a proposed change really buy?\n\n"
    "Start with [bold]stepprof demo[/bold]; then [bold]stepprof capture -o run.duckdb -- YOUR PROGRAM[/bold] "
    "and [bold]stepprof breakdown run.duckdb[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)

groups = (
    capture,
    traces,
    breakdown,
    compare,
    gate,
    whatif,
    placement,
    report,
    export,
    speculation,
    yardsticks,
    outputs,
    load,
    host,
    demo,
    model,
)
for group in groups:
    app.add_typer(panelled(group.app))


def main() -> None:
    """Run the command line; every fault a user can meet ends in one sentence."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` blocks clean up
    try:
        app(args=whatif.spelled(compare.spelled(outputs.spelled(spelled(sys.argv[1:])))))
    except StepprofError as fault:
        sys.stderr.write(f"stepprof: {terminal.clean(str(fault))}\n")
        sys.exit(fault.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as fault:
        sys.stderr.write(
            f"stepprof: {fault.filename or 'the system'}: {fault.strerror}: check space and permissions.\n"
        )
        sys.exit(InputError.exit_code)
