"""stepprof audit: what this host lets decode do."""

from __future__ import annotations

import typer

from stepprof.profiler.audit import audit, audit_document
from stepprof.profiler.commands.shared import Json, print_json
from stepprof.profiler.report import terminal

app = typer.Typer()


@app.command("audit")
def audit_(json: Json = False) -> None:
    """Tell what this host lets one- and two-card decode do; reads, never sets, needs neither GPU nor root."""
    facts = audit()
    print_json(audit_document(facts)) if json else terminal.show_audit(terminal.console(), facts)
