"""docs/limits.md names every refusal of the code, and no other: its sentences are held against the source.

`…` stands for what differs from case to case.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.repository import ROOT, files

PAGE = (ROOT / "docs/limits.md").read_text()
TOLD = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
SOURCES = [path for path in files() if path.endswith(".py") and path.split("/")[0] in ("analyses", "profiler")]


def text_of(node: ast.AST) -> str | None:
    """A string with … for its values; None for what is no string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join((text_of(part) or "…") if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def strings() -> Iterator[str]:
    for path in SOURCES:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.Constant | ast.JoinedStr) and (text := text_of(node)):
                yield text


def refusals() -> Iterator[str]:
    """Sentences given to Refused where it is raised."""
    for path in SOURCES:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            text = text_of(node.args[0])
            if node.func.id == "Refused" and text:
                yield text


WRITTEN = "\n".join(strings())


def pattern(sentence: str) -> str:
    return ".*".join(re.escape(part.strip()) for part in sentence.split("…"))


@pytest.mark.parametrize("sentence", TOLD)
def test_the_sentence_is_in_the_code(sentence: str):
    assert re.search(pattern(sentence), WRITTEN), "no string of the code says this"


def test_every_refusal_is_told():
    told = [pattern(sentence) for sentence in TOLD]
    assert [text for text in refusals() if not any(re.search(one, text) for one in told)] == []


def test_there_are_refusals():
    assert len(set(refusals())) > 20
