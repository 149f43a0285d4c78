"""The edits of a proposals file: which keys each takes, and the dataclass made of them.

`EDITS["scale"](place, {"device": 1, "factor": 0})` gives a Scale or raises the first fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stepprof.analyses.whatif.measured_times import Wanted, replacement
from stepprof.analyses.whatif.model_edits import SIDECAR
from stepprof.analyses.whatif.proposal_lines import Place
from stepprof.analyses.whatif.proposal_model import (
    Add,
    Break,
    Draft,
    Edit,
    Fuse,
    Given,
    Move,
    Overlap,
    Remove,
    Scale,
    Select,
    Serialize,
    Share,
    Split,
)
from stepprof.analyses.whatif.proposal_model import Place as PlaceExperts
from stepprof.analyses.whatif.proposal_values import (
    SELECT,
    Read,
    flag,
    number,
    numbers,
    patterns,
    select,
    text,
    whole,
    word,
)

US, FACTOR, SPEED = number(0), number(0), number(0, above=True)
BENCH: dict[str, Read] = {"from": text, "result": text, "mode": text, "rows": whole(0), "against": text}
Found = dict[str, Any]


def _read(place: Place, table: Mapping[str, Any], own: Mapping[str, Read], needed: tuple[str, ...] = ()) -> Found:
    """The checked values of a table; `select` holds its conditions."""
    conditions = {key: value for key, value in table.items() if key in SELECT and key not in own}
    for key in table:
        if key not in own and key not in SELECT:
            raise place.unknown(key, [*own, *SELECT])
    for key in needed:
        if key not in table:
            raise place.fault(key, "is missing: add it")
    found = {key: read(place, key, table[key]) for key, read in own.items() if key in table}
    return {"select": Select(**{key: SELECT[key](place, key, value) for key, value in conditions.items()}), **found}


def _chosen(place: Place, found: Found) -> Select:
    """The conditions; at least one, so that no edit takes the whole step by oversight."""
    if found["select"].empty:
        raise place.fault("role", f"or another condition is missing ({', '.join(SELECT)})")
    return found["select"]


def _measured(place: Place, found: Found) -> Given | None:
    """What a bench file says, where one is named."""
    asked = {key: found[key] for key in BENCH if key in found and key != "from"}
    if "from" not in found:
        for key in asked:
            raise place.fault(key, 'belongs to from = "bench.json": add it')
        return None
    return replacement(place.path.parent / found["from"], Wanted(**asked))


def _one_of(place: Place, found: Found, keys: tuple[str, ...]) -> None:
    given = [key for key in keys if key in found]
    if len(given) != 1:
        raise place.fault(keys[0], f"and {', '.join(keys[1:])} exclude each other: give exactly one of them")


def _remove(place: Place, table: Mapping[str, Any]) -> Remove:
    return Remove(_chosen(place, _read(place, table, {})))


def _scale(place: Place, table: Mapping[str, Any]) -> Scale:
    own = {"factor": FACTOR, "to_us": US, "to": word("floor"), "bytes": SPEED, "bandwidth_gb_s": SPEED, **BENCH}
    found = _read(place, table, own)
    _one_of(place, found, ("factor", "to_us", "to", "from"))
    for key in ("bytes", "bandwidth_gb_s"):
        if key in found and "to" not in found:
            raise place.fault(key, 'belongs to to = "floor": add it')
    measured = _measured(place, found)
    ratio = measured if "against" in found else None
    return Scale(
        _chosen(place, found),
        factor=found.get("factor") or ratio,
        to_us=found.get("to_us") or (None if ratio else measured),
        floor="to" in found,
        traffic_bytes=found.get("bytes"),
        bandwidth_gb_s=found.get("bandwidth_gb_s"),
    )


def _fuse(place: Place, table: Mapping[str, Any]) -> Fuse:
    own = {"chain": patterns, "within_layer": flag, "to_us": US, "bandwidth_gb_s": SPEED, **BENCH}
    found = _read(place, table, own)
    if "to_us" in found and "from" in found:
        raise place.fault("to_us", "and from exclude each other: give one of them")
    if "against" in found:
        raise place.fault("against", "means a ratio, which scale takes: a fused op has a time of its own")
    where = found["select"] if "chain" in found else _chosen(place, found)
    time = found.get("to_us") or _measured(place, found)
    return Fuse(where, found.get("chain", ()), found.get("within_layer", False), time, found.get("bandwidth_gb_s"))


def _split(place: Place, table: Mapping[str, Any]) -> Split:
    found = _read(place, table, {"parts": whole(2)}, ("parts",))
    return Split(_chosen(place, found), found["parts"])


def _break(place: Place, table: Mapping[str, Any]) -> Break:
    found = _read(place, table, {"us": US})
    return Break(_chosen(place, found), found.get("us"))


def _move(place: Place, table: Mapping[str, Any]) -> Move:
    own = {"until": select, "to_device": whole(0), "factor": FACTOR, "signal_us": US}
    found = _read(place, table, own, ("until",))
    more = (found.get(key) for key in ("to_device", "factor", "signal_us"))
    return Move(_chosen(place, found), found["until"], *more)


def _overlap(place: Place, table: Mapping[str, Any]) -> Overlap:
    found = _read(place, table, {"beside": select}, ("beside",))
    return Overlap(_chosen(place, found), found["beside"])


def _serialize(place: Place, table: Mapping[str, Any]) -> Serialize:
    found = _read(place, table, {"after": select})
    return Serialize(_chosen(place, found), found.get("after"))


def _share(place: Place, table: Mapping[str, Any]) -> Share:
    found = _read(place, table, {"source_layers": numbers}, ("source_layers",))
    return Share(_chosen(place, found), found["source_layers"])


def _place(place: Place, table: Mapping[str, Any]) -> PlaceExperts:
    found = _read(place, table, {"fraction": number(0), "layers": numbers, "main_us": US})
    _one_of(place, found, ("fraction", "layers"))
    share = found.get("fraction")
    if share is not None and share.high > 1:
        raise place.fault("fraction", "must be from 0 to 1")
    where = SIDECAR if found["select"].empty else found["select"]
    return PlaceExperts(where, share, found.get("layers", ()), found.get("main_us"))


def _draft(place: Place, table: Mapping[str, Any]) -> Draft:
    found = _read(place, table, {"k": whole(0), "row_ms": number()}, ("k",))
    if not found["select"].empty:
        raise place.fault("k", "takes no conditions beside it: the draft ops are found by their labels")
    return Draft(found["k"], found.get("row_ms"))


def _add(place: Place, table: Mapping[str, Any]) -> Add:
    own = {"us": US, "at": word("after", "before"), "each": word("run", "op"), **BENCH}
    found = _read(place, table, own)
    _one_of(place, found, ("us", "from"))
    time = found.get("us") or _measured(place, found)
    if time is None or "against" in found:
        raise place.fault("against", "means a ratio, which scale takes: an added op has a time of its own")
    return Add(_chosen(place, found), time, found.get("at", "after"), found.get("each", "run"))


EDITS: dict[str, Callable[[Place, Mapping[str, Any]], Edit]] = {
    "remove": _remove,
    "scale": _scale,
    "fuse": _fuse,
    "split": _split,
    "break": _break,
    "move": _move,
    "overlap": _overlap,
    "serialize": _serialize,
    "share": _share,
    "place": _place,
    "draft": _draft,
    "add": _add,
}
