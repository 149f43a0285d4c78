"""--help as a tour: every command in a panel, 80 columns, a sentence first, nothing but text in a pipe."""

import argparse
import io
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console
from typer.main import get_command
from typer.testing import CliRunner

from stepprof.profiler.cli import app
from stepprof.profiler.commands.tour import ORDER, TOUR
from stepprof.profiler.report import progress

PASSED_ON = TOUR["The model under study"]  # their switches are the runtime's own
SENTENCE = re.compile(r"[A-Z].*[.:?]$", re.DOTALL)


def commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[str, ...]]:
    """The words of every command and group of commands, the program itself included."""
    yield words
    for name, child in getattr(command, "commands", {}).items():
        yield from commands((*words, name), child)


ALL = [words for words in commands((), get_command(app)) if words[:1] not in [(name,) for name in PASSED_ON]]


def help_of(*words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "FORCE_COLOR": None, "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_fits_80_columns_and_is_plain(words):
    text = help_of(*words)
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_begins_with_a_sentence(words):
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    first = (command.help or "").split("\n\n")[0]
    assert SENTENCE.match(first.strip()), first
    for option in command.params:
        told = getattr(option, "help", None)
        assert told is None or SENTENCE.match(told), (option.name, told)


def test_every_command_is_on_the_tour_in_its_order():
    listed = get_command(app).list_commands(None)  # type: ignore[arg-type, attr-defined]
    assert [name for name in listed if name not in ORDER] == []
    assert listed == [name for name in ORDER if name in listed]
    panels = re.findall(r"^╭─ ([A-Z].+?) ─+╮$", help_of(), re.MULTILINE)
    assert panels == ["Options", *(panel for panel, names in TOUR.items() if set(names) & set(listed))]


def subcommands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and those of all its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from subcommands(child)


def test_help_of_the_model_fits_too(monkeypatch):
    pytest.importorskip("torch")
    from stepprof.runtime.__main__ import parser

    monkeypatch.setenv("COLUMNS", "80")
    met = list(subcommands(parser()))
    assert {one.prog for one in met} >= {"stepprof run", "stepprof serve", "stepprof bench sidecar"}
    for one in met:
        assert SENTENCE.match(one.description or "") or one.prog == "stepprof", one.prog
        assert max(map(len, one.format_help().splitlines())) <= 80, one.prog


def terminal(**options: Any) -> Console:
    return Console(file=io.StringIO(), width=80, **options)


def written(out: Console) -> str:
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_progress_shows_after_its_time_and_only_on_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "AFTER_S", 0.01)
    shown, piped = terminal(force_terminal=True), terminal()
    for out in (shown, piped):
        with progress.working("reading\x1b[31m a.sqlite", out):
            time.sleep(0.2)
    assert "reading" in written(shown) and "\x1b[31m a.sqlite" not in written(shown)
    assert written(piped) == ""


def test_progress_of_quick_work_is_never_shown():
    out = terminal(force_terminal=True)
    with progress.working("reading a.sqlite", out):
        pass
    assert written(out) == ""


def test_progress_ends_where_the_work_fails():
    out = terminal(force_terminal=True)
    with pytest.raises(ValueError, match="broken"), progress.working("reading a.sqlite", out):
        raise ValueError("broken")
