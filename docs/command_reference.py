"""Rewrite the generated parts of docs/commands.md from the commands themselves: `make commands`.

Each command has a section: its purpose and its options come from the code, between two comments; what stands
below them, up to the next heading, is written by hand and kept. A command that is new gets a section.
"""

from __future__ import annotations

import argparse
import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer

from stepprof.profiler.cli import app
from stepprof.profiler.commands.tour import ORDER, PANEL, TOUR
from stepprof.runtime.described import Described

PAGE = Path(__file__).parent / "commands.md"
PASSED_ON = TOUR["The model under study"]  # their switches are the runtime's
BEGIN, END = "<!-- from the code -->", "<!-- by hand -->"
SECTION = re.compile(r"^### (stepprof [^\n]+)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
WORDS = {str: "text", int: "whole number", float: "number", Path: "file"}


@dataclass(frozen=True)
class Option:
    """One row of a table of options."""

    name: str
    value: str
    default: str
    help: str


@dataclass(frozen=True)
class Command:
    """A command by its words, what it is for, and its options."""

    words: str
    purpose: str
    options: tuple[Option, ...]


def reference(page: str) -> str:
    """The page with its generated parts made new."""
    by_hand = {name: body.partition(END)[2].strip() for name, body in SECTION.findall(page)}
    parts = [page.partition("\n## ")[0].rstrip() + "\n"]
    panel = None
    for command in sorted([*of_app(app), *of_runtime()], key=lambda one: _place(one.words)):
        top = command.words.split()[1]
        if PANEL.get(top, "More") != panel:
            panel = PANEL.get(top, "More")
            parts.append(f"## {panel}\n")
        parts.append(_section(command, by_hand.get(command.words, "")))
    return "\n".join(parts)


def _place(words: str) -> int:
    """The tour's order; parts of a command follow it in theirs."""
    top = words.split()[1]
    return ORDER.index(top) if top in ORDER else len(ORDER)


def _section(command: Command, by_hand: str) -> str:
    lines = [f"### {command.words}\n\n{BEGIN}\n\n{command.purpose}\n"]
    if command.options:
        lines += ["| option | value | default | what it does |", "|---|---|---|---|", *map(_row, command.options), ""]
    return "\n".join([*lines, f"{END}\n", *([by_hand, ""] if by_hand else [])])


def _row(option: Option) -> str:
    cells = [f"`{option.name}`", option.value, option.default, option.help]
    return "| " + " | ".join(re.sub(r"(?=[|<*])", r"\\", " ".join(cell.split())) for cell in cells) + " |"


def of_app(part: typer.Typer, words: str = "stepprof") -> Iterator[Command]:
    """Commands of a Typer app and of those joined to it, but those of the runtime."""
    for info in part.registered_commands:
        callback: Any = info.callback
        name = info.name or callback.__name__.strip("_").replace("_", "-")
        if words != "stepprof" or name not in PASSED_ON:
            yield Command(f"{words} {name}", _text(info.help or inspect.getdoc(callback)), tuple(_options(callback)))
    for group in part.registered_groups:
        below = group.typer_instance
        assert below is not None
        if isinstance(group.name, str):
            yield Command(f"{words} {group.name}", _text(group.help), ())
        yield from of_app(below, f"{words} {group.name}" if isinstance(group.name, str) else words)


def _text(help_text: Any) -> str:
    return inspect.cleandoc(help_text) if isinstance(help_text, str) else ""


def _options(callback: Any) -> Iterator[Option]:
    """From the annotations, which outlive changes inside Typer."""
    hints = typing.get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        if typing.get_origin(hints[name]) is not typing.Annotated:
            continue
        of, *extras = typing.get_args(hints[name])
        told: Any = next(extra for extra in extras if hasattr(extra, "param_decls"))
        required = parameter.default is inspect.Parameter.empty
        if isinstance(told, typer.models.ArgumentInfo):
            shown = told.metavar or name.upper()
            yield Option(shown if required or shown.startswith("--") else f"[{shown}]", "", "", told.help or "")
            continue
        first = [told.default] if isinstance(told.default, str) else []  # typer.Option("-o", …): Typer puts it there
        declared = [*first, *(told.param_decls or ())] or [f"--{name.strip('_').replace('_', '-')}"]
        default = "required" if required else _default(parameter.default)
        yield Option(" ".join(declared), _value(of, told), default, told.help or "")


def _default(value: Any) -> str:
    return "" if value is None or value is False or value == "" or value == () else str(value)


def _value(of: Any, told: Any) -> str:
    """What an option takes, in words; nothing for a switch."""
    kinds = [one for one in typing.get_args(of) if one is not type(None)] if type(None) in typing.get_args(of) else [of]
    kind = kinds[0]
    if told.metavar:
        return told.metavar
    if kind is bool:
        return ""
    choices = _choices(kind)
    if choices:
        return ", ".join(choices)
    if typing.get_origin(kind) is list:
        return f"{WORDS[typing.get_args(kind)[0]]}, repeatable"
    low, high = told.min, told.max
    bounds = f"{low} to {high}" if high is not None else f"at least {low}"
    return WORDS[kind] + (f", {bounds}" if low is not None else "")


def _choices(kind: Any) -> list[str]:
    """The words of a Literal, also of one made of others."""
    if typing.get_origin(kind) is Literal:
        return [str(one) for one in typing.get_args(kind)]
    return [word for part in typing.get_args(kind) for word in _choices(part)] if not isinstance(kind, type) else []


def of_runtime() -> Iterator[Command]:
    """Commands of the built-in model, from its own parser."""
    from stepprof.runtime.__main__ import parser  # needs torch

    yield from _parsers(parser())


def _parsers(parser: argparse.ArgumentParser) -> Iterator[Command]:
    shared = {"model", "step"}  # groups of switches that several commands share: listed with `run`, named elsewhere
    rows: list[Option] = []
    parts: list[argparse.ArgumentParser] = []
    left_out = False
    for group in parser._action_groups:  # argparse has no public way to list what a parser takes
        for action in group._group_actions:
            if isinstance(action, Described):
                parts = [*action.choices.values()]
            elif group.title in shared and parser.prog != "stepprof run":
                left_out = True
            elif action.option_strings and action.dest != "help":
                rows.append(_switch(action))
    more = " It takes the model's and the step's switches of [stepprof run](#stepprof-run) too." if left_out else ""
    if parser.prog != "stepprof":
        yield Command(parser.prog, f"{parser.description or ''}{more}", tuple(rows))
    for part in parts:
        yield from _parsers(part)


def _switch(action: argparse.Action) -> Option:
    choices = ", ".join(map(str, action.choices)) if action.choices else ""
    kind = str(action.metavar or action.dest.upper()) if action.nargs != 0 else ""
    default: Any = action.default
    shown = ",".join(map(str, default)) if isinstance(default, list | tuple) else _default(default)
    text = re.sub(r" \(default: %\(default\)s\)$", "", action.help or "")
    told = f"{text[:1].upper()}{text[1:].rstrip('.')}."
    return Option(" ".join(action.option_strings), choices or kind, shown, told)


if __name__ == "__main__":
    PAGE.write_text(reference(PAGE.read_text()))
