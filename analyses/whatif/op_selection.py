"""Which nodes of a step graph a proposal selects, and what exists where it selects nothing.

matching(graph.nodes, Select(role=("norm",), layer=(2, 3)))      # [nodes] bool, never host time
nothing_matches(graph.nodes, select)                             # a sentence's end: what there is instead
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from stepprof.analyses.graph.step_graph import Nodes
from stepprof.analyses.ops import UNKNOWN, Bools
from stepprof.analyses.toml_entries import nearest
from stepprof.analyses.vocabulary import KINDS, PHASES, ROLES
from stepprof.analyses.whatif.proposal_model import Select

WORDS = {"role": ROLES, "kind": KINDS, "phase": PHASES}
NUMBERS = ("layer", "device")
SHOWN = 12  # of the names that exist


def matching(nodes: Nodes, select: Select) -> Bools:
    """Ops that meet every condition, [nodes]."""
    which = ~nodes.host
    for key, words in WORDS.items():
        if wanted := getattr(select, key):
            which = which & np.isin(getattr(nodes, key), [words.index(word) for word in wanted])
    for key in NUMBERS:
        if wanted := getattr(select, key):
            which = which & np.isin(getattr(nodes, key), wanted)
    if select.name is not None:
        which = which & _each(nodes.name, re.compile(select.name))
    if select.label is not None:
        which = which & _each(paths(nodes), re.compile(select.label))
    return which


def paths(nodes: Nodes) -> list[str]:
    """The range path of each node as one text, `layer/3/norm` or `a/b/c`."""
    return ["/".join(label) for label in nodes.label]


def _each(texts: Sequence[str], pattern: re.Pattern[str]) -> Bools:
    """Whether the pattern is found in each text; every distinct text is searched once."""
    found = {text: pattern.search(text) is not None for text in set(texts)}
    return np.array([found[text] for text in texts], dtype=bool)


def nothing_matches(nodes: Nodes, select: Select) -> str:
    """Which conditions match nothing and what exists instead; empty where ops match."""
    alone: list[str] = []
    for key in ("role", "kind", "layer", "phase", "name", "device", "label"):
        value = getattr(select, key)
        if value and not matching(nodes, Select(**{key: value})).any():
            said = value if isinstance(value, str) else ", ".join(map(str, value))
            alone.append(f'no op has {key} "{said}": {_exists(nodes, key, said)}')
    if alone or matching(nodes, select).any():
        return "; ".join(alone)
    return "each condition alone matches, but no op meets all of them"


def _exists(nodes: Nodes, key: str, said: str) -> str:
    """Names of this key that the trace has; the near ones where there are such."""
    ops = np.flatnonzero(~nodes.host)
    texts: dict[str, Callable[[], set[str]]] = {
        "name": lambda: {nodes.name[i] for i in ops.tolist()},
        "label": lambda: {path for i, path in enumerate(paths(nodes)) if path and not nodes.host[i]},
    }
    if key in texts:
        known = sorted(texts[key](), key=lambda text: (len(text), text))
    else:
        codes = np.unique(getattr(nodes, key)[ops])
        words = WORDS.get(key)
        known = [words[code] if words else str(code) for code in codes.tolist() if code != UNKNOWN]
    if not known:
        return f"this trace says no {key} of any op"
    more = f", … ({len(known)} in all)" if len(known) > SHOWN else ""
    near = "" if key in NUMBERS else nearest(said, [name[:60] for name in known])
    return near if near.startswith("did") else "there are " + ", ".join(name[:60] for name in known[:SHOWN]) + more
