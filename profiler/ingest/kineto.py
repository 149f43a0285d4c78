"""A Kineto JSON trace (torch.profiler, vLLM, SGLang, TensorRT-LLM) -> the rows of a run file.

    load_kineto(path, store)

The file is read as a stream: blocks of text, chunks of whole events, typed structs,
Arrow batches. Times stay as recorded, relative to the base time, which becomes the
epoch of the clock. Left out: operators (cpu_op; but see kineto_stand_in), Python calls, flows (the correlation
id joins calls and ops), GPU copies of annotations (they are not work).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from stepprof.profiler.ingest.kineto_bytes import utf8_blocks
from stepprof.profiler.ingest.kineto_events import BROKEN, Event, EventDecoder
from stepprof.profiler.ingest.kineto_finish import finish
from stepprof.profiler.ingest.kineto_rows import Rows
from stepprof.profiler.ingest.kineto_salvage import Mended, list_end, mend
from stepprof.profiler.ingest.kineto_stand_in import make_room, stand_in
from stepprof.profiler.ingest.kineto_stream import Frames
from stepprof.profiler.store import Store

SWITCH_S = 0.0005  # a tenth of Python's own; 15 % off the import of a million kernels on two cores


def load_kineto(path: Path, store: Store, cpu_stand_in: bool = False) -> None:
    """Fill `store` from a plain or gzip trace; InputError where the file holds no events at all.

    `cpu_stand_in` makes ops of the CPU's operators where there are no GPU ops, with a warning.
    """
    notes: Counter[str] = Counter()
    frames = Frames(utf8_blocks(path, notes), path, notes)
    if cpu_stand_in:
        make_room(store)
    with _quick_switches(), Rows(store, notes, cpu_ops=cpu_stand_in) as rows:
        for events in read_events(frames, notes):
            rows.add(events)
    if cpu_stand_in:
        stand_in(store)
    finish(path, store, frames, rows, notes)


@contextmanager
def _quick_switches() -> Generator[None]:
    """Let the unpacking and loading threads have the interpreter sooner: they need it briefly, between long calls."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def read_events(frames: Frames, notes: Counter[str]) -> Iterator[list[Event]]:
    """All events of a document in order, some hundred at a time."""
    decoder = EventDecoder()
    for text in frames:
        read = _read_list(text, decoder, notes)
        notes["events"] += len(read.events)
        yield read.events
        if read.closed:
            frames.close(read.rest)
        elif read.rest and not frames.last:
            frames.give_back(read.rest)
    if not frames.closed:
        notes["truncated"] += 1


def _read_list(text: bytes, decoder: EventDecoder, notes: Counter[str]) -> Mended:
    try:
        return Mended(decoder.decode(text))
    except BROKEN as fault:
        end = list_end(text, fault)
    if end is not None:
        return Mended(decoder.decode(text[:end]), text[end:-1], closed=True)
    return mend(text[1:-1], decoder, notes)
