"""A Kineto JSON trace -> the same events with cleaned texts, and only the metadata that is known to be harmless.

The document is read whole, so a trace of 1 GB takes some GB of memory.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.gzip_stream import GZIP_MAGIC

KEPT = {
    *("schemaVersion", "displayTimeUnit", "baseTimeNanoseconds", "traceEvents", "deviceProperties"),
    *("cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version", "distributedInfo"),
}
KEPT_INSIDE = {
    "deviceProperties": {"id", "name", "numSms", "totalGlobalMem", "computeMajor", "computeMinor"},
    "distributedInfo": {"rank", "world_size", "backend"},
}


def scrub_kineto(trace: Path, out: Path, clean: Callable[[str], str]) -> list[str]:
    """Write the copy (gzip where the trace is), say what it lacks."""
    data = trace.read_bytes()
    packed = data.startswith(GZIP_MAGIC)
    try:
        document = json.loads(gzip.decompress(data) if packed else data, strict=False)
    except (ValueError, OSError, EOFError) as fault:
        raise InputError(f"{trace} is damaged ({fault}): import it, then scrub the run file.") from None
    if isinstance(document, list):
        document = {"traceEvents": document}
    removed = [f"metadata {key}" for key in document if key not in KEPT]
    kept = {key: _inside(key, value, removed) for key, value in document.items() if key in KEPT}
    changed = [0]
    text = json.dumps(_cleaned(kept, clean, changed)).encode()
    out.write_bytes(gzip.compress(text) if packed else text)
    return [*removed, *([f"paths, addresses or ids in {changed[0]} texts"] if changed[0] else [])]


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


def _cleaned(value: Any, clean: Callable[[str], str], changed: list[int]) -> Any:
    if isinstance(value, str):
        result = clean(value)
        changed[0] += result != value
        return result
    if isinstance(value, list):
        return [_cleaned(item, clean, changed) for item in value]
    if isinstance(value, dict):
        return {key: _cleaned(item, clean, changed) for key, item in value.items()}
    return value
