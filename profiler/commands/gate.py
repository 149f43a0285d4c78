"""stepprof gate register, run, verdict and list: a bar written down first, a verdict that cannot be bent."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.gates.ladder import ladder
from stepprof.analyses.gates.ledger import read_ledger
from stepprof.analyses.gates.registering import register as put
from stepprof.analyses.gates.registration import read_registration
from stepprof.analyses.gates.running import Order, run_gate
from stepprof.analyses.gates.verdict import verdict_on
from stepprof.profiler.capture.launching import last_words, launch
from stepprof.profiler.commands.shared import Json, opened, print_json
from stepprof.profiler.errors import CheckFailed
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.document_gates import ladder_document, verdict_document
from stepprof.profiler.report.receipt import receipt as receipt_of
from stepprof.profiler.report.terminal_gates import show_ladder, show_verdict

app = typer.Typer()
gate = typer.Typer(no_args_is_help=True)
app.add_typer(gate, name="gate", help="Register a bar, make its launches, judge them; all in a ledger.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The gate's name.")]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="The ledger; launches are kept beside it.")]
Head = Annotated[str | None, typer.Option(help="A hash kept elsewhere (git) that the ledger must still hold.")]
DEFAULT = Path("gates/ledger.jsonl")


@gate.command()
def register(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Metric, bar, rule, arms, launches, conditions.")],
    ledger: LedgerFile = DEFAULT,
) -> None:
    """Write a gate into the ledger, before its data; print the hash to keep in git."""
    book = read_ledger(ledger, make=True)
    entry = put(book, read_registration(file))
    out = terminal.console()
    out.print(terminal.plain(f"registered {entry.body['name']}, SHA-256 {entry.body['sha256']}"))
    out.print(f"ledger head {book.head}\nkeep this hash where nobody rewrites it, for example in a git commit")


@gate.command()
def run(
    name: Name,
    ledger: LedgerFile = DEFAULT,
    untraced: Annotated[
        bool, typer.Option("--untraced", help="Record marks alone, so that tracing costs nothing.")
    ] = False,
    budget: Annotated[float | None, typer.Option(min=0, help="Seconds; no launch is begun that would not fit.")] = None,
) -> None:
    """Make the launches of a gate in the registered order, up to the next look; goes on where it was stopped."""
    book = read_ledger(ledger)
    progress = run_gate(book, name, _launch, budget, "marks" if untraced else None, _say)
    out = terminal.console()
    out.print(terminal.plain(f"{name}: {progress.done} of {progress.of} launches; {progress.stopped}"))
    out.print(f"ledger head {book.head}")
    if progress.may_look:
        out.print(terminal.plain(f"next: stepprof gate verdict {name}"))


@gate.command()
def verdict(
    name: Name,
    ledger: LedgerFile = DEFAULT,
    head: Head = None,
    receipt: Annotated[Path | None, typer.Option(help="Also write one paragraph of Markdown here.")] = None,
    json: Json = False,
) -> None:
    """Judge a gate; leaves with 0 where the registered rule is met, 3 where not, 4 where a verdict is refused."""
    book = read_ledger(ledger)
    if head is not None:
        book.check_head(head)
    answer = verdict_on(book, name, opened, _check)
    if receipt is not None:
        document.write_text(receipt, receipt_of(answer))
    print_json(verdict_document(answer)) if json else show_verdict(terminal.console(), answer)
    if not answer.met:
        raise typer.Exit(CheckFailed.exit_code)


@gate.command("list")
def list_(ledger: LedgerFile = DEFAULT, head: Head = None, json: Json = False) -> None:
    """Show the ladder: every gate with its bar, cost, prediction and verdict; checks the ledger."""
    book = read_ledger(ledger)
    if head is not None:
        book.check_head(head)
    rungs = ladder(book)
    print_json(ladder_document(rungs, book.head)) if json else show_ladder(terminal.console(), rungs, book.head)


def _launch(order: Order) -> int:
    """One launch by the profiler's own capture."""
    own = sorted({*order.gate.environment, *order.gate.control.env, *order.gate.candidate.env})
    arm = "control" if order.slot.arm == "A" else "candidate"
    code = launch(
        order.arm.command,
        order.arm.env,
        order.folder,
        order.instrument,
        order.lock,
        arm,
        own,
        order.gate.marker,
        order.gate.tracing_control,
    )
    if code:
        _say(f"it said last: {last_words(order.folder)}")
    return code


def _check(command: str | list[str]) -> bool:
    """Whether a registered check passes; its output goes to standard error."""
    words = shlex.split(command) if isinstance(command, str) else command
    try:
        return subprocess.run(words, stdout=sys.stderr, check=False).returncode == 0
    except OSError as fault:
        _say(f"{words[0]} cannot be started ({fault.strerror})")
        return False


def _say(line: str) -> None:
    sys.stderr.write(f"stepprof: {terminal.clean(line)}\n")
    sys.stderr.flush()
