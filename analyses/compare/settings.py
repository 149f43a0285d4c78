"""The settings a launch ran under, and those in which two arms differ.

    differences([launch.settings for launch in control], [launch.settings for launch in candidate])

Settings come from the manifest of a run (command, versions, hashes of scripts and of allowed environment
variables, host facts) and from the options of a `stepprof run` document. What differs from launch to
launch by nature (ids, clocks, step times) is no setting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepprof.profiler.store import Store

ABOUT_THE_RUN = {"arm", "launch", "run", "exit_code", "sm_clock_mhz", "power_w", "step_measure"}
NO_SETTINGS = ABOUT_THE_RUN | {"cupti_overhead_ns", "dropped_records"}  # the last two: what came of recording
NO_SETTINGS_LIKE = ("tracing_inflation", "inflation", "control", "traced_step")
MOMENTARY = {"pcie_generation", "pcie_link", "sm_clock", "memory_clock", "power_cap"}  # read off, with what is now
UNSET = "(unset)"


@dataclass(frozen=True)
class Difference:
    """One setting with the values it has in either arm; `within` where launches of one arm differ."""

    setting: str
    control: list[str]
    candidate: list[str]

    @property
    def within(self) -> bool:
        """Launches of one arm do not agree."""
        return len(self.control) > 1 or len(self.candidate) > 1


def differences(control: Sequence[Mapping[str, str]], candidate: Sequence[Mapping[str, str]]) -> list[Difference]:
    """All settings that are not the same in every launch, by name."""
    names = sorted({name for settings in (*control, *candidate) for name in settings})
    both = [Difference(name, _values(control, name), _values(candidate, name)) for name in names]
    return [one for one in both if one.within or one.control != one.candidate]


def manifest_settings(entries: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Entries of a manifest; hashed variables as env:NAME, hashed files as file:NAME, host facts as host:NAME."""
    found: dict[str, str] = {}
    for key, value in entries:
        if key == "environment":
            found |= {f"env:{name}": hashed for name, hashed in _table(value).items()}
        elif key == "file_hashes":
            found |= {f"file:{name}": hashed for name, hashed in _table(value).items()}
        elif key == "audit":
            found |= _host(value)
        elif key not in NO_SETTINGS and not key.startswith(NO_SETTINGS_LIKE):
            found[key] = value
    return found


def run_settings(store: Store) -> dict[str, str]:
    """Settings of a recorded run."""
    return manifest_settings(store.rows("SELECT key, value FROM manifest WHERE value IS NOT NULL"))


def document_settings(document: Mapping[str, Any]) -> dict[str, str]:
    """Preset and options of a `stepprof run` document."""
    options = document.get("options")
    found = {f"options.{name}": _text(value) for name, value in options.items()} if isinstance(options, dict) else {}
    return found | {name: _text(document[name]) for name in ("preset",) if name in document}


def _values(launches: Sequence[Mapping[str, str]], name: str) -> list[str]:
    return sorted({settings.get(name, UNSET) for settings in launches})


def _table(text: str) -> dict[str, str]:
    """A JSON object of texts; nothing where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return {str(key): _text(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _host(text: str) -> dict[str, str]:
    """Facts of an audit, but readings of the moment."""
    try:
        facts = json.loads(text)["facts"]
        return {f"host:{_fact_name(f)}": _text(f["value"]) for f in facts if f["name"] not in MOMENTARY}
    except (ValueError, KeyError, TypeError):
        return {}


def _fact_name(fact: dict[str, Any]) -> str:
    return f"{fact['name']}[{fact['gpu']}]" if fact.get("gpu") else str(fact["name"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
