"""Suggestions written as proposals come back as the same proposals, whatever kernels are called."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest

from stepprof.analyses.vocabulary import PHASES
from stepprof.analyses.whatif.answer import Settings, evaluate
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.proposals import read_proposals
from stepprof.analyses.whatif.suggest import Suggested, suggest
from stepprof.analyses.whatif.suggest_toml import quoted, suggestions_toml
from tests.analyses.whatif.test_repeating_chains import layers
from tests.analyses.whatif.test_suggest import COST

HOSTILE = "void k<'a', \"b\">\n\x7f\\d+(int*) ]]\u202e"


def test_what_is_suggested_is_taken_back_and_says_the_same(tmp_path: Path):
    graph = layers(["attention", "norm", "elementwise", "quant", "attention", "topk", "copy"])
    verify = dataclasses.replace(graph.nodes, phase=graph.nodes.phase * 0 + PHASES.index("verify"))
    names = [HOSTILE if name == "norm.1" else name for name in verify.name]
    graph = dataclasses.replace(graph, nodes=dataclasses.replace(verify, name=names), source="a\nb = 1")
    settings = Settings(Assumptions(COST))
    found = suggest(graph, settings)
    path = tmp_path / "suggested.toml"
    path.write_text(suggestions_toml(found), encoding="utf-8")

    proposals = read_proposals(path)

    assert [(one.name, one.edits) for one in proposals] == [
        (row.proposal.name, row.proposal.edits) for row in found.rows
    ]
    again = evaluate(graph, proposals, settings)
    assert [answer.alone.delta_ms for answer in again.proposals] == [row.answer.alone.delta_ms for row in found.rows]


def test_nothing_to_suggest_is_a_file_without_proposals():
    assert tomllib.loads(suggestions_toml(Suggested([], None))) == {}


@pytest.mark.parametrize("text", ["plain", "it's", HOSTILE, "\x00\x1f", "😀\u2028", "\U000e0001", "a\\.b$"])
def test_any_text_comes_back(text: str):
    assert tomllib.loads(f"x = {quoted(text)}") == {"x": text}
    assert quoted(text).isprintable()
