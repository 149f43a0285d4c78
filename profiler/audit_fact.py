"""One fact of the audit: what was found, where, and what it means; or why it could not be seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fact:
    """One thing found out; `gpu` is its PCI address or number where it concerns one."""

    name: str
    value: str | None
    source: str
    meaning: str
    gpu: str | None = None


def fact_of(name: str, source: str, meaning: str, read: Callable[[], str], gpu: str | None = None) -> Fact:
    """A fact whose reading may fail; the reason takes the place of its meaning."""
    try:
        return Fact(name, read(), source, meaning, gpu)
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
        return Fact(name, None, source, f"could not be seen: {reason}", gpu)
