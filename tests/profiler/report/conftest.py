"""What the browser tests of the report share: its answers, its file, one browser a module."""

from collections.abc import Generator
from pathlib import Path

import pytest

from stepprof.profiler.report.html.beside import Beside
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.page import write_report
from tests.profiler.report.browser import browser
from tests.profiler.report.whole_report import TRACE, whole_beside
from tests.real_runs import attributed, run_of


@pytest.fixture(scope="module")
def one_browser() -> Generator[None]:
    """Started once a module, and ended with it: its event loop would be in the way of other tests."""
    with browser():
        yield


@pytest.fixture(scope="session")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Beside:
    """The answers of every section."""
    return whole_beside(tmp_path_factory.mktemp("beside"))


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory, beside: Beside) -> Path:
    """The demo capture's report, with every section."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, report_data(run_of(TRACE, edges=True), attributed(TRACE, edges=True), None, beside))
    return path
