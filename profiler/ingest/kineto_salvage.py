"""Chunks of a trace that do not parse: events mended one by one, losses counted.

    mended = mend(chunk, decoder, notes)
    mended.events, mended.rest

Mends what writers of traces are known to get wrong: quotes, backslashes and control
characters in names, NaN and Infinity, foreign encodings, missing or doubled commas,
values of other types. An event that still does not parse is lost and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw

from stepprof.profiler.ingest.kineto_events import BROKEN, MISSING, NO_ARGS, NONE3, Args, Event, EventDecoder
from stepprof.profiler.ingest.kineto_stream import BORDER, KEYS

GROUP = 64  # events decoded together before they are looked at singly
MAX_JOIN = 8  # pieces of one event that was cut at a border inside of it
MAX_MEND = 1 << 20  # bytes of an event that is worth mending
ANYTHING = msgspec.json.Decoder(float_hook=Decimal)

# what follows a list that has ended; a bracket between two events ends nothing
AFTER_LIST = re.compile(rb'\s*(?:,\s*"|[}\[]|\{(?!\s*' + KEYS + rb")|\Z)")
NO_NUMBER = re.compile(rb"([:\[,]\s*)[-+]?(?:NaN|nan|Infinity|inf)(?=\s*[,}\]])")
ESCAPE = re.compile(rb'\\(u[0-9a-fA-F]{4}|["\\/bfnrt]|)')
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
BETWEEN = re.compile(rb'\}\s{0,8},?\s{0,8}\]?\s{0,8},?\s{0,8}\{(?=\s{0,8}")')
QUOTE = re.compile(rb'(?<!\\)"')
AFTER_KEY = re.compile(rb"\s{0,64}:")
AFTER_VALUE = re.compile(rb'\s{0,64}(?:,\s{0,64}"[^"]{1,64}"\s{0,64}:|[}\]]\s{0,64}(?:[,}\]]|\Z))')
CONTROL = bytes(32 if code < 32 else code for code in range(256))


@dataclass
class Mended:
    """Events of a chunk; `rest` is text after the list (`closed`) or of an unfinished event."""

    events: list[Event] = field(default_factory=list[Event])
    rest: bytes = b""
    closed: bool = False


def list_end(text: bytes, fault: BaseException) -> int | None:
    """Where the list of events ended, if that is what the fault says; `text` has one bracket added at its end."""
    end = document_end(text, fault)
    if end is None:
        return None
    end = text.rfind(b"]", 0, end) + 1
    return end if AFTER_LIST.match(text, end, len(text) - 1) else None


def document_end(text: bytes, fault: BaseException) -> int | None:
    """Where other text follows a whole document, if that is what the fault says."""
    found = re.search(r"trailing characters \(byte (\d+)\)", str(fault))
    return min(int(found[1]) - 1, len(text)) if found else None


def mend(chunk: bytes, decoder: EventDecoder, notes: Counter[str]) -> Mended:
    """Whatever a broken chunk still says."""
    pieces = [*_pieces(chunk)]
    mended = Mended()
    at = 0
    while at < len(pieces) and not mended.closed:
        group = pieces[at : at + GROUP]
        try:
            mended.events += decoder.decode(b"[" + b",".join(group) + b"]")
            at += GROUP
        except BROKEN:
            at = _mend_group(pieces, at, mended, notes)
    return mended


def _pieces(chunk: bytes) -> Iterator[bytes]:
    at = 0
    for border in BORDER.finditer(chunk):
        yield chunk[at : border.start() + 1]
        at = border.end()
    yield chunk[at:].rstrip(b", \r\n\t")


def _mend_group(pieces: list[bytes], at: int, mended: Mended, notes: Counter[str]) -> int:
    """Mend the events of one group; where to go on."""
    stop = min(at + GROUP, len(pieces))
    while at < stop and not mended.closed:
        at += _mend_piece(pieces, at, mended, notes)
    if mended.closed:
        mended.rest = b",".join([mended.rest, *pieces[at:]])
    return at


def _mend_piece(pieces: list[bytes], at: int, mended: Mended, notes: Counter[str]) -> int:
    """Mend one piece, joined with the next ones where it was cut inside an event; how many were used."""
    piece = pieces[at]
    if _accept(piece, mended, notes):
        return 1
    for size in range(2, MAX_JOIN + 1) if _unfinished(piece) else ():
        joined = b",".join(pieces[at : at + size])
        if at + size <= len(pieces) and len(joined) < MAX_MEND and _accept(joined, mended, notes):
            return size
    for repair in (clean, _requote):
        if len(piece) < MAX_MEND and _accept(repair(piece), mended, notes):
            notes["event_repaired"] += 1
            return 1
    if at + 1 == len(pieces):
        mended.rest = piece
    else:
        notes["event_lost"] += 1
    return 1


def _unfinished(piece: bytes) -> bool:
    try:
        ANYTHING.decode(b"[" + piece)
    except BROKEN as fault:
        return "truncated" in str(fault)
    return False


def _accept(piece: bytes, mended: Mended, notes: Counter[str]) -> bool:
    """Take the events of a piece that parses; false where it does not."""
    text = b"[" + piece + b"]"
    try:
        items = ANYTHING.decode(text)
    except BROKEN as fault:
        end = list_end(text, fault)
        if end is None:
            return False
        items = ANYTHING.decode(text[:end])
        mended.rest, mended.closed = text[end:-1], True
    events = [item for item in items if isinstance(item, dict)]
    notes["not_an_event"] += len(items) - len(events)
    mended.events += map(_lenient, events)
    return True


def clean(piece: bytes) -> bytes:
    """Encoding, control characters, escapes and numbers as JSON wants them."""
    text = piece.decode("utf-8", "replace").encode().translate(CONTROL)
    text = ESCAPE.sub(lambda found: found[0] if found[1] else b"\\\\", text)
    return NO_NUMBER.sub(rb"\1null", SURROGATE.sub(rb"\\ufffd", text))


def _requote(piece: bytes) -> bytes:
    """Quotes inside of texts escaped, commas and brackets between events mended."""
    text = clean(piece)
    at, parts = 0, list[bytes]()
    for inner in _inner_quotes(text):
        parts += [text[at:inner], b"\\"]
        at = inner
    text = b"".join([*parts, text[at:]])
    text = BETWEEN.sub(b"},{", text)
    return re.sub(rb",\s*(?=[,\]]|\Z)", b"", text)


def _inner_quotes(text: bytes) -> Iterator[int]:
    """Quotes that neither open nor close a text, judged by what follows them."""
    closed_by = None
    for quote in QUOTE.finditer(text):
        if closed_by is None:
            value = text[max(quote.start() - 64, 0) : quote.start()].rstrip().endswith((b":", b"["))
            closed_by = AFTER_VALUE if value else AFTER_KEY
        elif closed_by.match(text, quote.end()):
            closed_by = None
        else:
            yield quote.start()


def _lenient(item: dict[str, Any]) -> Event:
    """An event from values of any type."""
    args = item.get("args")
    return Event(
        ph=_text(item.get("ph")),
        cat=_text(item.get("cat")),
        name=_text(item.get("name")),
        pid=_identity(item.get("pid")),
        tid=_identity(item.get("tid")),
        ts=Raw(str(item.get("ts")).encode()),
        dur=Raw(str(item.get("dur")).encode()),
        args=_args(args) if isinstance(args, dict) else NO_ARGS,
    )


def _args(values: dict[str, Any]) -> Args:
    return Args(**{name: take(values.get(key)) for name, key, take in FIELDS})


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _identity(value: Any) -> int | str:
    return value if isinstance(value, (int, str)) else MISSING


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, ArithmeticError):
        return MISSING


def _shape(value: Any) -> tuple[int, int, int]:
    sizes = [_number(part) for part in value] if isinstance(value, list) else []
    return (sizes[0], sizes[1], sizes[2]) if len(sizes) == 3 else NONE3


FIELDS: list[tuple[str, str, Callable[[Any], Any]]] = [
    (f.name, f.encode_name, _shape if f.default is NONE3 else _number) for f in msgspec.structs.fields(Args)
]
