"""Proposals of a TOML file, read and checked: `read_proposals(Path("proposals.toml"))`.

    [[proposal]]
    name = "norms in one op"
    predicted = -0.36                       # a human's estimate, ms a step
    gate = "<= -0.10 ms"                    # written down before the measurement
    fuse = { role = "norm", layer = "2-19" }

Edits are keys of a proposal, in the order in which they are made; several of one kind are a list. In each
table stand conditions (role, kind, layer, phase, name, device, label: all must hold) and the edit's own keys.
Faults are InputError with file, line, what exists and the nearest name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from stepprof.analyses.toml_entries import nearest
from stepprof.analyses.whatif.proposal_edits import EDITS
from stepprof.analyses.whatif.proposal_lines import Place
from stepprof.analyses.whatif.proposal_model import Edit, Gate, Proposal
from stepprof.analyses.whatif.proposal_values import flag, is_number, text
from stepprof.profiler.errors import InputError

GATE = re.compile(r"(<=|>=)\s*([+-]?\d+(?:\.\d+)?)\s*ms")
KEYS = ("name", "predicted", "gate", "optional")


def read_proposals(path: Path) -> tuple[Proposal, ...]:
    """Every proposal of the file, in its order."""
    content, document = _document(path)
    entries = document.pop("proposal", None)
    for key in document:
        raise InputError(f'{path}: unknown key "{key}": {nearest(key, ["[[proposal]]"])}.')
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: holds no [[proposal]]: write one for each change, with two brackets.")
    made = [_proposal(Place(path, content, n), entry) for n, entry in enumerate(cast(list[Any], entries), 1)]
    names = [proposal.name for proposal in made]
    for n, name in enumerate(names, 1):
        if name in names[: n - 1]:
            raise Place(path, content, n).fault("name", f'"{name}" is used twice: give each proposal its own')
    return tuple(made)


def _document(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        content = path.read_text(encoding="utf-8")
        return content, tomllib.loads(content)
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): name a TOML file of proposals.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: name a TOML file of proposals.") from None
    except tomllib.TOMLDecodeError as fault:
        raise InputError(f"{path} is not valid TOML: {fault}: correct that line.") from None


def _proposal(place: Place, entry: Any) -> Proposal:
    if not isinstance(entry, dict):
        raise InputError(f"{place.said()} is not a table: write [[proposal]] and its keys below it.")
    found = cast(dict[str, Any], entry)
    for key in found:
        if key not in KEYS and key not in EDITS:
            raise place.unknown(key, [*KEYS, *EDITS])
    if "name" not in found:
        raise place.fault("name", "is missing: give the proposal a name")
    edits = [pair for key in found if key in EDITS for pair in _edits(place, key, found[key])]
    if not edits:
        raise InputError(f"{place.said()}: changes nothing: write one of {', '.join(EDITS)}.")
    return Proposal(
        name=text(place, "name", found["name"]),
        edits=tuple(edit for edit, _ in edits),
        predicted_ms=_predicted(place, found.get("predicted")),
        gate=_gate(place, found.get("gate")),
        optional=flag(place, "optional", found.get("optional", False)),
        where=tuple(where for _, where in edits),
    )


def _edits(place: Place, kind: str, value: Any) -> list[tuple[Edit, str]]:
    """One edit, or each of a list, and where it is written."""
    tables = cast(list[Any], value) if isinstance(value, list) else [value]
    made: list[tuple[Edit, str]] = []
    for nth, table in enumerate(tables):
        inner = place.inside(kind, nth)
        if not isinstance(table, dict):
            raise InputError(f"{inner.said()}: must be a table: {kind} = {{ role = … }}.")
        build: Callable[[Place, Mapping[str, Any]], Edit] = EDITS[kind]
        made.append((build(inner, cast(dict[str, Any], table)), inner.said()))
    return made


def _predicted(place: Place, value: Any) -> float | None:
    if value is not None and not is_number(value):
        raise place.fault("predicted", "must be a number: ms a step, below 0 for a shorter one")
    return None if value is None else float(value)


def _gate(place: Place, value: Any) -> Gate | None:
    if value is None:
        return None
    found = GATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        raise place.fault("gate", 'must be a bar like "<= -0.10 ms"')
    return Gate(cast(Any, found[1]), float(found[2]))
