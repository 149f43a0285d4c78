"""Where a fault in a proposals file is: `proposals.toml, line 7, [[proposal]] 2`, and the sentences that say it.

place = Place(path, text, number=2)
raise place.inside("fuse").fault("chain", "must be a list of patterns")
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from stepprof.analyses.toml_entries import nearest
from stepprof.profiler.errors import InputError


@dataclass(frozen=True)
class Place:
    """A proposal of a file, or an edit inside it (the n-th of its kind)."""

    path: Path
    text: str
    number: int  # of the proposal, from 1
    edit: str = ""
    nth: int = 0
    table: str = ""  # a table inside the edit, such as until

    def inside(self, edit: str, nth: int = 0) -> Place:
        """An edit of the proposal."""
        return replace(self, edit=edit, nth=nth)

    def said(self, key: str = "") -> str:
        """File, line of the key (or of what holds it) and number of the proposal."""
        names = " ".join(part for part in (self.edit, self.table) if part)
        return f"{self.path}{self._line(key)}, [[proposal]] {self.number}{names and f', {names}'}"

    def fault(self, key: str, what: str) -> InputError:
        """The fault of a key's value."""
        return InputError(f'{self.said(key)}: "{key}" {what}.')

    def unknown(self, key: str, known: list[str]) -> InputError:
        """A key that means nothing here."""
        return InputError(f'{self.said(key)}: unknown key "{key}": {nearest(key, known)}.')

    def _line(self, key: str) -> str:
        heads = [head.start() for head in re.finditer(r"^[ \t]*\[\[[ \t]*proposal[ \t]*\]\]", self.text, re.MULTILINE)]
        if self.number > len(heads):
            return ""
        end = heads[self.number] if self.number < len(heads) else len(self.text)
        at = heads[self.number - 1]
        if self.edit:
            at, written = self._found(rf"(?:^|[\s.\[]){self.edit}[ \t]*(?:=|\]\]?)", at, end, self.nth)
            at = self._in_list(at, end) if written <= self.nth else at
        for name in (self.table, key):
            if name:
                at = self._found(rf"(?:^|[\s,{{\[\"'.]){re.escape(name)}[\"']?[ \t]*(?:=|\])", at, end, 0)[0]
        return f", line {self.text.count(chr(10), 0, at) + 1}"

    def _found(self, pattern: str, start: int, end: int, nth: int) -> tuple[int, int]:
        """Where the n-th match ends, else the last one, `start` where there is none; how many there are."""
        ends = [found.end() for found in re.finditer(pattern, self.text[start:end], re.MULTILINE)]
        return (start + ends[min(nth, len(ends) - 1)] if ends else start), len(ends)

    def _in_list(self, start: int, end: int) -> int:
        """Start of the n-th inline table behind `edit = [`."""
        depth, seen = 0, -1
        for found in re.finditer(r""""(?:\\.|[^"\\])*"|'[^']*'|[{}]""", self.text[start:end]):
            seen += found[0] == "{" and depth == 0
            depth += (found[0] == "{") - (found[0] == "}")
            if seen == self.nth:
                return start + found.start()
        return start
