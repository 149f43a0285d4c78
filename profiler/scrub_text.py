"""Texts of a trace without what tells of secrets, users and machines; the same text always becomes the same.

clean = TextCleaner()
clean.learn(["/home/alice/a.py"])
clean("alice's step/3")       # "<name>'s step/3"
clean.told                    # what a user is told of it
"""

from __future__ import annotations

from collections.abc import Iterable

from stepprof.profiler.place_text import names_in, telling, without_names, without_places
from stepprof.profiler.secret_text import without_secrets


def clean_text(text: str) -> str:
    """A name without paths, addresses, ids and secrets."""
    return without_places(without_secrets(text, "<secret>"))


class TextCleaner:
    """Cleans texts, takes out names it has learned, and counts the texts that changed."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._without_names = without_names([])
        self._known: dict[str, str] = {}

    def learn(self, texts: Iterable[str | None], names: Iterable[str | None] = ()) -> None:
        """Users and machines that the texts name, and names that are known to be such."""
        self._names |= {name for text in set(texts) if text for name in names_in(text)}
        self._names |= {name for name in names if name and telling(name)}
        self._without_names = without_names(self._names)

    def __call__(self, text: str) -> str:
        if text not in self._known:
            self._known[text] = self._without_names(clean_text(text))
        return self._known[text]

    @property
    def told(self) -> list[str]:
        """What was cleaned, in words."""
        changed = sum(text != result for text, result in self._known.items())
        return [f"paths, names, addresses, ids or secrets in {changed} texts"] if changed else []
