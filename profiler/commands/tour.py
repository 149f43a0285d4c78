"""stepprof --help as a tour: which panel a command stands in, and in which order.

class Tour             # the Typer group of the whole program: lists its commands in the tour's order
panelled(app)          # gives each command its panel
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

TOUR: dict[str, tuple[str, ...]] = {
    "Record": ("capture", "import", "scrub"),
    "Look": ("demo", "steps", "breakdown", "roles", "report", "export", "query"),
    "Change": ("whatif", "speculate", "placement"),
    "Decide": ("compare", "gate", "compare-outputs", "yardsticks", "load"),
    "The model under study": ("run", "serve", "bench"),
    "Host": ("audit",),
}
ORDER = [name for names in TOUR.values() for name in names]
PANEL = {name: panel for panel, names in TOUR.items() for name in names}


class Tour(TyperGroup):
    """A group whose commands come in the tour's order."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in order; what the tour does not know comes last."""
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def panelled(app: typer.Typer) -> typer.Typer:
    """Give each command and group of commands in `app` the panel that the tour says."""
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "").replace("_", "-").strip("-")
        command.rich_help_panel = PANEL.get(name, "Commands")
    for group in app.registered_groups:
        if isinstance(group.name, str):
            group.rich_help_panel = PANEL.get(group.name, "Commands")
    return app
