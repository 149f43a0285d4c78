"""Suggested fusions as a proposals file: `stepprof whatif TRACE FILE.toml` takes it back as it is.

    text = suggestions_toml(found)

Names of kernels come from the trace: they are quoted so that TOML reads back the very same patterns.
"""

from __future__ import annotations

import json

from stepprof.analyses.whatif.proposal_model import Fuse, Select
from stepprof.analyses.whatif.suggest import Suggested, Suggestion


def suggestions_toml(found: Suggested) -> str:
    """One [[proposal]] a row, with its figures as a comment; a comment alone where there is nothing to suggest."""
    source = "" if found.whatif is None else f" of {_line(found.whatif.source)}"
    head = f"# Fusions that stepprof whatif --suggest found in the trace{source}; savings are modelled\n"
    return "\n".join([head, *(_proposal(row) for row in found.rows)])


def _proposal(row: Suggestion) -> str:
    (edit,) = row.proposal.edits
    assert isinstance(edit, Fuse), f"{edit=}"
    chain = "".join(f"    {quoted(pattern)},\n" for pattern in edit.chain)
    lines = [
        "[[proposal]]",
        f"# {_figures(row)}",
        f"name = {quoted(row.proposal.name)}",
        "",
        "[proposal.fuse]",
        *_conditions(edit.select),
        f"chain = [\n{chain}]\n",
    ]
    return "\n".join(lines)


def _figures(row: Suggestion) -> str:
    delta = row.answer.alone.delta_ms
    assert delta.value is not None and delta.low is not None and delta.high is not None, f"{delta=}"
    return (
        f"{delta.value:+.4f} ms a step ({delta.low:+.4f} to {delta.high:+.4f}), "
        f"{len(row.chain.at)} places, {row.chain.saved_ops} ops less"
    )


def _conditions(select: Select) -> list[str]:
    phase = [f"phase = {quoted(select.phase[0])}"] if select.phase else []
    return [*phase, f"device = {select.device[0]}"]


def quoted(text: str) -> str:
    """A TOML string: literal where it can be, so that patterns stay readable; else with escapes for what drives terminals."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return "".join(c if c.isprintable() else _escape(c) for c in json.dumps(text, ensure_ascii=False))


def _escape(c: str) -> str:
    return f"\\u{ord(c):04x}" if ord(c) <= 0xFFFF else f"\\U{ord(c):08x}"


def _line(text: str) -> str:
    return "".join(c for c in text if c.isprintable())
