"""What the launches of a gate say: their files checked against the ledger, then read once each.

    check_files(folder, made, registered)
    evidence = read_evidence(folder, made, gate, opened)

A changed byte, a missing file or a file older than the registration is Refused. A launch that cannot
answer (no steps, no such figure) is no fault: its `reading` is None and `why` tells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepprof.analyses.attribution import Question
from stepprof.analyses.compare.launches import (
    Launch,
    is_run_document,
    launch_of_document,
    launch_of_figures,
    launch_of_store,
)
from stepprof.analyses.compare.metrics import Reading, metric_of, throughput_cells
from stepprof.analyses.compare.settings import manifest_settings
from stepprof.analyses.gates.registration import Registration
from stepprof.analyses.gates.running import file_hash
from stepprof.analyses.gates.state import Made
from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.statistics import Series, describe_series
from stepprof.profiler.errors import InputError, Refused
from stepprof.profiler.store import Store

RUN, DOCUMENT, MANIFEST = "run.duckdb", "output.json", "manifest.json"
OLDER_S = 1.0  # clocks of files may tick coarsely
Opened = Callable[[Path], AbstractContextManager[Store]]


@dataclass(frozen=True)
class Evidence:
    """One launch; `output` is a hash of the tokens it made, None where it does not say."""

    made: Made
    reading: Reading | None
    why: str
    unit: str
    cells: dict[str, Reading]
    output: str | None
    settings: dict[str, str]
    inflation: TracingInflation | None
    traced: bool
    series: Series | None
    left_out: int
    doubts: tuple[str, ...] = ()


def read_evidence(folder: Path, made: Made, gate: Registration, opened: Opened) -> Evidence:
    """Read one launch."""
    document = _document(folder / DOCUMENT)
    try:
        if (folder / RUN).exists():
            with opened(folder / RUN) as store:
                launch = launch_of_store(store, Question(gate.marker), gate.warm_up, document)
                return _evidence(launch, made, gate, folder)
        if document is None:
            raise Refused(f"{folder.name} has neither a run nor a JSON document.")
        known = is_run_document(document)
        return _evidence(
            launch_of_document(document, folder.name, gate.warm_up)
            if known
            else launch_of_figures(document, folder.name),
            made,
            gate,
            folder,
        )
    except (Refused, InputError) as fault:
        return Evidence(made, None, str(fault), "", {}, None, _written_settings(folder), None, False, None, 0)


def check_files(folder: Path, made: Made, registered: float) -> None:
    """Refused where the files are not those that were noted."""
    there = {path.name for path in folder.iterdir() if path.is_file()} if folder.is_dir() else set[str]()
    for name, noted in made.files.items():
        path = folder / name
        if name not in there:
            raise Refused(f"{path} is gone: the launch was noted with it, so the verdict is refused.")
        if file_hash(path) != noted:
            raise Refused(f"{path} was changed after its launch: the verdict is refused.")
        if path.stat().st_mtime < registered - OLDER_S:
            raise Refused(f"{path} is older than the registration: data from before it decide nothing.")
    if strange := sorted(there - set(made.files)):
        raise Refused(f"{folder / strange[0]} was added after its launch: the verdict is refused.")


def _evidence(launch: Launch, made: Made, gate: Registration, folder: Path) -> Evidence:
    metric = metric_of(gate.metric)
    reading, why = None, ""
    try:
        reading = metric.read(launch)
    except Refused as fault:
        why = str(fault)
    return Evidence(
        made,
        reading,
        why,
        metric.unit,
        throughput_cells(launch),
        _output(launch.document),
        _written_settings(folder) | launch.settings,
        launch.inflation,
        launch.kind == "trace",
        describe_series(launch.step_ms) if len(launch.step_ms) else None,
        launch.left_out,
        launch.doubts,
    )


def _document(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _written_settings(folder: Path) -> dict[str, str]:
    """The manifest of a launch that has no run file."""
    found = _document(folder / MANIFEST) or {}
    return manifest_settings([(str(key), str(value)) for key, value in found.items()])


def _output(document: dict[str, Any] | None) -> str | None:
    """Hash of the tokens of all classes of a `stepprof run` document."""
    classes = (document or {}).get("classes")
    if not isinstance(classes, list) or not all(isinstance(one, dict) and "tokens" in one for one in classes):
        return None
    text = json.dumps([[one.get("class"), one["tokens"]] for one in classes])
    return hashlib.sha256(text.encode()).hexdigest()
