"""Subcommands whose --help begins with what they do: the sentence that stands beside them in the list.

commands = parser.add_subparsers(dest="command", action=Described)
commands.add_parser("run", help="run prompts")          # its --help says "Run prompts."
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Action = argparse._SubParsersAction[argparse.ArgumentParser]  # pyright: ignore[reportPrivateUsage]
else:
    Action = argparse._SubParsersAction


class Described(Action):
    """argparse's own action for subcommands; the short help of each becomes its description too."""

    def add_parser(self, name: str, *, help: str | None = None, **options: Any) -> argparse.ArgumentParser:
        """A subcommand with a help line; its usage does not repeat every switch."""
        text = help or name
        told: dict[str, Any] = {
            "description": f"{text[0].upper()}{text[1:].rstrip('.')}.",
            "usage": "%(prog)s [options]",
        }
        return super().add_parser(name, help=help, **(told | options))
