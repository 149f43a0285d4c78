"""A real browser for tests of the HTML report: Debian's Chromium, driven by playwright, with the network blocked.

    with browser(): ...                                  # once a module
    with opened_page(path, width=1600) as page: ...      # asserts afterwards that nothing was fetched or logged

Tests skip where there is no chromium; .ci/run installs it.
"""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")


_opened: list[Any] = []


@contextmanager
def browser() -> Generator[None]:
    """One browser for all pages of a test module: starting it takes longer than a test."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as player:
        _opened.append(player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]))
        yield
        _opened.pop().close()


@contextmanager
def opened_page(path: Path, width: int = 1600, dark: bool = False, bypass_csp: bool = False) -> Generator:
    """The page, drawn, in the module's browser; bypass_csp lets a test put its own script in."""
    fetched: list[str] = []
    said: list[str] = []
    theme = "dark" if dark else "light"
    context = _opened[-1].new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=bypass_csp, offline=True
    )
    page = context.new_page()
    page.on("request", lambda request: fetched.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda fault: said.append(str(fault)))
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=30_000)
        yield page
    finally:
        context.close()
    assert [url for url in fetched if not url.startswith(("file:", "data:", "blob:"))] == []
    assert said == []
