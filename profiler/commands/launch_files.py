"""Files of launches as commands name them: runs, traces, `stepprof run --json` documents.

with opened_launch(path, question, warm_up=2) as launch: ...
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from stepprof.analyses.attribution import Question
from stepprof.analyses.compare.launches import Launch, is_run_document, launch_of_document, launch_of_store
from stepprof.profiler.commands.shared import opened
from stepprof.profiler.report.progress import working

MOST_BYTES = 256 << 20  # of a JSON document; larger ones are traces
MARK = b'"preset"'


@contextmanager
def opened_launch(path: Path, question: Question | None = None, warm_up: int = 0) -> Generator[Launch]:
    """The launch of a file, its ops at hand for the time of the block; InputError where it cannot be read."""
    if (document := run_document(path)) is not None:
        yield launch_of_document(document, path.name, warm_up)
        return
    with opened(path) as store:
        with working(f"accounting for the steps of {path.name}"):
            launch = replace(launch_of_store(store, question, warm_up), name=path.name)
        yield launch


def run_document(path: Path) -> dict[str, Any] | None:
    """The answer of `stepprof run --json`, where the file is one."""
    try:
        if path.suffix != ".json" or path.stat().st_size > MOST_BYTES:
            return None
        text = path.read_bytes()
        document = json.loads(text) if MARK in text[:4096] else None
    except (OSError, ValueError, RecursionError):
        return None
    return document if is_run_document(document) else None
