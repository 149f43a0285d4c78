"""Op names in a form that is the same in every profiler's spelling.

    comparable_name("void f<(int)128, (bool)1>(T1 *)")        # nsys
    comparable_name("void f<128, true>(float*)")              # Kineto: the same, "f<128,1>"

nsys writes literals with a cast and parameters by number, Kineto writes them out, counts
lambdas otherwise and leaves names of more than 1,024 characters mangled. Parameters,
`const`, `void`, return types and spaces tell no two kernels apart and are dropped.
`tokens` numbers the names of several traces together; there a mangled name is met by its
identifiers alone, since types and literals of a mangled name are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepprof.analyses.names import LONGEST, readable

_COPY = re.compile(r"\[CUDA memcpy (?:Unified )?(\w)\w*-to-(\w)\w*\]|Memcpy (\w)to(\w)\b")
_SPELLINGS = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (r"<unnamed>|\(anonymous namespace\)|\{anonymous\}", "anonymous"),
        (r"operator ?\(\)", "operator"),
        (r" ?\(instance (\d+)\)", r"#\1"),
    )
)
_LITERALS = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (r"\b\w+ (?=[A-Za-z_]\w*::)", ""),  # what a function among the template arguments returns
        (r"\b(\d+)[ul]{1,3}\b", r"\1"),
        (r"\btrue\b", "1"),
        (r"\bfalse\b", "0"),
        (r"\b(?:const|void)\b|[\s\[\]{}]", ""),
    )
)
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_NOT_TELLING = re.compile(
    r"T\d+|anonymous|namespace|unnamed|operator|lambda|instance|std|const|void|bool|char|short|int|long|unsigned|signed"
    r"|float|double|true|false|E"  # E: the end of a literal in a mangled name, read as a length
)


def comparable_name(name: str) -> str:
    """The name without what profilers spell differently; a mangled name stays as it is."""
    text = name[:LONGEST]
    if found := _COPY.match(text):
        return f"memcpy {found[1] or found[3]}to{found[2] or found[4]}"
    if text.startswith(("[CUDA memset]", "Memset (")):
        return "memset"
    text = _without_parameters(_replaced(text, _SPELLINGS))
    return _replaced(text, _LITERALS)


def outline(name: str) -> tuple[str, ...]:
    """The identifiers of a name, mangled or not, each once, in the order of their first use."""
    words = _WORD.findall(readable(name[:LONGEST]))
    return tuple(dict.fromkeys(word for word in words if not _NOT_TELLING.fullmatch(word)))


def tokens(names: Sequence[str]) -> list[int]:
    """A number for each name, equal where two profilers mean the same kernel."""
    mangled = {outline(name) for name in names if name.startswith("_Z")}
    outlines = [outline(name) if mangled else () for name in names]
    forms = [o if o in mangled else comparable_name(n) for n, o in zip(names, outlines, strict=True)]
    number: dict[str | tuple[str, ...], int] = {}
    return [number.setdefault(form, len(number)) for form in forms]


def _without_parameters(text: str) -> str:
    """The text outside of all round brackets."""
    kept: list[str] = []
    depth = 0
    for part in re.split(r"([()])", text):
        if part == "(":
            depth += 1
        elif part == ")":
            depth = max(depth - 1, 0)
        elif depth == 0:
            kept.append(part)
    return "".join(kept)


def _replaced(text: str, pairs: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, form in pairs:
        text = pattern.sub(form, text)
    return text
