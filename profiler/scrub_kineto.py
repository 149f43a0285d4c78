"""A Kineto JSON trace -> the same events with cleaned texts, and only what is known to be harmless.

The document is read whole, so a trace of 1 GB takes some GB of memory.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.gzip_stream import GZIP_MAGIC
from stepprof.profiler.scrub_kineto_events import scrubbed_events
from stepprof.profiler.scrub_text import TextCleaner

KEPT = {
    *("schemaVersion", "displayTimeUnit", "traceEvents", "deviceProperties", "distributedInfo"),
    *("cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version", "roctracer_version"),
}
KEPT_INSIDE = {
    "deviceProperties": {"id", "name", "numSms", "totalGlobalMem", "computeMajor", "computeMinor"},
    "distributedInfo": {"rank", "world_size", "backend"},
}


def scrub_kineto(trace: Path, out: Path, clean: TextCleaner) -> list[str]:
    """Write the copy as plain text, say what it lacks."""
    try:
        document = _document(trace)
        clean.learn(_texts(document), [str(value) for key, value in document.items() if "host" in key.lower()])
        removed: list[str] = []
        text = json.dumps(_cleaned(_kept(document, removed), clean), default=float)
    except (ValueError, EOFError, RecursionError, zlib.error, gzip.BadGzipFile) as fault:
        raise InputError(f"{trace} is damaged ({fault}): import it, then scrub the run file.") from None
    out.write_text(text)
    return removed


def _document(trace: Path) -> dict[str, Any]:
    """The trace; numbers with decimals as they are written, since times need all of them."""
    try:
        data = trace.read_bytes()
    except OSError as fault:
        raise InputError(f"{trace} cannot be read ({fault.strerror}): check the path.") from None
    text = gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    document = json.loads(text, strict=False, parse_float=Decimal)
    return {"traceEvents": document} if isinstance(document, list) else document


def _kept(document: dict[str, Any], removed: list[str]) -> dict[str, Any]:
    """The metadata and events that are known to be harmless."""
    removed += [f"metadata {key}" for key in document if key not in KEPT]
    kept = {key: _inside(key, value, removed) for key, value in document.items() if key in KEPT}
    events = kept.get("traceEvents")
    return kept | {"traceEvents": scrubbed_events(events if isinstance(events, list) else [], removed)}


def _texts(value: Any) -> Iterator[str]:
    """All texts inside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _inside(key: str, value: Any, removed: list[str]) -> Any:
    """Metadata that is a list or an object, without the keys that are not known."""
    if key not in KEPT_INSIDE:
        return value
    if isinstance(value, list):
        return [_inside(key, item, removed) for item in value]
    if not isinstance(value, dict):
        return value
    lost = [name for name in value if name not in KEPT_INSIDE[key]]
    removed += [line for name in lost if (line := f"metadata {key}.{name}") not in removed]
    return {name: item for name, item in value.items() if name not in lost}


def _cleaned(value: Any, clean: TextCleaner) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    if isinstance(value, dict):
        return {key: _cleaned(item, clean) for key, item in value.items()}
    return value
