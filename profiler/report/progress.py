"""A sign of life for what takes over a second: one line on standard error, gone when the work is done.

with working("importing capture.sqlite"): ...

Where standard error is no terminal, nothing is written.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from stepprof.profiler.report.terminal import clean, console

AFTER_S = 1.0


@contextmanager
def working(what: str, out: Console | None = None) -> Generator[None]:
    """Show `what` with a spinner while the block runs, from the second on that it takes."""
    shown = out or console(stderr=True)
    if not shown.is_terminal:
        yield
        return
    done = Event()
    thread = Thread(target=_show, args=(shown, what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(out: Console, what: str, done: Event) -> None:
    """Wait for the second to pass, then spin until the work is done; an answer of ours is never redirected."""
    if done.wait(AFTER_S):
        return
    spinner = Spinner("dots", Text(clean(what)))
    with Live(spinner, console=out, transient=True, redirect_stdout=False, redirect_stderr=False):
        done.wait()
