"""What README and docs/*.md point at is there: files, headings, pictures with a description, commands and their options."""

import importlib.util
import re
import shlex
import unicodedata
from functools import cache
from typing import Any

import pytest

from tests.repository import ROOT, files

PAGES = ["README.md", *(path for path in files() if path.startswith("docs/") and path.endswith(".md"))]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
COMMAND = re.compile(r"(?:^|\s|`)stepprof ((?:[^`\n#|]|\\\n)+)")


def links(page: str) -> list[tuple[str, str, str]]:
    """(! where it is a picture, text, target) outside code."""
    text = CODE.sub("", FENCED.sub("", (ROOT / page).read_text()))
    return [(bang, text, target) for bang, text, target in LINK.findall(text) if "://" not in target]


@cache
def anchors(page: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", FENCED.sub("", (ROOT / page).read_text()), re.MULTILINE)
    return {anchor(head) for head in heads}


def anchor(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    kept = "".join(c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN")
    return kept.replace(" ", "-")


@pytest.mark.parametrize(
    ("heading", "told"), [("1. Mark the steps", "1-mark-the-steps"), ("`--by` A, B's", "--by-a-bs"), ("Ab_c", "ab_c")]
)
def test_anchors_are_githubs(heading: str, told: str):
    assert anchor(heading) == told


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str):
    lost: list[str] = []
    for _, _, target in links(page):
        path, _, fragment = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        if not there.exists() or (fragment and fragment not in anchors(there.resolve().relative_to(ROOT).as_posix())):
            lost.append(target)
    assert lost == []


@pytest.mark.parametrize("page", PAGES)
def test_pictures_are_described(page: str):
    assert [target for bang, text, target in links(page) if bang and len(text) < 20] == []


def reference() -> Any:
    """docs/command_reference.py as a module."""
    spec = importlib.util.spec_from_file_location("command_reference", ROOT / "docs/command_reference.py")
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


@cache
def options() -> dict[str, set[str]]:
    """Command -> all its options; those of the model count for all that pass switches on."""
    made = reference()
    found = [*made.of_app(made.app), *made.of_runtime()]
    by_name = {one.words: {word for row in one.options for word in row.name.split()} for one in found}
    for name in by_name:
        if name.split()[1] in made.PASSED_ON:
            by_name[name] |= by_name["stepprof run"] | {"--html", "--bar", "--json", "--out"}
    return {name: taken for name, taken in by_name.items() if taken}  # a group takes none itself


def used(page: str) -> list[tuple[str, list[str]]]:
    """(command, its options) of each call of stepprof in the page."""
    text = (ROOT / page).read_text().replace("\\\n", " ")
    if page == "docs/commands.md":  # its tables are the commands' own help
        text = "\n".join(FENCED.findall(text))
    calls: list[tuple[str, list[str]]] = []
    for found in COMMAND.findall(text):
        try:
            words = shlex.split(found.replace("…", " "))
        except ValueError:
            words = found.split()
        known = [w for w in ("stepprof " + " ".join(words[:2]), "stepprof " + " ".join(words[:1])) if w in options()]
        words = words[: next((i for i, word in enumerate(words) if word.lstrip("[") == "--"), len(words))]
        if known:
            calls.append((known[0], [w.partition("=")[0].rstrip(".,;:)") for w in words if re.match(r"--\w", w)]))
    return calls


@pytest.mark.parametrize("page", PAGES)
def test_options_that_the_docs_use_exist(page: str):
    pytest.importorskip("torch")
    wrong = [(name, word) for name, words in used(page) for word in words if word not in options()[name] | {"--help"}]
    assert wrong == []


def test_calls_are_seen():
    pytest.importorskip("torch")
    assert ("stepprof gate verdict", []) in used("docs/from_server_to_verdict.md")
    assert len(used("docs/from_server_to_verdict.md")) > 20


def test_the_command_reference_is_what_the_commands_say():
    pytest.importorskip("torch")
    page = (ROOT / "docs/commands.md").read_text()
    assert page == reference().reference(page), "run make commands"


def test_every_command_has_an_example():
    sections = reference().SECTION.findall((ROOT / "docs/commands.md").read_text())
    bare = [name for name, body in sections if "```" not in body.partition(reference().END)[2]]
    groups = {name for name, _ in sections if any(other.startswith(f"{name} ") for other, _ in sections)}
    assert sections and [name for name in bare if name not in groups] == []
